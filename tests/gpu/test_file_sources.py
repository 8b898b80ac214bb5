# SPDX-License-Identifier: Apache-2.0
"""Files are read as batches in device memory."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import cudf_arrow_bridge as bridge
from testing.device import GPU, frame_rows, rows

pytestmark = GPU

ROWS = 100
TABLE = pa.table(
    {
        "number": pa.array([None if i % 7 == 0 else i for i in range(ROWS)], pa.int32()),
        "time": pa.array(range(ROWS), pa.timestamp("us", "Europe/Rome")),
        "text": pa.array([f"text {i}" for i in range(ROWS)]),
        "flag": pa.array([i % 3 == 0 for i in range(ROWS)]),
        "list": pa.array([list(range(i % 4)) for i in range(ROWS)], pa.list_(pa.int64())),
        "price": pa.array(range(ROWS), pa.int64()).cast(pa.decimal128(21, 2)),
    }
)


def read(source, **options):
    batches = list(bridge.to_arrow_device_stream(source, **options))
    for batch in batches:
        assert batch.device_type == bridge.DeviceType.CUDA
    return [len(batch) for batch in batches], [row for batch in batches for row in rows(batch)]


@pytest.fixture
def folder(tmp_path):
    for i in range(2):
        pq.write_table(TABLE.slice(50 * i, 50), tmp_path / f"{i}.parquet", row_group_size=40)
    return tmp_path


def test_stream_of_parquet_files_yields_row_groups(folder):
    stream = bridge.to_arrow_device_stream(folder)
    assert stream.schema.equals(TABLE.schema)
    assert read(folder) == ([40, 10, 40, 10], TABLE.to_pylist())


def test_stream_of_files_selects_columns_and_rows(folder):
    wanted = ["text", "number"]
    assert read(folder, columns=wanted)[1] == TABLE.select(wanted).to_pylist()
    found = read(folder, columns=wanted, filter=pc.field("number") > 90)[1]
    assert found == TABLE.filter(pc.field("number") > 90).select(wanted).to_pylist()


def test_cudf_and_pyarrow_decode_the_same_rows(folder):
    """With a filter, pyarrow decodes the file, and the rows are uploaded."""
    assert read(folder)[1] == read(folder, filter=pc.field("text") != "")[1]


def test_large_row_group_is_read_in_chunks(tmp_path, monkeypatch):
    from cudf_arrow_bridge.export.sources import datasets

    monkeypatch.setattr(datasets, "_CHUNK_BYTES", 1 << 20)
    table = pa.table({"a": pa.array(range(1 << 20))})
    pq.write_table(table, tmp_path / "0.parquet", data_page_size=1 << 16, use_dictionary=False)
    sizes, found = read(tmp_path)
    assert len(sizes) > 1
    assert [row["a"] for row in found] == table["a"].to_pylist()


@pytest.mark.parametrize("ending", [".arrow", ".csv"])
def test_files_of_other_formats_are_uploaded(tmp_path, ending):
    table = TABLE.select(["number", "text"])
    path = tmp_path / f"file{ending}"
    if ending == ".csv":
        csv.write_csv(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=30)
    found = bridge.from_arrow_device_stream(bridge.to_arrow_device_stream(path))
    assert frame_rows(found) == table.to_pylist()
