# SPDX-License-Identifier: Apache-2.0
"""Files that are replaced between two iterations of a stream, and iterations after a fork."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from testing.processes import forks, in_fork, sums_of

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as sink:
        sink.write_table(table)


WRITERS = {
    "t.parquet": lambda table, path: pq.write_table(table, path, row_group_size=2),
    "t.arrow": lambda table, path: pyarrow.feather.write_feather(table, path, "uncompressed"),
    "t.arrows": write_stream,
    "t.csv": pa.csv.write_csv,
    "t.tsv": lambda table, path: pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t")),
}

names = pytest.mark.parametrize("name", WRITERS)


def replace(path, table):
    WRITERS[path.name](table, str(path) + "~")
    os.replace(str(path) + "~", path)


def read_once(source, **options):
    stream = cab.to_arrow_device_stream(source, **options)
    list(stream)
    return stream


@names
@pytest.mark.parametrize(
    ("options", "columns"),
    [({}, ["c", "d"]), ({"columns": ["b"]}, ["a"]), ({"filter": ds.field("b") > "a"}, ["a", "c"])],
)
def test_new_file_without_a_column_of_the_old_one_is_an_error(tmp_path, name, options, columns):
    path = tmp_path / name
    replace(path, TABLE)
    stream = read_once(path, **options)
    replace(path, pa.table(dict.fromkeys(columns, TABLE["b"])))
    with pytest.raises(
        ValueError, match=rf"{name}: the column '[ab]' is gone: the file was replaced"
    ):
        list(stream)


@names
def test_second_iteration_reads_the_rows_of_a_new_file(tmp_path, name):
    path = tmp_path / name
    replace(path, TABLE)
    stream = read_once(path)
    changed = pa.table({"z": [True, False], "b": ["q" * 100, "r"], "a": [7, 8]})
    replace(path, changed)
    assert pa.table(stream).equals(changed.select(["a", "b"]))
    only_a = read_once(path, columns=["a"])
    replace(path, TABLE.select(["a"]))
    assert pa.table(only_a).equals(TABLE.select(["a"]))


@names
def test_column_that_one_file_never_had_is_null_in_each_iteration(tmp_path, name):
    for folder, columns in (("1", ["a", "b"]), ("2", ["a"])):
        (tmp_path / folder).mkdir()
        replace(tmp_path / folder / name, TABLE.select(columns))
    stream = read_once(tmp_path)
    for _ in range(2):
        assert pa.table(stream)["b"].to_pylist() == ["x", "y", "z", None, None, None]
    replace(tmp_path / "1" / name, TABLE.select(["a"]))
    with pytest.raises(ValueError, match="column 'b'"):
        list(stream)


@forks
@names
def test_fork_cannot_continue_an_iteration_of_its_parent(tmp_path, name):
    # Row groups have 2 rows, other batches many.
    table = pa.table({"a": range(10 if name == "t.parquet" else 300_000)})
    WRITERS[name](pa.Table.from_batches(table.to_batches(200_000)), tmp_path / name)
    stream = cab.to_arrow_device_stream(tmp_path / name)
    expected = sums_of(stream)
    arrays = iter(stream)
    first = sums_of([next(arrays)])
    error = "RuntimeError: the parent process opened this source"
    assert in_fork(lambda: sums_of(arrays)).startswith(error)
    assert f"{first} {sums_of(arrays)}" == expected
