# SPDX-License-Identifier: Apache-2.0
"""Conversions on the device: types that cuDF lacks, data below nulls, and requested schemas."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import foreign, host, samples
from testing.device import GPU, SLICES, fetched
from testing.invariants import violations
from testing.peers.arrays import Producer, assert_same, column_from, forget_null_counts
from testing.unsanitized import (
    BELOW_MASKS,
    OTHERS,
    WITH_OFFSETS,
    with_nulls_at_each_level,
)

pytestmark = GPU


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize(("type_", "nesting"), foreign.NESTED_TYPES)
def test_import_converts_types_that_cudf_lacks(type_, nesting, nulls):
    base = samples.nest(type_, nesting, samples.MANY, nulls, (9, 1))
    for offset, size in SLICES:
        array = base.slice(offset, size)
        expected = foreign.expected_import(array)
        column = fetched(column_from(Producer(array, forget_null_counts)))
        assert column.null_count() == array.null_count
        assert_same(host.to_arrow(column, expected.type), expected)


def test_import_converts_every_half_float():
    halves = np.arange(2**16, dtype="uint16").view("float16")
    exported = cab.to_arrow_device(column_from(pa.array(halves)))
    found = pa.array(exported.to_host()).to_numpy()
    assert np.array_equal(found, halves.astype("float32"), equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(halves))


@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS, *OTHERS], ids=str)
def test_import_removes_data_below_nulls(type_):
    base = with_nulls_at_each_level(samples.values(type_, samples.MANY, "none"))
    for offset, size in SLICES:
        array = base.slice(offset, size)
        expected = foreign.expected_import(array)
        column = fetched(column_from(array))
        assert violations(column) == []
        assert_same(host.to_arrow(column, expected.type), expected)


@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS], ids=str)
def test_import_shares_columns_without_data_below_nulls(type_):
    source = column_from(samples.values(type_, samples.MANY, "some"))
    again = column_from(cab.to_arrow_device(source))
    assert host.addresses(again) == host.addresses(source)


@pytest.mark.parametrize("index_type", [pa.int32(), pa.int64(), pa.uint16()], ids=str)
def test_import_rejects_dictionary_indices_without_a_value(index_type):
    values = pa.array(["x", "y"])
    for index in (2, 256, 257):
        indices = pa.array([0, index, 1], index_type)
        array = pa.DictionaryArray.from_arrays(indices, values, safe=False)
        batch = pa.record_batch([array], ["c"])
        other = pa.record_batch([pa.array(["z"]).dictionary_encode().cast(array.type)], ["c"])
        batches = pa.RecordBatchReader.from_batches(batch.schema, [batch, other])
        for take, source in (
            (cab.from_arrow_device, batch),
            (cab.from_arrow_device_stream, batches),
        ):
            with pytest.raises(ValueError, match=rf"column 'c': .*\b{index}\b"):
                take(source)


def test_import_accepts_any_dictionary_index_in_null_rows():
    indices = pa.array([0, 257, 1], pa.int32())
    array = pa.DictionaryArray.from_buffers(
        pa.dictionary(pa.int32(), pa.string()),
        3,
        [pa.py_buffer(bytes([0b101])), indices.buffers()[1]],
        pa.array(["x", "y"]),
    )
    frame = cab.from_arrow_device(pa.record_batch([array], ["c"]))
    assert frame["c"].to_arrow().to_pylist() == ["x", None, "y"]


DAY = dt.date(2024, 2, 29)
NOON = dt.time(12, 30, 5)
BYTES = pa.list_(pa.uint8())

#: Arrays and requested types. The conversions keep the values.
REQUESTS = [
    (pa.array(["a", None, "bc"]), pa.large_string()),
    (pa.array(["a", None, "bc"], pa.large_string()), pa.string()),
    (pa.array([[1], None, []], pa.list_(pa.int32())), pa.large_list(pa.int32())),
    (pa.array([Decimal("1.5"), None], pa.decimal32(9, 2)), pa.decimal128(20, 2)),
    (pa.array([Decimal("1.5"), None], pa.decimal128(38, 2)), pa.decimal32(5, 2)),
    (pa.array(["a", None, "a"]).dictionary_encode(), pa.string()),
    (pa.array(["a", None, "a"]).dictionary_encode(), pa.dictionary(pa.int8(), pa.string())),
    (pa.array(["a", None, "a"]), pa.dictionary(pa.int16(), pa.string())),
    (pa.array([5, None, 5]), pa.dictionary(pa.int8(), pa.int64())),
    (pa.array([DAY, None], pa.date32()), pa.date64()),
    (pa.array([DAY, None], pa.date64()), pa.date32()),
]
KEPT = [
    pa.array([DAY, None], pa.date32()),
    pa.array([DAY, None], pa.date64()),
    pa.array([NOON, None], pa.time32("s")),
    pa.array([NOON, None], pa.time64("us")),
    pa.array([b"a", None, b"\xff\0"], pa.binary()),
    pa.array([b"a", None, b"\xff\0"], pa.large_binary()),
    pa.array([b"ab", None, b"\xff\0"], pa.binary(2)),
    pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    pa.array([[1], None, []], pa.large_list(pa.int32())),
    pa.ListArray.from_arrays([0, 2, 3], pa.array(["a", "b", "a"]).dictionary_encode()),
]


def on_host(array):
    found = pa.array(array.to_host())
    found.validate(full=True)
    return found


@pytest.mark.parametrize(("array", "target"), REQUESTS, ids=str)
def test_export_converts_to_the_requested_type(array, target):
    for begin, size in ((0, len(array)), (1, len(array) - 1), (0, 0)):
        part = array.slice(begin, size)
        column = cab.from_arrow_device(part, to="pylibcudf", kind="column")
        exported = cab.to_arrow_device(column, requested_schema=pa.field("", target))
        found = on_host(exported)
        assert found.type == target
        assert found.to_pylist() == part.to_pylist()


@pytest.mark.parametrize("array", KEPT, ids=lambda array: str(array.type))
def test_export_of_an_imported_column_keeps_the_arrow_type(array):
    found = on_host(cab.to_arrow_device(cab.from_arrow_device(array)))
    assert found.type == array.type
    assert found.to_pylist() == array.to_pylist()


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([1], pa.timestamp("s")), pa.date32()),
        (pa.array([-1], pa.duration("us")), pa.time64("us")),
        (pa.array([Decimal("1000.00")], pa.decimal64(18, 2)), pa.decimal32(5, 2)),
        (pa.array([[1], [1, 2]], BYTES), pa.binary(1)),
        (pa.array([[None]], BYTES), pa.binary()),
    ],
    ids=str,
)
def test_export_rejects_a_requested_type_that_the_data_does_not_fit(array, target):
    column = cab.from_arrow_device(array, to="pylibcudf", kind="column")
    with pytest.raises(ValueError, match=r"^column '\(top level\)': "):
        cab.to_arrow_device(column, requested_schema=pa.field("", target))
