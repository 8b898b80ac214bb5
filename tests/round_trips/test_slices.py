# SPDX-License-Identifier: Apache-2.0
"""Test the offsets, bitmaps and null counts of slices of Arrow and libcudf."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import host, samples
from testing.peers.arrays import column_from, struct_of


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
    exported = cab.to_arrow_device(column)
    _, capsule = exported.__arrow_c_device_array__()
    found = struct_of(capsule).array.offset
    if offset == 0 or nulls == "none":
        assert found == 0
    else:
        assert 1 <= found <= 32
        assert (offset - found) % 32 == 0


@pytest.mark.parametrize(
    "requested",
    [pa.string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
@pytest.mark.parametrize("begin", [0, 1])
def test_export_of_strings_applies_the_offset_of_the_offsets_column(requested, begin):
    """The offsets column has an offset itself, as a view of another column has."""
    offsets = host.span(pa.py_buffer(np.array([9, 9, 0, 1, 3, 6], "int32").tobytes()))
    child = plc.Column(plc.DataType(plc.TypeId.INT32), 4, offsets, None, 0, 2, [])
    text = host.span(pa.py_buffer(b"abbccc"))
    strings = plc.Column(plc.DataType(plc.TypeId.STRING), 3 - begin, text, None, 0, begin, [child])
    exported = cab.to_arrow_device(strings, requested_schema=pa.field("", requested))
    assert pa.array(exported).to_pylist() == ["a", "bb", "ccc"][begin:]
