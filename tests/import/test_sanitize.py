# SPDX-License-Identifier: Apache-2.0
"""Imports sanitize columns for libcudf, and copy only buffers that are not clean."""

from __future__ import annotations

from itertools import cycle

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import foreign, host, samples
from testing.invariants import violations
from testing.peers.arrays import (
    DeviceOnly,
    Producer,
    assert_same,
    column_from,
    forget_null_counts,
    read,
)
from testing.unsanitized import BELOW_MASKS, OTHERS, WITH_OFFSETS, with_nulls_at_each_level


def check(array, edit=None):
    expected = foreign.expected_import(array)
    column = column_from(Producer(array, edit))
    assert violations(column) == []
    assert column.null_count() == array.null_count
    assert_same(host.to_arrow(column, expected.type), expected)


@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS, *OTHERS], ids=str)
def test_import_sanitizes_dirty_columns(type_):
    array = with_nulls_at_each_level(samples.values(type_, samples.MANY, "none"))
    array.validate(full=True)
    assert violations(column_from(Producer(array), sanitize=False)), "nothing to do"
    edits = cycle((None, forget_null_counts))
    for steps, edit in zip(samples.cuts(len(array)), edits, strict=False):
        check(samples.cut(array, steps), edit)


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS], ids=str)
def test_import_shares_the_buffers_of_clean_columns(type_, nulls):
    array = samples.values(type_, samples.MANY, nulls)
    assert {s.ptr for s in host.spans(column_from(array))} == {
        s.ptr for s in host.spans(column_from(array, sanitize=False))
    }


def buffers(array):
    return {b.address for b in array.buffers() if b and b.size}


@pytest.mark.parametrize("type_", BELOW_MASKS[:1], ids=str)
def test_sanitizing_a_struct_copies_only_the_masks_of_its_fields(type_):
    array = with_nulls_at_each_level(samples.values(type_, samples.MANY, "none"))
    column = column_from(array)
    child = column.children()[0]
    assert column.null_mask().ptr == array.buffers()[0].address
    assert child.data().ptr == array.field(0).buffers()[1].address
    assert child.null_mask().ptr not in buffers(array)


def test_fields_that_are_already_null_keep_their_masks():
    inner = pa.array([None, None, 3, None])
    mask = pa.py_buffer(b"\x06")
    array = pa.Array.from_buffers(pa.struct([("0", pa.int64())]), 4, [mask], children=[inner])
    column = column_from(array)
    # Row 1 is valid above and null below, rows 0 and 3 are null in both.
    assert {s.ptr for s in host.spans(column)} == buffers(array)


def test_sanitizing_copies_only_dirty_columns():
    clean = samples.values(pa.list_(pa.int64()), samples.MANY, "some")
    spoiled = with_nulls_at_each_level(samples.values(pa.list_(pa.int64()), samples.MANY, "none"))
    array = pa.StructArray.from_arrays([clean, spoiled], ["clean", "spoiled"])
    left, right = column_from(array).children()
    assert {s.ptr for s in host.spans(left)} == buffers(clean)
    assert {s.ptr for s in host.spans(right)}.isdisjoint(buffers(spoiled))


def test_import_without_sanitize_shares_all_buffers():
    for type_ in (*BELOW_MASKS[:1], pa.string(), pa.list_(pa.int32())):
        array = with_nulls_at_each_level(samples.values(type_, samples.MANY, "none"))
        column = column_from(array, sanitize=False)
        assert {s.ptr for s in host.spans(column)} == buffers(array)


def test_export_of_a_dirty_pyarrow_array_shares_its_buffers():
    array = with_nulls_at_each_level(samples.values(pa.list_(pa.int64()), samples.MANY, "none"))
    assert buffers(read(cab.to_arrow_device(DeviceOnly(array)))) == buffers(array)
