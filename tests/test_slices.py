# SPDX-License-Identifier: Apache-2.0
"""Test successive slices of parents and children, made by Arrow and by libcudf."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import samples
from testing.peers.arrays import (
    Producer,
    assert_same,
    column_from,
    forget_null_counts,
    nodes,
    read,
    struct_of,
)

TRIPS = [
    ([(0, 137)], [(0, 137)], [(0, 137)]),
    ([(1, 130)], [(0, 130)], [(7, 100)]),
    ([(9, 128)], [(9, 100)], [(0, 100)]),
    ([(33, 100)], [(31, 60), (1, 50)], [(9, 33)]),
    ([(31, 65)], [(2, 0)], [(0, 0)]),
    ([(5, 130), (3, 120)], [(64, 50)], [(1, 8)]),
]


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_slices_of_arrow_and_libcudf_add_up_over_a_round_trip(type_, nesting, nulls):
    """Slice with Arrow, then with libcudf, then with Arrow; the children are slices, too."""
    for inner in ((), (9, 1), (32, 33)):
        base = samples.nest(type_, nesting, samples.MANY, nulls, inner)
        for before, between, after in TRIPS:
            array = samples.cut(base, before)
            for edit in (None, forget_null_counts):
                arrived = column_from(Producer(array, edit))
                column = samples.cut_column(
                    arrived, between, lambda start, size, a=array: a.slice(start, size).null_count
                )
                back = read(bridge.to_arrow_device(column))
                expected = samples.cut(samples.cut(array, between), after)
                assert_same(samples.cut(back, after), expected)


@pytest.mark.parametrize("offset", samples.OFFSETS)
def test_import_of_a_slice_keeps_at_most_31_preceding_rows(offset):
    """The import keeps these rows so that the validity bitmap begins at a word of 32 bits."""
    array = pa.array([i if i % 3 else None for i in range(200)]).slice(offset, 90)
    column = column_from(array)
    assert (column.size(), column.offset()) == (90, offset % 32)
    assert column.null_count() == array.null_count
    assert column.data().size == (90 + offset % 32) * 8


@pytest.mark.parametrize("offset", samples.OFFSETS)
@pytest.mark.parametrize("nulls", ["none", "some"])
def test_exported_offset_aligns_the_bitmap_to_a_word(offset, nulls):
    column = samples.column_of(samples.values(pa.int16(), samples.MANY, nulls), [(offset, 40)])
    exported = bridge.to_arrow_device(column)
    _, capsule = exported.__arrow_c_device_array__()
    found = struct_of(capsule).array.offset
    if offset == 0 or nulls == "none":
        assert found == 0
    else:
        assert 1 <= found <= 32
        assert (offset - found) % 32 == 0


@pytest.mark.parametrize("nesting", samples.NESTINGS)
@pytest.mark.parametrize("nulls", samples.NULLS)
def test_exported_null_counts_match_the_bitmaps_at_every_level(nesting, nulls):
    """No null count is unknown, because libcudf would treat an unknown count as no nulls."""
    base = samples.nest(pa.int32(), nesting, samples.MANY, nulls)
    for offset in samples.OFFSETS:
        arrived = column_from(base.slice(offset, 60))
        _, capsule = bridge.to_arrow_device(arrived).__arrow_c_device_array__()
        for node in nodes(struct_of(capsule).array):
            if not node.buffers[0]:
                assert node.null_count == 0
            else:
                assert node.null_count == zeros_in(node)


def zeros_in(node):
    size = node.offset + node.length
    bits = pa.foreign_buffer(node.buffers[0], -(-size // 8))
    valid = pa.Array.from_buffers(pa.bool_(), size, [None, bits]).slice(node.offset)
    return valid.false_count


def test_round_trip_of_nested_slices_of_a_table_matches():
    base = samples.values(samples.NESTED[-1], samples.MANY, "some")
    struct = pa.StructArray.from_arrays([base, base.slice(0)], ["0", "1"])
    batch = pa.RecordBatch.from_struct_array(struct.slice(9).slice(24))
    table = bridge.from_arrow_device(batch, to="pylibcudf")
    columns = [
        samples.cut_column(c, [(7, 50)], lambda start, size: batch[0].slice(start, size).null_count)
        for c in table.columns()
    ]
    back = pa.record_batch(bridge.to_arrow_device(plc.Table(columns)))
    back.validate(full=True)
    assert back.equals(batch.slice(7, 50))
