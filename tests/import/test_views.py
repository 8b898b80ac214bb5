# SPDX-License-Identifier: Apache-2.0
"""Imports of string, binary and list views, and of run-end-encoded arrays."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pylibcudf as plc
import pytest

from testing import foreign, host, samples, views
from testing.peers.arrays import (
    DeviceOnly,
    Producer,
    assert_same,
    column_from,
    forget_null_counts,
    refused,
)

SIZES = (0, 1, samples.MANY)


def check(array, expected, edit=None):
    column = column_from(Producer(array, edit) if edit else array)
    assert column.size() == len(expected)
    assert column.null_count() == expected.null_count
    assert_same(host.to_arrow(column, expected.type), expected)


def check_cuts(array, expected):
    """Assert that each slice of `array` is imported with the rows of that slice of `expected`."""
    array.validate(full=True)
    for steps in samples.cuts(len(array))[::2]:
        part = samples.cut(array, steps)
        check(part, samples.cut(expected, steps))
    check(part, samples.cut(expected, steps), forget_null_counts)


STRINGS = [pa.string(), pa.binary()]


def text(type_, size, nulls):
    array = samples.values(pa.string(), size, nulls)
    # Longer than the strings that a view stores inline, so that views refer to buffers.
    longer = pa.array([None if v is None else v * 2 for v in array.to_pylist()], pa.string())
    return pa.chunked_array([array, longer]).combine_chunks().slice(size // 2, size).cast(type_)


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("type_", STRINGS, ids=str)
def test_import_of_string_and_binary_views_keeps_the_rows(type_, size, nulls):
    array = text(type_, size, nulls)
    check_cuts(views.string_view(array), foreign.expected_import(array))


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("large", [False, True], ids=["list_view", "large_list_view"])
@pytest.mark.parametrize("place", views.PLACES)
def test_import_of_list_views_keeps_the_rows(place, large, size, nulls):
    for element in (pa.bool_(), pa.string(), samples.DICTIONARY[0], *samples.NESTED, pa.null()):
        array = samples.as_list(element, size, nulls)
        for steps in ([(0, size)], [(size // 3, size // 2)], [(size, 0)]):
            view = views.list_view(array, place, large)
            view.validate(full=True)
            check(samples.cut(view, steps), samples.cut(array, steps))


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("type_", samples.TYPES, ids=str)
def test_import_of_run_end_encoded_arrays_keeps_the_rows(type_, nulls):
    for size, ends in itertools.product(SIZES, views.RUN_ENDS):
        array, expected = views.run_ended(samples.values(type_, size, nulls), ends)
        check_cuts(array, expected)


def test_import_of_runs_with_sliced_children_keeps_the_rows():
    values = samples.values(pa.string(), 40, "some")
    ends = pa.array(range(-1, 90, 3), pa.int32()).slice(1, 25)
    array = pa.RunEndEncodedArray.from_arrays(ends, values.slice(7, 25))
    expected = values.slice(7, 25).take(pa.array([(i + 1) // 3 for i in range(74)], pa.int64()))
    array.validate(full=True)
    assert array.to_pylist() == expected.to_pylist()
    check_cuts(array, expected)


def test_import_shares_the_elements_of_list_views_in_order():
    array = views.list_view(samples.as_list(pa.int64(), samples.MANY, "none"), "in order")
    column = column_from(array.slice(10, 50))
    first = array.offsets[10].as_py()
    assert column.children()[1].data().ptr == array.values.buffers()[1].address + 8 * first
    assert column.children()[1].size() == sum(array.sizes[10:60].to_pylist())


def test_import_shares_the_validity_bitmap_of_string_views():
    array = views.string_view(samples.values(pa.string(), samples.MANY, "some"))
    assert column_from(array).null_mask().ptr == array.buffers()[0].address


def test_import_of_string_views_with_an_empty_data_buffer_keeps_the_rows():
    array = views.string_view(pa.array(["a", "b" * 13, None]))
    no_data, data = pa.py_buffer(b""), array.buffers()[2]
    variadic = [*array.buffers()[:2], data, no_data]
    check(pa.Array.from_buffers(array.type, 3, variadic), pa.array(["a", "b" * 13, None]))
    short = views.string_view(pa.array(["a", "b" * 12]))
    unused = pa.Array.from_buffers(short.type, 2, [*short.buffers()[:2], no_data])

    def edit(schema, exported):
        exported.array.buffers[2] = None

    check(unused, pa.array(["a", "b" * 12]), edit)


def test_import_of_a_decoded_array_releases_the_producer():
    runs, _ = views.run_ended(samples.values(pa.int32(), samples.MANY, "some"))
    producer = Producer(runs)
    column = column_from(producer)
    assert producer.releases == 1
    assert column.size() == samples.MANY


def test_run_ends_that_are_run_end_encoded_are_rejected():
    """They would decode to integers, but have no buffer from which run ends can be read."""
    numbers = pa.array([1, 2], pa.int32())
    ends = pa.RunEndEncodedArray.from_arrays(numbers, numbers)
    fields = [ends, pa.array([7, 8], pa.int8())]

    def edit(schema, array):
        schema.format = b"+r"
        array.array.n_buffers = 0

    producer = Producer(pa.StructArray.from_arrays(fields, ["run_ends", "values"]), edit)
    assert "the Arrow type 'run_end_encoded'" in refused(ValueError, producer)


def test_import_of_large_list_views_with_large_offsets_keeps_the_rows():
    """Only the last of 2^40 elements exist: the address of the elements is made up."""
    elements = pa.array([7, 8, 9], pa.int64())
    far = 2**40

    def edit(schema, array):
        child = array.array.children[0].contents
        child.length += far
        child.buffers[1] -= 8 * far

    offsets = pa.py_buffer((far).to_bytes(8, "little") + (far + 2).to_bytes(8, "little"))
    sizes = pa.py_buffer((2).to_bytes(8, "little") + (1).to_bytes(8, "little"))
    array = pa.Array.from_buffers(
        pa.large_list_view(pa.int64()), 2, [None, offsets, sizes], children=[elements]
    )
    expected = pa.array([[7, 8], [9]], pa.list_(pa.int64()))
    check(array, expected, edit)


def test_run_end_encoded_struct_is_imported_as_column_not_as_table():
    """Its rows are the rows of a column."""
    runs, expected = views.run_ended(samples.values(samples.NESTED[2], 9, "none"))
    column = column_from(runs)
    assert column.type().id() == plc.TypeId.STRUCT
    assert "run_end_encoded" in refused(ValueError, DeviceOnly(runs), kind="table")
    assert_same(host.to_arrow(column, expected.type), expected)
