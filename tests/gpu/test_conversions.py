# SPDX-License-Identifier: Apache-2.0
"""Imports to device memory convert types that cuDF lacks, and remove data below nulls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from testing import foreign, host, samples
from testing.device import GPU, fetched
from testing.peers.arrays import Producer, assert_same, column_from, forget_null_counts
from testing.unsanitized import (
    BELOW_MASKS,
    OTHERS,
    WITH_OFFSETS,
    data_below_nulls,
    with_nulls_at_each_level,
)

pytestmark = GPU

SLICES = [(0, samples.MANY), (1, 64), (8, 40), (33, 65), (5, 0)]


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize(("type_", "nesting"), foreign.NESTED_TYPES)
def test_import_converts_types_that_cudf_lacks(type_, nesting, nulls):
    base = foreign.nest(type_, nesting, samples.MANY, nulls, (9, 1))
    for offset, size in SLICES:
        array = base.slice(offset, size)
        expected = foreign.expected_import(array)
        column = fetched(column_from(Producer(array, forget_null_counts)))
        assert column.null_count() == array.null_count
        assert_same(host.to_arrow(column, expected.type), expected)


def test_import_converts_every_half_float():
    halves = np.arange(2**16, dtype="uint16").view("float16")
    exported = bridge.to_arrow_device(column_from(pa.array(halves)))
    found = pa.array(exported.to_host()).to_numpy()
    assert np.array_equal(found, halves.astype("float32"), equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(halves))


@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS, *OTHERS], ids=str)
def test_import_removes_data_below_nulls(type_):
    base = with_nulls_at_each_level(foreign.values(type_, samples.MANY, "none"))
    for offset, size in SLICES:
        array = base.slice(offset, size)
        expected = foreign.expected_import(array)
        column = fetched(column_from(array))
        assert data_below_nulls(column) == []
        assert_same(host.to_arrow(column, expected.type), expected)


@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS], ids=str)
def test_import_shares_columns_without_data_below_nulls(type_):
    source = column_from(samples.values(type_, samples.MANY, "some"))
    again = column_from(bridge.to_arrow_device(source))
    assert host.addresses(again) == host.addresses(source)


@pytest.mark.parametrize("index_type", [pa.int32(), pa.int64(), pa.uint16()], ids=str)
def test_import_rejects_dictionary_indices_without_a_value(index_type):
    values = pa.array(["x", "y"])
    for index in (2, 256, 257):
        indices = pa.array([0, index, 1], index_type)
        array = pa.DictionaryArray.from_buffers(
            pa.dictionary(index_type, pa.string()), 3, [None, indices.buffers()[1]], values
        )
        batch = pa.record_batch([array], ["c"])
        other = pa.record_batch([pa.array(["z"]).dictionary_encode().cast(array.type)], ["c"])
        batches = pa.RecordBatchReader.from_batches(batch.schema, [batch, other])
        for take, source in (
            (bridge.from_arrow_device, batch),
            (bridge.from_arrow_device_stream, batches),
        ):
            with pytest.raises(ValueError, match=rf"column 'c': .*\b{index}\b"):
                take(source)


def test_import_accepts_any_dictionary_index_in_null_rows():
    indices = pa.array([0, 257, 1], pa.int32())
    mask = pa.py_buffer(bytes([0b101]))
    array = pa.DictionaryArray.from_buffers(
        pa.dictionary(pa.int32(), pa.string()),
        3,
        [mask, indices.buffers()[1]],
        pa.array(["x", "y"]),
    )
    frame = bridge.from_arrow_device(pa.record_batch([array], ["c"]))
    assert frame["c"].to_arrow().to_pylist() == ["x", None, "y"]
