# SPDX-License-Identifier: Apache-2.0
"""Exports of columns and tables over pyarrow's memory, as pyarrow and nanoarrow read them."""

from __future__ import annotations

import nanoarrow.device
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.peers import exports
from testing.peers.arrays import DeviceOnly, assert_same, column_from, nodes, read, struct_of


def test_export_of_struct_ignores_the_offsets_of_its_children():
    """As in libcudf, which reads the children of a struct at the struct's own rows."""
    child = samples.column_of(pa.array([1, 2, 3, 4]), [(1, 3)])
    struct = plc.Column(plc.DataType(plc.TypeId.STRUCT), 3, None, None, 0, 0, [child])
    assert read(cab.to_arrow_device(struct)).field(0).to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("type_", [pa.int8(), pa.string(), *samples.NESTED], ids=str)
def test_exported_offset_is_zero_if_compact_or_not_sliced(type_, compact):
    """The offsets of children are always zero."""
    base = samples.nest(type_, "list of struct", samples.MANY, "some")
    for offset in samples.OFFSETS:
        exported = cab.to_arrow_device(samples.column_of(base, [(offset, 50)]), compact=compact)
        _, capsule = exported.__arrow_c_device_array__()
        found = [node.offset for node in nodes(struct_of(capsule).array)]
        assert found[0] == (0 if compact or offset == 0 else (offset - 1) % 32 + 1)
        assert found[1:] == [0] * len(found[1:])
        assert_same(read(exported), base.slice(offset, 50))


@pytest.mark.parametrize("type_", samples.TYPES, ids=str)
def test_nanoarrow_reads_the_rows_of_exported_slices(type_):
    for nulls in samples.NULLS:
        base = samples.values(type_, samples.MANY, nulls)
        for steps in ([(0, samples.MANY)], [(33, 65)], [(7, 0)]):
            device_array = nanoarrow.device.c_device_array(
                DeviceOnly(cab.to_arrow_device(samples.column_of(base, steps)))
            )
            assert (device_array.device_type_id, device_array.device_id) == (1, -1)
            # nanoarrow checks every offset and size; then pyarrow copies its array.
            device_array.array.view()
            assert_same(pa.array(device_array.array), samples.cut(base, steps))


@pytest.mark.parametrize("num_rows", [0, 3])
def test_export_of_table_without_columns_keeps_the_number_of_rows(num_rows):
    exported = cab.to_arrow_device(plc.Table([], num_rows))
    batch = pa.record_batch(DeviceOnly(exported))
    assert (batch.num_rows, batch.num_columns, len(exported)) == (num_rows, 0, num_rows)


@pytest.mark.parametrize("type_", samples.DICTIONARY, ids=str)
def test_export_of_empty_dictionary_keeps_its_value_type(type_):
    """libcudf 26.10 makes each empty dictionary one of int64 values."""
    empty = pa.DictionaryArray.from_arrays(
        pa.array([], type_.index_type), pa.array([], type_.value_type)
    )
    assert_same(read(cab.to_arrow_device(samples.column_of(empty))), empty)


def test_export_without_rows_has_an_offsets_buffer():
    """libcudf 26.10 may export an empty list with an offsets buffer of no bytes."""

    def bare(type_id, *children):
        return plc.Column(plc.DataType(type_id), 0, None, None, 0, 0, children)

    offsets, strings = bare(plc.TypeId.INT32), bare(plc.TypeId.STRING)
    for column in (
        strings,
        bare(plc.TypeId.STRING, offsets),
        bare(plc.TypeId.LIST, offsets, strings),
    ):
        exported = cab.to_arrow_device(column)
        _, capsule = exported.__arrow_c_device_array__()
        assert struct_of(capsule).array.buffers[1]
        assert len(read(exported)) == 0


@pytest.mark.parametrize("steps", [[(0, 5)], [(1, 3)], [(2, 3), (1, 0)]])
def test_durations_in_days_are_exported_in_seconds(steps):
    days = pa.array([-3, None, 0, 2**31 - 1, None], pa.int32())
    column = samples.column_of(days, steps)
    column = plc.Column(
        plc.DataType(plc.TypeId.DURATION_DAYS),
        *(column.size(), column.data(), column.null_mask(), column.null_count(), column.offset()),
        [],
    )
    in_seconds = pa.array([None if d is None else d * 86_400 for d in days.to_pylist()], pa.int64())
    expected = samples.cut(in_seconds.cast(pa.duration("s")), steps)
    assert_same(read(cab.to_arrow_device(column)), expected)


def test_columns_over_gpumemoryviews_are_exported():
    """pylibcudf's own columns have these spans; here nested, masked and without data."""
    base = pa.array([["a", None], None, ["b"]])

    def viewed(column):
        spans = (column.data(), column.null_mask())
        data, mask = (span and plc.gpumemoryview(span) for span in spans)
        children = [viewed(child) for child in column.children()]
        size, null_count, offset = column.size(), column.null_count(), column.offset()
        return plc.Column(column.type(), size, data, mask, null_count, offset, children)

    column = samples.column_of(base, [(1, 2)])
    assert_same(read(cab.to_arrow_device(viewed(column))), base.slice(1, 2))


@pytest.mark.parametrize("make", [cab.to_arrow_device, cab.to_arrow_device_stream])
def test_every_export_calls_the_checker(make, monkeypatch):
    """The fixture in `conftest.py` replaces a function that each export must call."""
    checked = []
    monkeypatch.setattr(exports, "find_violations", lambda *args, **_: checked.append(args) or [])
    result = make(column_from(pa.array([1, None, 3])))
    batches = list(result) if make is cab.to_arrow_device_stream else [result]
    assert len(checked) >= len(batches) == 1
