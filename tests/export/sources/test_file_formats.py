# SPDX-License-Identifier: Apache-2.0
"""Bytes, open files and files of each format as sources, with options and memory maps."""

from __future__ import annotations

import ctypes
import gzip
import io
import mmap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
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
    "memory map": lambda data, path: mapped(path),
    "array of NumPy": lambda data, path: np.frombuffer(data, "u1"),
    "array of C": lambda data, path: (ctypes.c_char * len(data)).from_buffer_copy(data),
    "BytesIO": lambda data, path: io.BytesIO(data),
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


def table_of(source, **options):
    return pa.table(cab.to_arrow_device_stream(source, **options))


def rows(obj):
    return pa.record_batch(cab.to_arrow_device(obj, preserve_index=False)).to_pydict()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_and_open_files_are_read(make, kind, name):
    data = FORMATS[name]
    stream = cab.to_arrow_device_stream(make(kind, data))
    for _ in range(2):
        assert pa.table(stream).equals(TABLE)
    selected = cab.to_arrow_device_stream(make(kind, data), columns=["b"], filter=pc.field("a") > 5)
    assert pa.table(selected).equals(TABLE[6:].select(["b"]))
    assert rows(cab.from_arrow_device(make(kind, data))) == TABLE.to_pydict()


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_read_in_the_named_format(make, kind):
    data = b"a;b\n1;x\n2;y\n"
    options = ds.CsvFileFormat(pa.csv.ParseOptions(delimiter=";"))
    found = pa.table(cab.to_arrow_device_stream(make(kind, data), format=options))
    assert found.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    with pytest.raises(ValueError, match="neither Parquet nor Arrow IPC"):
        cab.to_arrow_device_stream(make(kind, data))


def test_open_file_that_is_not_at_its_beginning_is_rejected():
    file = io.BytesIO(FORMATS["parquet"])
    file.read(3)
    with pytest.raises(ValueError, match="byte 3"):
        cab.to_arrow_device_stream(file)


def test_text_files_are_rejected(tmp_path):
    (tmp_path / "text").write_text("a,b")
    with (tmp_path / "text").open() as file, pytest.raises(TypeError, match="text file"):
        cab.to_arrow_device_stream(file).schema  # noqa: B018


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
    found = table_of(path, format=format)
    assert found.to_pydict() == expected.to_pydict()
    selected = cab.to_arrow_device_stream(
        tmp_path, format=format, columns=["b"], filter=pc.field("a") > 1
    )
    wanted = ds.dataset(path, format=format).to_table(columns=["b"], filter=pc.field("a") > 1)
    assert pa.table(selected).to_pydict() == wanted.to_pydict()


def test_orc_files_are_read_in_batches_of_the_default_size(tmp_path):
    path = tmp_path / "table.orc"
    pa.orc.write_table(pa.table({"a": range(200_000)}), path)
    stream = cab.to_arrow_device_stream(path, format=ds.OrcFileFormat())
    assert [len(batch) for batch in stream] == [131_072, 200_000 - 131_072]
    assert pa.table(stream)["a"].to_pylist() == list(range(200_000))


