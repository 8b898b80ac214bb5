# SPDX-License-Identifier: Apache-2.0
"""Bytes and open files as sources, formats with options, and errors for other files."""

from __future__ import annotations

import array
import asyncio
import ctypes
import gzip
import io
import mmap

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as bridge
from testing.device import wait_until

TABLE = pa.table({"a": range(10), "b": [str(i) for i in range(10)]})


def written(write):
    sink = pa.BufferOutputStream()
    write(sink)
    return sink.getvalue().to_pybytes()


def write_arrow(new):
    def write(sink):
        with new(sink, TABLE.schema) as file:
            file.write_table(TABLE, max_chunksize=4)

    return write


FORMATS = {
    "parquet": written(lambda sink: pq.write_table(TABLE, sink, row_group_size=4)),
    "arrow file": written(write_arrow(pa.ipc.new_file)),
    "arrow stream": written(write_arrow(pa.ipc.new_stream)),
}


def mapped(path):
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


KINDS = {
    "bytes": lambda data, path: data,
    "bytearray": lambda data, path: bytearray(data),
    "memoryview": lambda data, path: memoryview(data),
    "memory map": lambda data, path: mapped(path),
    "array of Python": lambda data, path: array.array("B", data),
    "array of NumPy": lambda data, path: np.frombuffer(data, "u1"),
    "array of C": lambda data, path: (ctypes.c_char * len(data)).from_buffer_copy(data),
    "pyarrow buffer": lambda data, path: pa.py_buffer(data),
    "pyarrow reader": lambda data, path: pa.BufferReader(data),
    "BytesIO": lambda data, path: io.BytesIO(data),
    "open file": lambda data, path: path.open("rb"),
    "open file without a buffer": lambda data, path: path.open("rb", buffering=0),
    "pyarrow file": lambda data, path: pa.OSFile(str(path)),
}


@pytest.fixture
def make(tmp_path):
    opened = []

    def make(kind, data):
        path = tmp_path / "data"
        path.write_bytes(data)
        source = KINDS[kind](data, path)
        opened.append(source)
        return source

    yield make
    for source in opened:
        if hasattr(source, "close"):
            assert wait_until(lambda source=source: is_closed(source))


def is_closed(source):
    """Close a source. Return False while a thread of pyarrow still has a piece of it."""
    try:
        source.close()
    except BufferError:
        return False
    return True


def rows(obj):
    return pa.record_batch(bridge.to_arrow_device(obj, preserve_index=False)).to_pydict()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_and_open_files_are_read(make, kind, name):
    data = FORMATS[name]
    stream = bridge.to_arrow_device_stream(make(kind, data))
    for _ in range(2):
        assert pa.table(stream).equals(TABLE)
    selected = bridge.to_arrow_device_stream(
        make(kind, data), columns=["b"], filter=pc.field("a") > 5
    )
    assert pa.table(selected).equals(TABLE[6:].select(["b"]))
    for take in (bridge.from_arrow_device, bridge.from_arrow_device_stream):
        assert rows(take(make(kind, data))) == TABLE.to_pydict()
        assert rows(take(make(kind, data), columns=["a"])) == TABLE.select(["a"]).to_pydict()


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_read_in_the_named_format(make, kind):
    data = b"a;b\n1;x\n2;y\n"
    options = ds.CsvFileFormat(pa.csv.ParseOptions(delimiter=";"))
    found = pa.table(bridge.to_arrow_device_stream(make(kind, data), format=options))
    assert found.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    with pytest.raises(ValueError, match="neither Parquet, Arrow IPC"):
        bridge.to_arrow_device_stream(make(kind, data))


def test_open_file_that_is_not_at_its_beginning_is_rejected():
    file = io.BytesIO(FORMATS["parquet"])
    file.read(3)
    with pytest.raises(ValueError, match="the file is at byte 3, not at its beginning"):
        bridge.to_arrow_device_stream(file)


def test_text_files_are_rejected(tmp_path):
    (tmp_path / "text").write_text("a,b")
    with (tmp_path / "text").open() as file, pytest.raises(TypeError, match="text file"):
        bridge.to_arrow_device_stream(file).schema  # noqa: B018


@pytest.mark.parametrize(
    ("ending", "format", "write"),
    [
        (".orc", ds.OrcFileFormat(), lambda path: pa.orc.write_table(TABLE, path)),
        (
            ".txt",
            ds.CsvFileFormat(pa.csv.ParseOptions(delimiter="|")),
            lambda path: pa.csv.write_csv(TABLE, path, pa.csv.WriteOptions(delimiter="|")),
        ),
        (
            ".json",
            ds.JsonFileFormat(),
            lambda path: path.write_text('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'),
        ),
    ],
)
def test_files_are_read_in_a_format_with_options(tmp_path, ending, format, write):
    path = tmp_path / f"table{ending}"
    write(path)
    expected = ds.dataset(path, format=format).to_table()
    found = pa.table(bridge.to_arrow_device_stream(path, format=format))
    assert found.to_pydict() == expected.to_pydict()
    selected = bridge.to_arrow_device_stream(
        tmp_path, format=format, columns=["b"], filter=pc.field("a") > 1
    )
    wanted = ds.dataset(path, format=format).to_table(columns=["b"], filter=pc.field("a") > 1)
    assert pa.table(selected).to_pydict() == wanted.to_pydict()

    async def read():
        return [batch async for batch in bridge.to_arrow_device_async(path, format=format)]

    batches = asyncio.run(read())
    assert pa.concat_tables(map(pa.table, batches)).to_pydict() == expected.to_pydict()
    with pytest.raises(ValueError, match="format= takes the pyarrow"):
        bridge.to_arrow_device_stream(path)


