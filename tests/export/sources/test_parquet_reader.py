# SPDX-License-Identifier: Apache-2.0
"""Parquet files read by cuDF's chunked reader: its use, its arguments and its tables."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from testing.peers import chunked_reader
from testing.peers.streams import StreamOnly

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of a stand-in for the reader")

ROWS = 100
START = datetime.datetime(2020, 5, 1, tzinfo=datetime.UTC)
TABLE = pa.table(
    {
        "number": pa.array(range(ROWS), pa.int32()),
        "time": pa.array(
            [START + datetime.timedelta(hours=i) for i in range(ROWS)],
            pa.timestamp("us", "Europe/Rome"),
        ),
        "text": pa.array([None if i % 3 == 0 else f"text {i}" for i in range(ROWS)]),
        "price": pa.array(range(ROWS), pa.int64()).cast(pa.decimal128(21, 2)),
        "pairs": pa.array([[{"x": i, "y": "y"}] for i in range(ROWS)]),
    }
)


@pytest.fixture
def made(monkeypatch):
    """Return the list of the options of the readers that are made."""
    return chunked_reader.install(monkeypatch)


def read(source, **options):
    return pa.table(StreamOnly(cab.to_arrow_device_stream(source, **options)))


def write(folder, table=TABLE):
    paths = [folder / f"{i}.parquet" for i in range(2)]
    for i, path in enumerate(paths):
        pq.write_table(table.slice(50 * i, 50), path, row_group_size=40)
    return paths


def test_row_groups_are_read_one_by_one(made, tmp_path):
    paths = write(tmp_path)
    stream = cab.to_arrow_device_stream(tmp_path)
    assert made == []
    sizes = []
    for batch in stream:
        sizes.append((len(batch), len(made)))
    # The stand-in's chunks have 30 rows.
    assert sizes == [(30, 1), (10, 1), (10, 2), (30, 3), (10, 3), (10, 4)]
    places = [(options.path, options.row_groups) for options in made]
    assert places == [(str(path), [[group]]) for path in paths for group in range(2)]
    for options in made:
        assert options.columns == TABLE.column_names
        assert options.pandas_metadata is False


def test_batches_have_the_schema_of_the_file(made, tmp_path):
    write(tmp_path)
    found = read(tmp_path)
    assert found.to_pylist() == TABLE.to_pylist()
    expected = pq.read_schema(tmp_path / "0.parquet")
    assert found.schema.names == expected.names
    assert found.schema.field("time") == expected.field("time")
    assert found.schema.field("price") == expected.field("price")
    assert found.schema.field("pairs").type.value_type.names == ["x", "y"]
    assert len(made) == 4


def test_columns_are_read_in_the_requested_order(made, tmp_path):
    write(tmp_path)
    found = read(tmp_path, columns=["text", "number"])
    assert found.equals(TABLE.select(["text", "number"]))
    assert {tuple(options.columns) for options in made} == {("text", "number")}


def test_pandas_index_of_the_file_is_kept(made, tmp_path):
    frame = TABLE.select(["number", "text"]).to_pandas().set_index("number")
    frame.to_parquet(tmp_path / "frame.parquet")
    assert read(tmp_path).to_pandas().equals(frame)
    back = cab.from_arrow_device_stream(cab.to_arrow_device_stream(tmp_path))
    assert (back.index.name, list(back.columns)) == ("number", ["text"])
    assert len(made) == 2


@pytest.mark.parametrize(
    "options", [{"filter": pc.field("number") >= 95}, {"columns": []}], ids=["filter", "no columns"]
)
def test_filters_and_empty_columns_are_read_by_pyarrow(made, tmp_path, options):
    write(tmp_path)
    batches = list(cab.to_arrow_device_stream(tmp_path, **options))
    assert sum(map(len, batches)) == (5 if "filter" in options else ROWS)
    assert made == []


def test_bytes_partition_keys_and_arrow_files_are_read_by_pyarrow(made, tmp_path):
    write(tmp_path)
    path = tmp_path / "0.parquet"
    assert read(path.read_bytes()).num_rows == 50
    folder = tmp_path / "keys" / "key=1"
    folder.mkdir(parents=True)
    path.rename(folder / "file.parquet")
    assert read(folder.parent, columns=["key", "number"])["key"].to_pylist() == [1] * 50
    with pa.ipc.new_file(tmp_path / "file.arrow", TABLE.schema) as file:
        file.write_table(TABLE)
    assert read(tmp_path / "file.arrow").num_rows == ROWS
    assert made == []
    # The chunked reader reads the columns that are in the file itself.
    assert read(folder.parent, columns=["number"]).num_rows == 50
    assert len(made) == 2


@pytest.mark.parametrize("nested", [False, True])
def test_dictionary_columns_are_read_by_pyarrow(made, tmp_path, nested):
    categories = pa.array([f"c{i % 3}" for i in range(ROWS)]).dictionary_encode()
    column = pa.StructArray.from_arrays([categories], ["c"]) if nested else categories
    write(tmp_path, TABLE.append_column("category", column))
    found = read(tmp_path)
    assert found["category"].to_pylist() == column.to_pylist()
    if not nested:
        assert pa.types.is_dictionary(found.schema.field("category").type)
    assert made == []
    assert read(tmp_path, columns=["number"])["number"].equals(TABLE["number"])
    assert len(made) == 4


def test_columns_that_must_be_converted_are_read_by_pyarrow(made, tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": [0.5], "c": [True]}), tmp_path / "1.parquet")
    assert read(tmp_path).to_pydict() == {
        "a": [1, 2, 0.5],
        "b": ["x", "y", None],
        "c": [None, None, True],
    }
    assert made == []
    assert read(tmp_path, columns=["b"])["b"].to_pylist() == ["x", "y", None]
    assert [options.path for options in made] == [str(tmp_path / "0.parquet")]
    assert read(tmp_path, columns=["a"])["a"].to_pylist() == [1, 2, 0.5]
    assert [options.path for options in made[1:]] == [str(tmp_path / "1.parquet")]
