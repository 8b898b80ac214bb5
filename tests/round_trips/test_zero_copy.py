# SPDX-License-Identifier: Apache-2.0
"""Test that no memory is copied: pyarrow's, libcudf's and the reported addresses are equal."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.host import spans
from testing.peers.arrays import column_from, nodes, read, struct_of

#: Offsets at whole words of a validity bitmap, where pyarrow's bitmaps can be shared.
WHOLE_WORDS = (0, 32, 64)
ALL_TYPES = [*samples.TYPES, *samples.PARAMETRIC]


def arrow_buffers(array):
    """Return the addresses of pyarrow's buffers, depth first; 0 for a buffer without bytes."""
    if pa.types.is_null(array.type):
        return []
    found = [buffer.address if buffer else 0 for buffer in array.buffers()]
    if pa.types.is_dictionary(array.type):
        found += arrow_buffers(array.dictionary)
    return found


def ours(exported):
    return [buffer.address for buffer in exported.buffers()]


def shared(type_):
    """Return whether no buffer of a type is converted."""
    if pa.types.is_nested(type_):
        return all(shared(type_.field(i).type) for i in range(type_.num_fields))
    if pa.types.is_dictionary(type_):
        return shared(type_.value_type)
    return not pa.types.is_boolean(type_)


def column_spans(column):
    """Return the set of addresses of a column's memory; libcudf orders buffers differently."""
    return {span.ptr for span in spans(column)}


@pytest.mark.parametrize("type_", [t for t in ALL_TYPES if shared(t)], ids=str)
def test_round_trip_shares_every_buffer(type_):
    # A list without elements has no buffers to share below its offsets.
    for nulls in ("none", "some") if pa.types.is_list(type_) else samples.NULLS:
        array = samples.values(type_, samples.MANY, nulls)
        column = column_from(array)
        exported = cab.to_arrow_device(column)
        back = read(exported)
        addresses = arrow_buffers(array)
        assert column_spans(column) == set(addresses) - {0}
        assert ours(exported) == addresses
        assert arrow_buffers(back) == addresses
        assert all(buffer.zero_copy for buffer in exported.buffers())
        _, capsule = exported.__arrow_c_device_array__()
        in_struct = [
            node.buffers[i] or 0
            for node in nodes(struct_of(capsule).array)
            for i in range(node.n_buffers)
        ]
        assert in_struct == addresses
        assert column_spans(column_from(back)) == column_spans(column)


@pytest.mark.parametrize("nulls", ["none", "some"])
@pytest.mark.parametrize(
    "type_", [t for t in samples.PRIMITIVE if shared(t) and t.num_buffers == 2], ids=str
)
def test_round_trip_of_a_slice_shifts_the_pointers(type_, nulls):
    width = type_.bit_width // 8
    base = samples.values(type_, samples.MANY, nulls)
    mask, data = (b and b.address for b in base.buffers())
    for offset in (*WHOLE_WORDS, 7, 9, 33, 65):
        column = column_from(base.slice(offset, 40))
        # The imported column begins at a word of its bitmap.
        before = column.offset() if mask else 0
        first = offset - before
        assert first % 32 == 0 or not mask
        expected = (mask + first // 8 if mask else 0, data + first * width)
        assert tuple(ours(cab.to_arrow_device(column))) == expected


@pytest.mark.parametrize(("type_", "width"), [(pa.string(), 4), (pa.large_string(), 8)], ids=str)
def test_sliced_strings_share_offsets_and_characters(type_, width):
    base = samples.values(type_, samples.MANY, "none")
    _, offsets, characters = (b and b.address for b in base.buffers())
    for offset in samples.OFFSETS:
        column = samples.column_of(base, [(offset, 40)])
        exported = cab.to_arrow_device(column)
        before = (offset - 1) % 32 + 1 if offset else 0
        assert ours(exported) == [0, offsets + (offset - before) * width, characters]


@pytest.mark.parametrize("offset", [0, 1, 8, 32, 65])
def test_compact_export_copies_only_validity_bitmaps(offset):
    base = samples.values(pa.int64(), samples.MANY, "some")
    column = samples.column_of(base, [(offset, 40)])
    plain = cab.to_arrow_device(column).buffers()
    compact = cab.to_arrow_device(column, compact=True)
    mask, data = compact.buffers()
    assert mask.zero_copy == (offset == 0)
    assert (mask.address == plain[0].address) == (offset == 0)
    assert data.zero_copy
    assert data.address == base.buffers()[1].address + offset * 8
    assert mask.size == 5
    assert read(compact).equals(base.slice(offset, 40))


@pytest.mark.parametrize("type_", [pa.int32(), pa.string(), pa.list_(pa.int8())], ids=str)
def test_import_copies_only_an_unaligned_bitmap(type_):
    """libcudf reads bitmaps in aligned words; Arrow does not guarantee the alignment."""
    base = samples.values(type_, samples.MANY, "some")
    bits = base.buffers()[0].to_pybytes()
    unaligned = pa.py_buffer(b"\0" + bits).slice(1)
    children = [base.values] if pa.types.is_list(type_) else []
    buffers = [unaligned, *base.buffers()[1 : type_.num_buffers]]
    array = pa.Array.from_buffers(type_, samples.MANY, buffers, children=children)
    column = column_from(array)
    assert column.null_mask().ptr != unaligned.address
    found = set(arrow_buffers(array)) & column_spans(column)
    assert found == set(arrow_buffers(array)) - {0, unaligned.address}
    assert read(cab.to_arrow_device(column)).equals(array)


def test_bitmap_without_nulls_is_not_exported():
    base = samples.column_of(pa.array([1, None, 3, 4]))
    column = plc.Column(base.type(), 2, base.data(), base.null_mask(), 0, 2, [])
    assert cab.to_arrow_device(column).buffers()[0].address == 0


def test_writes_through_the_array_interface_of_cudf_change_shared_memory():
    """docs/ownership.md warns about it: cuDF does not copy, unlike before its own writes."""
    values = np.array([1, 2, 3])
    series = cab.from_arrow_device(pa.array(values))
    exported = cab.to_arrow_device(series)
    interface = series.__cuda_array_interface__
    address, _ = interface["data"]
    assert address == values.ctypes.data
    written = (ctypes.c_int64 * 3).from_address(address)
    written[:] = (7, 8, 9)
    assert pa.array(exported).to_pylist() == values.tolist() == [7, 8, 9]
