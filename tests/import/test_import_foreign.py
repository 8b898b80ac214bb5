# SPDX-License-Identifier: Apache-2.0
"""Arrow types that cuDF does not have: imports convert them to the nearest type."""

from __future__ import annotations

import io
from ctypes import c_int64

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import foreign, host, samples
from testing.peers.arrays import Producer, assert_same, column_from, nodes, read


@pytest.mark.parametrize("type_", foreign.TYPES, ids=str)
def test_export_converts_to_the_nearest_type_on_request(type_):
    array = samples.values(type_, samples.MANY, "some").slice(9, 80)
    landed = foreign.expected_import(array)
    exported = cab.to_arrow_device(Producer(array), requested_schema=pa.field("", landed.type))
    assert_same(read(exported), landed)


@pytest.mark.parametrize("type_", foreign.TYPES, ids=str)
def test_import_accepts_empty_arrays_without_buffers(type_):
    def drop_buffers(schema, array):
        for i in range(array.array.n_buffers):
            array.array.buffers[i] = None

    array = samples.values(type_, 0, "none")
    expected = foreign.expected_import(array)
    column = column_from(Producer(array, drop_buffers))
    assert_same(host.to_arrow(column, expected.type), expected)


def test_import_converts_every_float16_value_to_float32():
    halves = np.arange(2**16, dtype="uint16").view("float16")
    column = column_from(pa.array(halves))
    found = np.frombuffer(host.foreign(column.data()), "uint32")
    numbers = ~np.isnan(halves)
    assert np.array_equal(found[numbers], halves.astype("float32").view("uint32")[numbers])
    assert np.isnan(found.view("float32")[~numbers]).all()


def addresses(array):
    return {buffer.address for buffer in array.buffers() if buffer and buffer.size}


@pytest.mark.parametrize("nulls", ["none", "some"])
@pytest.mark.parametrize("type_", foreign.ZERO_COPY, ids=str)
def test_import_shares_the_buffers_of_equal_layouts(type_, nulls):
    array = samples.values(type_, samples.MANY, nulls)
    assert {span.ptr for span in host.spans(column_from(array))} == addresses(array)


@pytest.mark.parametrize(
    ("type_", "made"),
    [
        pytest.param(pa.large_list(pa.int32()), 1, id="large_list"),
        pytest.param(pa.large_binary(), 1, id="large_binary"),
        pytest.param(pa.binary(3), 1, id="fixed_size_binary"),
        pytest.param(pa.list_(pa.int16(), 3), 1, id="fixed_size_list"),
        pytest.param(pa.list_(pa.list_(pa.int16(), 3), 2), 2, id="fixed_size_list of the same"),
        pytest.param(pa.time32("s"), 1, id="time32"),
        pytest.param(pa.float16(), 1, id="float16"),
    ],
)
def test_import_converts_only_the_expected_buffers(type_, made):
    array = samples.values(type_, samples.MANY, "some")
    found = {span.ptr for span in host.spans(column_from(array, sanitize=False))}
    assert len(found - addresses(array)) == made
    replaced = 0 if pa.types.is_fixed_size_list(type_) or type_ == pa.binary(3) else 1
    assert len(addresses(array) - found) == replaced


#: polars exports null arrays with one buffer; the specification requires none.
POLARS_NULLS = {
    "slice": pl.Series("a", [None] * 100)[3:70],
    "no rows": pl.Series("a", [], dtype=pl.Null),
    "below a list": pl.Series("a", [[None], None, [None, None], []]),
    "below a struct": pl.Series("a", [{"n": None, "i": 1}, {"n": None, "i": None}]),
}


@pytest.mark.parametrize("validate", ["minimal", "full"])
@pytest.mark.parametrize("name", POLARS_NULLS)
def test_null_columns_of_polars_are_imported_and_exported(name, validate):
    frame = pl.DataFrame({"a": POLARS_NULLS[name], "b": range(len(POLARS_NULLS[name]))})
    expected = frame.to_dict(as_series=False)
    table = cab.from_arrow_device(frame, to="pylibcudf", validate=validate)
    exported = [cab.to_arrow_device(table), cab.to_arrow_device(frame)]
    stream = cab.to_arrow_device_stream(frame)
    for array in [*exported, *stream]:
        assert pa.record_batch(array).to_pydict() == expected
    message = io.BytesIO()
    cab.ipc.write_stream(frame, message)
    assert pa.ipc.open_stream(message.getvalue()).read_all().to_pydict() == expected


def test_error_omits_the_table_name_that_duckdb_generates():
    relation = duckdb.sql("select interval 1 day as i, 1 as j")
    with pytest.raises(TypeError, match=r"^column 'i': "):
        cab.from_arrow_device(relation)


#: Some layouts of `vortex-cuda/src/arrow/canonical.rs` of Vortex at commit 890704f.
VORTEX = {
    "strings without data buffers": pa.array(["a", None, "twelve bytes"], pa.string_view()),
    "strings": pa.array(["a", None, "b" * 20], pa.string_view()),
    "dictionary of views": pa.DictionaryArray.from_arrays(
        pa.array([1, None, 0], pa.int16()), pa.array(["a", "b" * 20], pa.string_view())
    ),
    "nulls": pa.nulls(3),
}


def as_vortex_exports(schema, array):
    for form, node in zip(nodes(schema), nodes(array.array), strict=True):
        if form.format == b"n":
            node.buffers, node.private_data = None, None
        elif form.format == b"vu" and not c_int64.from_address(node.buffers[3]).value:
            # pyarrow exports an empty data buffer. Vortex has none, and so no sizes.
            node.n_buffers, node.buffers[2] = 3, None


@pytest.mark.parametrize("validate", ["minimal", "full"])
@pytest.mark.parametrize("name", VORTEX)
def test_layouts_that_vortex_exports_from_a_gpu_are_imported(name, validate):
    array = VORTEX[name]
    batch = pa.record_batch({"a": array})
    table = cab.from_arrow_device(
        Producer(batch, as_vortex_exports), to="pylibcudf", validate=validate
    )
    assert pa.record_batch(cab.to_arrow_device(table)).to_pydict() == batch.to_pydict()
    column = column_from(Producer(array, as_vortex_exports), validate=validate)
    assert read(cab.to_arrow_device(column)).to_pylist() == array.to_pylist()
