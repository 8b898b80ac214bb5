# SPDX-License-Identifier: Apache-2.0
"""Exports of fixed-size lists: of imported ones, and of other lists if the schema requests it."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.host import to_plc
from testing.peers.arrays import read

DAY = dt.date(2024, 2, 29)


def fixed(rows, element, size):
    return pa.array(rows, pa.list_(element, size))


INTS = fixed([[1, 2, 3], None, [4, None, 6], [7, 8, 9]], pa.int32(), 3)
NO_NULLS = fixed([[1, 2, 3], [4, None, 6], [7, 8, 9], [0, 0, 0]], pa.int64(), 3)
#: Arrays in frames; `test_foreign_hypothesis` tests random ones.
ARRAYS = {
    "int32": INTS,
    "no nulls": NO_NULLS,
    "strings": fixed([["a", "bb"], None, [None, ""], ["c", "d" * 20]], pa.string(), 2),
    "lists of a fixed size": fixed(
        [[[1, 2], [3, 4]], None, [None, [5, 6]], [[7, 8], [9, None]]], pa.list_(pa.int32(), 2), 2
    ),
    "dictionaries": pa.FixedSizeListArray.from_arrays(
        pa.array(["a", "b", None, "a"]).dictionary_encode(), 2
    ),
    "of no elements": fixed([[], None, [], []], pa.int32(), 0),
    "only null structs": fixed([None, None], pa.struct([("a", pa.list_(pa.int8()))]), 2),
    "in a map": pa.array(
        [[("a", [1, 2])], None, [], [("b", None)]], pa.map_(pa.string(), pa.list_(pa.int8(), 2))
    ),
}


def batch_of(array, **options):
    return pa.record_batch([array], schema=pa.schema([pa.field("x", array.type, **options)]))


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_frames_and_streams_keep_fixed_size_lists(array):
    for begin, size in ((0, 0), (0, 4), (1, 2), (3, 1)):
        part = array.slice(begin, size)
        found = read(cab.to_arrow_device(cab.from_arrow_device(part)))
        assert found.type == array.type
        assert found.to_pylist() == part.to_pylist()
    batch = batch_of(array)
    frame = cab.from_arrow_device_stream([batch, batch.slice(1)])
    table = pa.table(cab.to_arrow_device_stream(frame, max_rows=2))
    assert table.schema.field("x").type == array.type
    assert table["x"].to_pylist() == [*array.to_pylist(), *array.slice(1).to_pylist()]


def buffers(exported):
    yield from exported.buffers()
    for child in exported.children:
        yield from buffers(child)


def test_export_shares_elements_if_each_list_has_its_own():
    array = NO_NULLS
    address = array.values.buffers()[1].address
    for obj in (array, cab.from_arrow_device(array), INTS):
        assert all(buffer.zero_copy for buffer in buffers(cab.to_arrow_device(obj)))
    for begin in (0, 1, 3):
        part = cab.from_arrow_device(array.slice(begin), to="pylibcudf")
        found = read(cab.to_arrow_device(part))
        assert found.values.buffers()[1].address + found.offset * 24 == address + begin * 24


def test_export_copies_elements_if_null_lists_are_empty():
    series = cab.from_arrow_device(INTS)
    mask, *elements = buffers(cab.to_arrow_device(series))
    assert mask.zero_copy
    assert not any(buffer.zero_copy for buffer in elements)


TENSORS = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(24, dtype="int32").reshape(4, 2, 3))


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
def test_fixed_shape_tensors_keep_their_type(to):
    batch = batch_of(TENSORS)
    for part in (batch, batch.slice(1), batch.slice(0, 0)):
        found = pa.record_batch(cab.to_arrow_device(cab.from_arrow_device(part, to=to)))
        assert found.schema.field("x").equals(batch.schema.field("x"), check_metadata=True)
        assert found["x"].equals(part["x"])
    missing = pa.ExtensionArray.from_storage(
        TENSORS.type, fixed([[0] * 6, None, [1] * 6], pa.int32(), 6)
    )
    found = pa.record_batch(cab.to_arrow_device(cab.from_arrow_device(batch_of(missing))))
    assert found["x"].equals(missing)


DAYS = pa.array([[dt.datetime(2024, 2, 29)] * 2], pa.list_(pa.timestamp("s")))
LISTS = pa.array([[1, 2], None, [3, 4], [5, None]])


@pytest.mark.parametrize(
    ("array", "requested"),
    [
        (LISTS, pa.list_(pa.int64(), 2)),
        (LISTS.slice(1), pa.list_(pa.int64(), 2)),
        (pa.array([None, [1, 2], None]), pa.list_(pa.int64(), 2)),
        (LISTS.slice(0, 0), pa.list_(pa.int64(), 7)),
        (pa.array([[], None], pa.list_(pa.int64())), pa.list_(pa.int64(), 0)),
        (pa.array([[[1], [2]], None]), pa.list_(pa.list_(pa.int64(), 1), 2)),
        (pa.array([[[1], [2]], [], None, [[3]]]), pa.list_(pa.list_(pa.int64(), 1))),
        (pa.array([[[1, 2]], [[1], [2]]]).slice(1), pa.list_(pa.list_(pa.int64(), 1))),
        (pa.array([[[]], [[1], [2]]]).slice(1), pa.list_(pa.list_(pa.int64(), 1))),
        (pa.array([{"a": [1, 2]}, None, {"a": None}]), pa.struct([("a", pa.list_(pa.int64(), 2))])),
        (DAYS, pa.list_(pa.field("day", pa.date32(), nullable=False), 2)),
        (pa.array([[1, 2], None]), pa.list_(pa.field("item", pa.int64(), nullable=False), 2)),
    ],
    ids=str,
)
def test_lists_are_exported_as_fixed_size_lists_if_requested(array, requested):
    for obj in (to_plc(array), cab.from_arrow_device(array), array):
        found = read(cab.to_arrow_device(obj, requested_schema=pa.field("", requested)))
        assert found.type == requested
        assert found.to_pylist() == ([[DAY, DAY]] if array is DAYS else array.to_pylist())


def test_unused_lists_may_have_other_lengths():
    """Unused lists are before a slice whose mask begins within a byte, or in null structs."""
    lists = pa.array([[1], [2, 3, 4], *[[i, i] for i in range(10)]])
    structs = pa.StructArray.from_arrays(
        [lists], ["a"], mask=pa.array([True, True, *[i % 2 == 0 for i in range(10)]])
    )
    requested = pa.struct([("a", pa.list_(pa.int64(), 2))])
    for begin in range(4):
        part = structs.slice(begin)
        found = read(cab.to_arrow_device(to_plc(part), requested_schema=pa.field("", requested)))
        assert found.type == requested
        assert found.to_pylist() == part.to_pylist()


@pytest.mark.parametrize("element", [pa.binary(2), pa.list_(pa.uint8(), 2)], ids=str)
def test_elements_of_no_lists_are_not_refused_as_copies(element):
    column = to_plc(pa.array([[[1, 2], None]], pa.list_(pa.list_(pa.uint8()))).slice(1))
    requested = pa.field("", pa.list_(element))
    found = read(cab.to_arrow_device(column, requested_schema=requested, copy=False))
    assert (found.type, found.to_pylist()) == (requested.type, [])


@pytest.mark.parametrize(
    ("array", "requested", "size", "path"),
    [
        (pa.array([[1, 2], [3]]), pa.list_(pa.int64(), 2), 2, "x"),
        (pa.array([[1, 2], []]), pa.list_(pa.int64(), 2), 2, "x"),
        (pa.array([[1, 2], None]), pa.list_(pa.int64(), 0), 0, "x"),
        (pa.array([[[1, 2], [3]]]), pa.list_(pa.list_(pa.int64(), 2)), 2, r"x\[\]"),
        (pa.array([{"a": [1]}]), pa.struct([("a", pa.list_(pa.int64(), 2))]), 2, r"x\.a"),
    ],
    ids=str,
)
def test_lists_of_other_lengths_are_an_error(array, requested, size, path):
    schema = pa.schema([("x", requested)])
    table = cab.from_arrow_device(batch_of(array))
    message = f"column '{path}': not all lists have {size} elements"
    with pytest.raises(ValueError, match=message):
        cab.to_arrow_device(table, requested_schema=schema)


def test_elements_of_null_rows_are_not_checked_for_nulls():
    requested = pa.field("", pa.list_(pa.field("item", pa.int64(), nullable=False), 2))
    for rows_ in ([None, [1, 2], None], [[1, 2], None], [None]):
        array = pa.array(rows_, pa.list_(pa.int64()))
        found = read(cab.to_arrow_device(to_plc(array), requested_schema=requested))
        assert (found.type, found.to_pylist()) == (requested.type, rows_)
    with pytest.raises(ValueError, match=r"column '\[\]'.*nullable"):
        cab.to_arrow_device(to_plc(pa.array([[None, 1]])), requested_schema=requested)


@pytest.mark.parametrize("array", [INTS, pa.array([b"abc", None], pa.binary(3))])
def test_removing_the_mask_of_empty_null_lists_makes_the_export_raise(array):
    column = cab.from_arrow_device(array, to="pylibcudf")
    with pytest.raises(ValueError, match="not all lists have 3"):
        cab.to_arrow_device(column.with_mask(None, 0))


def test_lists_of_negative_length_have_no_fixed_size():
    children = [to_plc(pa.array(values, pa.int32())) for values in ([0, 5, 3, 1], [1, 2])]
    column = plc.Column(plc.DataType(plc.TypeId.LIST), 2, None, None, 0, 1, children)
    with pytest.raises(ValueError, match="not all lists have 2"):
        cab.to_arrow_device(column, requested_schema=pa.list_(pa.int32(), 2))


@pytest.mark.parametrize("type_", [pa.list_(pa.uint8(), 10**9), pa.binary(10**9)], ids=str)
def test_more_elements_than_a_column_holds_are_an_error(type_):
    column = to_plc(pa.array([None] * 3, pa.list_(pa.uint8())))
    requested = pa.field("", type_)
    unit = "list elements" if type_.num_fields else "bytes"
    with pytest.raises(OverflowError, match=f"{unit}, got 3000000000"):
        cab.to_arrow_device(column, requested_schema=requested)