@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz"])
def test_tabs_separate_the_columns_of_a_tsv_file(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    data = b"a\tb\n1\tx,y\n2\tz\n"
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    found = table_of(path)
    assert found.to_pydict() == {"a": [1, 2], "b": ["x,y", "z"]}


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_csv_file_with_another_delimiter_is_rejected_with_the_options_that_read_it(
    tmp_path, delimiter
):
    path = tmp_path / "table.csv.gz"
    text = f"a{delimiter}b\n1,5{delimiter}2\n2,25{delimiter}3\n"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(ValueError, match="commas") as error:
        cab.to_arrow_device_stream(path)
    options = str(error.value).partition("give format=")[2]
    delimiter, _, decimals = options.partition(", and for decimal commas also ")
    format = eval(f"{delimiter[:-1]}, {decimals})", {"pyarrow": pa})
    read = table_of(path, format=format)
    assert read.to_pydict() == {"a": [1.5, 2.25], "b": [2, 3]}


@pytest.mark.parametrize(("ending", "delimiter"), [("csv", ","), ("tsv", "\t"), ("csv", "|")])
def test_csv_column_with_another_type_after_a_mebibyte_is_an_error_with_its_name(
    tmp_path, ending, delimiter
):
    path = tmp_path / f"table.{ending}"
    rows = f"1{delimiter}5\n" * (1 << 19)
    path.write_text(f"a{delimiter}b\n{rows}2{delimiter}x\n")
    options = {"columns": ["b"]}
    if delimiter == "|":
        options["format"] = ds.CsvFileFormat(pa.csv.ParseOptions(delimiter=delimiter))
    stream = cab.to_arrow_device_stream(path, **options)
    with pytest.raises(ValueError, match=rf"table\.{ending}: column 'b': .*invalid value 'x'") as e:
        list(stream)
    # The error says how to read the file.
    options["format"] = eval(str(e.value).partition("with format=")[2], {"pyarrow": pa})
    read = table_of(path, **options)
    assert read["b"][-1].as_py() == "x"


def test_error_of_the_wrong_ipc_format_names_the_right_function():
    with pytest.raises(ValueError, match="open_file"):
        list(cab.ipc.open_stream(FORMATS["arrow file"]))
    with pytest.raises(ValueError, match="open_stream"):
        list(cab.ipc.open_file(FORMATS["arrow stream"]))


def test_slice_of_an_ipc_file_returns_its_batches():
    with cab.ipc.open_file(FORMATS["arrow file"]) as file:
        assert [len(batch) for batch in file[:]] == [4, 4, 2]
        assert [len(batch) for batch in file[2:0:-1]] == [2, 4]
        assert file[3:] == []
        with pytest.raises(TypeError, match=r"file\[0\]\['a'\]"):
            file["a"]


def test_csv_types_are_unified_over_files_but_not_over_blocks(tmp_path):
    # The first block, of 1 MiB, has only integers.
    (tmp_path / "0.csv").write_text("a\n" + "1000000\n" * 200_000 + "0.5\n")
    with pytest.raises(ValueError, match=r"0\.csv: .*conversion error to int64"):
        table_of(tmp_path)
    (tmp_path / "1.csv").write_text("a\n0.25\n")
    assert table_of(tmp_path)["a"].to_pylist()[-3:] == [1_000_000, 0.5, 0.25]


def test_other_columns_of_csv_files_can_have_any_values(tmp_path):
    folder = tmp_path / "k=1"
    folder.mkdir()
    (folder / "0.csv").write_text("b,a\n" + "1000000,2\n" * 200_000 + "x,3\n")
    assert table_of(tmp_path, columns=["a"])["a"].to_pylist()[-2:] == [2, 3]
    assert table_of(tmp_path, columns=["k", "a"]).slice(200_000).to_pydict() == {"k": [1], "a": [3]}


def mappings(path):
    """Return the ranges of addresses at which a file is mapped into memory."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    found = [line.split()[0].split("-") for line in lines if line.endswith(str(path))]
    return [range(int(begin, 16), int(end, 16)) for begin, end in found]


@pytest.mark.parametrize("name", ["arrow file", "arrow stream"])
@pytest.mark.parametrize("columns", [None, ["a"]])
def test_arrow_files_are_mapped_only_with_memory_map(tmp_path, name, columns):
    path = tmp_path / "data"
    path.write_bytes(FORMATS[name])
    assert table_of(path, columns=columns).num_rows == 10
    assert not mappings(path)
    batches = list(cab.to_arrow_device_stream(path, columns=columns, memory_map=True))
    mapped = mappings(path)
    buffers = [buffer for batch in batches for buffer in batch.buffers() if buffer.size]
    assert len(buffers) == 3 * (1 if columns else 3)
    for buffer in buffers:
        assert any(buffer.address in addresses for addresses in mapped)


def bytes_read():
    """Return the number of bytes that this process has read by system calls."""
    return int(Path("/proc/self/io").read_text().split()[1])


def test_other_columns_of_arrow_files_are_not_read(tmp_path):
    rows = 1 << 20
    table = pa.table({"a": pa.nulls(rows, pa.int64()), "b": range(rows), "c": range(rows)})
    path = tmp_path / "table.arrow"
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    before = bytes_read()
    (batch,) = cab.to_arrow_device_stream(path, columns=["c"])
    assert bytes_read() - before < 9 * rows
    assert pa.record_batch(batch).to_pydict() == {"c": table["c"].to_pylist()}


def test_arrow_files_with_types_that_pyarrow_cannot_make_empty_are_read(tmp_path):
    times = pa.array([1, None], pa.timestamp("us")).dictionary_encode()
    table = pa.table({"a": pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), times), "b": [1]})
    with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as writer:
        writer.write(table)
    stream = cab.to_arrow_device_stream(tmp_path / "x.arrow")
    assert pa.table(stream).equals(table)
    only = cab.to_arrow_device_stream(tmp_path / "x.arrow", columns=["a"])
    assert pa.table(only).equals(table.select(["a"]))
