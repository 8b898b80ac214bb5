# SPDX-License-Identifier: Apache-2.0
"""Imported columns without rows: each level of a fixed width has an empty buffer, as in cuDF."""

from __future__ import annotations

import cudf
import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.spilling import turn_on

TYPES = [
    *(pa.int64(), pa.bool_(), pa.float16(), pa.timestamp("ns"), pa.date32(), pa.decimal64(10, 2)),
    *(pa.list_(pa.int8()), pa.struct({"x": pa.int8()}), pa.list_(pa.struct({"x": pa.bool_()}))),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int64(), pa.int32())),
]
SCHEMA = pa.schema([pa.field(str(type_), type_) for type_ in TYPES])
NULLS = pa.table([pa.nulls(3, type_) for type_ in TYPES], SCHEMA)
NO_ROWS = plc.Column(plc.DataType(plc.TypeId.INT64), 0, None, None, 0, 0, [])


def import_of(obj, **options):
    return lambda: cab.from_arrow_device(obj, **options)


SOURCES = {
    "table": import_of(SCHEMA.empty_table()),
    "slice": import_of(NULLS.slice(1, 0)),
    "copy": import_of(SCHEMA.empty_table(), copy=True),
    "stream without batches": lambda: cab.from_arrow_device_stream(SCHEMA.empty_table()),
    "rows of a frame": lambda: cab.from_arrow_device(NULLS).iloc[1:1],
    "import of rows of a frame": lambda: cab.from_arrow_device(
        cab.to_arrow_device(cab.from_arrow_device(NULLS).iloc[1:1])
    ),
    "tensor": lambda: cab.from_dlpack(np.empty((0, 2))),
    "range index": import_of(cab.to_arrow_device(cudf.RangeIndex(0))),
    "pylibcudf column": import_of(NO_ROWS),
}


def levels(column):
    """Return a column and its descendants."""
    return [column, *(level for child in column.children() for level in levels(child))]


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("spilling", [False, True])
def test_each_level_of_a_fixed_width_has_a_buffer(source, spilling, monkeypatch):
    if spilling:
        turn_on(monkeypatch)
    found = [level for column in source()._columns for level in levels(column.plc_column)]
    without_data = (plc.TypeId.LIST, plc.TypeId.STRUCT, plc.TypeId.STRING)
    found = [level for level in found if level.type().id() not in without_data]
    assert found
    for level in found:
        assert isinstance(level.data(), cudf.core.buffer.Buffer)
        assert level.data().size >= level.size() * plc.types.size_of(level.type())


@pytest.mark.parametrize("type_", [pa.int64(), pa.float32(), pa.timestamp("us"), pa.bool_()])
def test_series_has_the_array_interface(type_):
    series = cab.from_arrow_device(pa.array([], type_))
    interface = series.__cuda_array_interface__
    assert interface["shape"] == (0,)
    assert np.dtype(interface["typestr"]) == series.dtype
