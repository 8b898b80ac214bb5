# SPDX-License-Identifier: Apache-2.0
"""Imports of lists of frames and tables, of files and datasets, and of lazy frames."""

from __future__ import annotations

import cudf
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab

TABLE = pa.table({"a": range(10), "b": [str(i) for i in range(10)]})


def rows(frame):
    return pa.record_batch(cab.to_arrow_device(frame, preserve_index=False)).to_pydict()


KINDS = {
    "pyarrow tables": lambda table: table,
    "pandas frames": lambda table: table.to_pandas(),
    "cuDF frames": cab.from_arrow_device,
    "device arrays": cab.to_arrow_device,
    "streams": cab.to_arrow_device_stream,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrap", [list, iter])
def test_lists_of_frames_and_tables_are_imported(kind, wrap):
    parts = [KINDS[kind](TABLE[begin : begin + 5]) for begin in (0, 5)]
    assert rows(cab.from_arrow_device_stream(wrap(parts))) == TABLE.to_pydict()
    parts = [KINDS[kind](TABLE[begin : begin + 5]) for begin in (0, 5)]
    frames = list(cab.from_arrow_device_stream(wrap(parts), concat=False))
    assert all(isinstance(frame, cudf.DataFrame) for frame in frames)
    assert pa.concat_tables([pa.table(rows(frame)) for frame in frames]).equals(TABLE)


def test_tables_of_another_schema_are_rejected():
    with pytest.raises(ValueError, match=r"column 'a'.*'int64'.*'string'"):
        cab.from_arrow_device_stream([TABLE, pa.table({"a": ["x"], "b": ["y"]})])


@pytest.fixture
def folder(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=4)
    with pa.ipc.new_file(tmp_path / "b.arrow", TABLE.schema) as file:
        file.write_table(TABLE, max_chunksize=4)
    return tmp_path


SOURCES = {
    "path": lambda folder: folder / "a.parquet",
    "glob": lambda folder: str(folder / "*.arrow"),
    "dataset": lambda folder: ds.dataset(folder / "a.parquet"),
    "scanner": lambda folder: ds.dataset(folder / "a.parquet").scanner(),
    "lazy frame": lambda folder: pl.scan_parquet(folder / "a.parquet"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_files_datasets_and_lazy_frames_are_imported(folder, source):
    for take in (cab.from_arrow_device, cab.from_arrow_device_stream):
        assert rows(take(SOURCES[source](folder))) == TABLE.to_pydict()
        selected = take(SOURCES[source](folder), columns=["b"])
        assert rows(selected) == TABLE.select(["b"]).to_pydict()
    frames = cab.from_arrow_device_stream(SOURCES[source](folder), concat=False)
    assert pa.concat_tables([pa.table(rows(frame)) for frame in frames]).equals(TABLE)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_columns_option_keeps_the_index_of_cudf_frames_only(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    table = pa.Table.from_pandas(TABLE.to_pandas().set_index("b").assign(c=1))
    if ending == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    frame = cab.from_arrow_device(path, columns=["c"])
    assert list(frame.columns) == ["c"]
    assert frame.index.name == "b"
    columns = cab.from_arrow_device(path, columns=["c"], to="pylibcudf")
    assert columns.num_columns() == 1


def test_lazy_frame_is_computed_for_each_iteration(folder):
    calls = []
    lazy = pl.scan_parquet(folder / "a.parquet").map_batches(lambda df: calls.append(0) or df)
    stream = cab.to_arrow_device_stream(lazy)
    for count in (1, 2):
        assert pa.table(stream).to_pydict() == TABLE.to_pydict()
        assert len(calls) == count


def test_import_of_empty_pandas_series_keeps_the_index():
    index = pd.Index([], name="key", dtype="int64")
    series = pd.Series([], dtype="int64", name="value", index=index)
    imported = cab.from_arrow_device_stream(series)
    assert (imported.name, imported.index.name) == ("value", "key")


STRUCTS = [{"x": 1}, None, {"x": 3}]

COLUMNS_OF_STRUCTS = {
    "a chunked array of two chunks": lambda: pa.chunked_array([STRUCTS[:1], STRUCTS[1:]]),
    "a polars series of two chunks": lambda: pl.Series(STRUCTS[:1]).append(pl.Series(STRUCTS[1:])),
    "a chunked array of arro3": lambda: pytest.importorskip("arro3.core").ChunkedArray(
        pa.chunked_array([STRUCTS])
    ),
    "a stream of this package": lambda: cab.to_arrow_device_stream(pa.chunked_array([STRUCTS])),
}


@pytest.mark.parametrize("create", COLUMNS_OF_STRUCTS.values(), ids=COLUMNS_OF_STRUCTS)
def test_structs_of_a_column_are_a_column(create):
    column = create()
    for take in (cab.from_arrow_device, cab.from_arrow_device_stream):
        series = take(column)
        assert isinstance(series, cudf.Series)
        assert pa.array(cab.to_arrow_device(series)).to_pylist() == STRUCTS
        assert isinstance(take(column, to="pylibcudf"), plc.Column)
    assert pa.array(cab.to_arrow_device(column)).to_pylist() == STRUCTS
    stream = cab.to_arrow_device_stream(column)
    assert pa.chunked_array(stream).to_pylist() == STRUCTS


def test_structs_of_a_list_of_columns_are_a_column():
    for column in (pa.array(STRUCTS), pa.chunked_array([STRUCTS]), pl.Series(STRUCTS)):
        for take in (cab.from_arrow_device_stream, cab.to_arrow_device_stream):
            imported = cab.from_arrow_device_stream(take([column, column]))
            assert isinstance(imported, cudf.Series)
            assert pa.array(cab.to_arrow_device(imported)).to_pylist() == STRUCTS * 2


def test_structs_of_a_column_are_a_table_if_requested():
    column = pl.Series(STRUCTS[:1])
    assert isinstance(cab.from_arrow_device(column, kind="table"), cudf.DataFrame)