def test_orc_files_are_read_in_batches_of_the_default_size(tmp_path):
    path = tmp_path / "table.orc"
    pa.orc.write_table(pa.table({"a": range(200_000)}), path)
    stream = bridge.to_arrow_device_stream(path, format=ds.OrcFileFormat())
    assert [len(batch) for batch in stream] == [131_072, 200_000 - 131_072]
    assert pa.table(stream)["a"].to_pylist() == list(range(200_000))


@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz"])
def test_tabs_separate_the_columns_of_a_tsv_file(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    data = b"a\tb\n1\tx,y\n2\tz\n"
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    found = pa.table(bridge.to_arrow_device_stream(path))
    assert found.to_pydict() == {"a": [1, 2], "b": ["x,y", "z"]}


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_csv_file_with_another_delimiter_is_rejected(tmp_path, delimiter):
    path = tmp_path / "table.csv"
    path.write_text(f"a{delimiter}b\n1{delimiter}2\n")
    with pytest.raises(ValueError, match=r"table\.csv: expected columns delimited by commas") as e:
        bridge.to_arrow_device_stream(path)
    assert f"delimiter={delimiter!r}" in str(e.value)
    format = ds.CsvFileFormat(pa.csv.ParseOptions(delimiter=delimiter))
    found = pa.table(bridge.to_arrow_device_stream(path, format=format))
    assert found.to_pydict() == {"a": [1], "b": [2]}


def test_folder_without_files_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file in this folder"):
        bridge.to_arrow_device_stream(tmp_path)


def test_error_of_the_wrong_ipc_format_names_the_right_function(tmp_path):
    for data, read, other in (
        (FORMATS["arrow file"], bridge.ipc.open_stream, "open_file"),
        (FORMATS["arrow stream"], bridge.ipc.open_file, "open_stream"),
    ):
        path = tmp_path / "data"
        path.write_bytes(data)
        for source in (data, path, io.BytesIO(data)):
            with pytest.raises(ValueError, match=other):
                list(read(source))


def test_slice_of_an_ipc_file_returns_its_batches():
    with bridge.ipc.open_file(FORMATS["arrow file"]) as file:
        assert [len(batch) for batch in file[:]] == [4, 4, 2]
        assert [len(batch) for batch in file[2:0:-1]] == [2, 4]
        assert file[3:] == []
        with pytest.raises(TypeError, match=r"file\[0\]\['a'\]"):
            file["a"]


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_csv_file_with_decimal_commas_is_rejected_with_the_options_that_read_it(tmp_path, name):
    path = tmp_path / name
    text = b"a;b\n1,5;2\n2,25;3\n"
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    with pytest.raises(ValueError, match="expected columns delimited by commas, got ';'") as error:
        bridge.to_arrow_device_stream(path)
    options = str(error.value).partition("give format=")[2]
    delimiter, _, decimals = options.partition(", and for decimal commas also ")
    format = eval(f"{delimiter[:-1]}, {decimals})", {"pyarrow": pa})
    read = pa.table(bridge.to_arrow_device_stream(path, format=format))
    assert read.to_pydict() == {"a": [1.5, 2.25], "b": [2, 3]}


@pytest.mark.parametrize(("ending", "delimiter"), [("csv", ","), ("tsv", "\t")])
@pytest.mark.parametrize("first", ["", "5"])
@pytest.mark.parametrize("format", [False, True])
def test_csv_column_with_another_type_after_a_mebibyte_is_an_error_with_its_name(
    tmp_path, ending, delimiter, first, format
):
    path = tmp_path / f"table.{ending}"
    rows = f"1{delimiter}{first}\n" * (1 << 19)
    path.write_text(f"a{delimiter}b\n{rows}2{delimiter}x\n")
    options = {}
    if format:
        options["format"] = ds.CsvFileFormat(pa.csv.ParseOptions(delimiter=delimiter))
    stream = bridge.to_arrow_device_stream(path, columns=["b"], **options)
    with pytest.raises(ValueError, match=rf"table\.{ending}: column 'b': .*invalid value 'x'") as e:
        list(stream)
    options = {"format": eval(str(e.value).partition("with format=")[2], {"pyarrow": pa})}
    read = pa.table(bridge.to_arrow_device_stream(path, columns=["b"], **options))
    assert read["b"][-1].as_py() == "x"
