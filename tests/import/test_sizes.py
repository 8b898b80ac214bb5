# SPDX-License-Identifier: Apache-2.0
"""Slices at large offsets. The rows before them do not exist: the base addresses are made up."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

from testing import host, samples
from testing.invariants import SIGNED, integers
from testing.peers.arrays import Producer, assert_same, column_from, refused

FAR = [2**31, 2**33 + 64, 2**40]


def moved(array, far):
    """Return an array with `far` more rows before its offset. These rows do not exist."""
    # Strings have offsets where other types have values.
    wide = {pa.string(): 32, pa.large_string(): 64}
    bits = wide.get(array.type) or (1 if pa.types.is_boolean(array.type) else array.type.bit_width)

    def edit(schema, array):
        node = array.array
        node.offset += far
        for i, width in enumerate([1, bits]):
            if node.buffers[i]:
                node.buffers[i] -= far * width // 8

    return Producer(array, edit)


@pytest.mark.parametrize("type_", samples.PRIMITIVE, ids=str)
def test_import_of_slices_at_large_offsets_keeps_the_rows(type_):
    for nulls, far, steps in product(samples.NULLS, FAR, samples.cuts(samples.MANY)[::7]):
        part = samples.cut(samples.values(type_, samples.MANY, nulls), steps)
        column = column_from(moved(part, far))
        assert column.size() == len(part)
        assert column.null_count() == part.null_count
        assert_same(host.to_arrow(column, type_), part)


@pytest.mark.parametrize("far", FAR)
def test_import_of_structs_at_large_offsets_keeps_the_rows(far):
    """Children also have rows before the parent's offset. Only the parent's rows are imported."""
    array = samples.values(pa.struct([("0", pa.int64()), ("1", pa.string())]), 40, "some")

    def edit(schema, array):
        node = array.array
        node.offset += far
        node.buffers[0] -= far // 8
        for i, bits in ((0, 64), (1, 32)):
            child = node.children[i].contents
            child.length += far
            child.null_count = -1
            child.buffers[0] -= far // 8
            child.buffers[1] -= far * bits // 8

    column = column_from(Producer(array, edit))
    assert_same(host.to_arrow(column, array.type), array)
    assert column_from(Producer(array, edit), validate="full").size() == 40


@pytest.mark.parametrize(
    ("type_", "kind"),
    [(pa.large_string(), plc.TypeId.INT64), (pa.large_binary(), plc.TypeId.INT32)],
    ids=str,
)
def test_import_of_large_strings_subtracts_the_first_offset(type_, kind):
    """libcudf requires a first offset of 0. The bytes before the first string are not imported."""
    far = 2**35
    array = pa.array(["ab", "cdef"], type_)
    large = np.array([far, far + 2, far + 6], "int64")

    def edit(schema, array):
        array.array.buffers[1] = large.ctypes.data
        array.array.buffers[2] -= far

    column = column_from(Producer(array, edit))
    offsets, *children = column.children()
    assert offsets.type().id() == kind
    assert integers(offsets.data(), SIGNED[kind], 3).tolist() == [0, 2, 6]
    data = children[0].data() if children else column.data()
    assert data.ptr == array.buffers()[2].address


@pytest.mark.parametrize("far", FAR)
def test_fixed_size_lists_at_large_offsets_share_their_elements(far):
    array = samples.values(pa.int16(), 30, "none")
    lists = pa.FixedSizeListArray.from_arrays(array, 3)

    def edit(schema, array):
        node = array.array
        node.offset += far
        child = node.children[0].contents
        child.length += 3 * far
        child.buffers[1] -= 3 * far * 2

    column = column_from(Producer(lists, edit))
    assert column.children()[1].data().ptr == array.buffers()[1].address
    assert column.children()[1].size() == 30


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[1]], pa.large_list(pa.int8())),
        pa.array([[1]], pa.large_list_view(pa.int8())),
        pa.array([b"a"], pa.large_binary()),
    ],
    ids=lambda array: str(array.type),
)
def test_error_for_too_many_elements_suggests_smaller_arrays(array):
    numbers = np.array([0, 2**32], "int64")

    def edit(schema, array):
        node = array.array
        if schema.format == b"+vL":
            node.buffers[2] = numbers[1:].ctypes.data
        else:
            node.buffers[1] = numbers.ctypes.data
        if node.n_children:
            node.children[0].contents.length = 2**32

    message = refused(OverflowError, Producer(array, edit))
    wanted = r"at most 214748364[67] list elements, got 4294967296: .* stream of smaller arrays$"
    assert re.search(wanted, message)


def test_error_for_too_many_elements_of_fixed_size_lists_names_their_number():
    array = pa.array([[None] * 4096], pa.list_(pa.null(), 4096))

    def edit(schema, array):
        array.array.length = 2**20
        child = array.array.children[0].contents
        child.length = child.null_count = 2**32

    assert str(2**32) in refused(OverflowError, Producer(array, edit))


def test_error_for_an_overflowing_element_count_suggests_smaller_arrays():
    """A null array uses no memory, so it can have any length."""
    many = 2**57
    array = pa.array([[None]] * 90, pa.large_list_view(pa.null()))
    offsets, sizes = np.zeros(90, "int64"), np.full(90, many, "int64")

    def edit(schema, array):
        node = array.array
        node.buffers[1] = offsets.ctypes.data
        node.buffers[2] = sizes.ctypes.data
        elements = node.children[0].contents
        elements.length = elements.null_count = many

    message = refused(OverflowError, Producer(array, edit))
    assert "stream of smaller arrays" in message


@pytest.mark.parametrize("far", FAR)
def test_import_of_large_lists_with_large_offsets_keeps_the_rows(far):
    elements = samples.values(pa.string(), 9, "some")
    array = pa.array([[], []], pa.large_list(pa.string()))
    offsets = np.array([far, far + 4, far + 9], "int64")

    def edit(schema, array):
        array.array.buffers[1] = offsets.ctypes.data
        child = array.array.children[0].contents
        child.length, child.null_count = far + 9, -1
        for i, (buffer, bits) in enumerate(zip(elements.buffers(), (1, 32, 0), strict=True)):
            child.buffers[i] = buffer.address - far * bits // 8

    expected = pa.ListArray.from_arrays(pa.array([0, 4, 9], pa.int32()), elements)
    for validate in ("minimal", "full"):
        column = column_from(Producer(array, edit), validate=validate)
        assert_same(host.to_arrow(column, expected.type), expected)
