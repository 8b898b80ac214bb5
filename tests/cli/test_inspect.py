# SPDX-License-Identifier: Apache-2.0
"""`inspect` shows the schema of a file without reading its data."""

import json
import re
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.arrow.types import support_of

SAMPLE = Path(__file__).parents[2] / "examples" / "data" / "nyc_flights.parquet"
WRITERS = {"arrow-file": pa.ipc.new_file, "arrow-stream": pa.ipc.new_stream}
kinds = pytest.mark.parametrize("kind", WRITERS)


def inspected(path, capsys):
    assert main(["inspect", "--json", str(path)]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_the_format_rows_and_column_types(capsys):
    document = inspected(SAMPLE, capsys)
    schema = pq.read_schema(SAMPLE)
    assert document["format"] == "parquet"
    assert document["rows"] == pq.read_metadata(SAMPLE).num_rows
    assert [c["name"] for c in document["columns"]] == schema.names
    for column, field in zip(document["columns"], schema, strict=True):
        assert column["arrow_type"] == str(field.type)
        support = support_of(field.type)
        assert (column["cudf_type"], column["support"]) == (support.cudf_type, support.support)


def test_unsupported_types_have_a_reason(tmp_path, capsys):
    twice = pa.struct([("a", pa.int8()), ("a", pa.int8())])
    schema = pa.schema(
        [("wide", pa.decimal256(50, 2)), ("fine", pa.int8()), ("twice", pa.list_(twice))]
    )
    with pa.ipc.new_file(tmp_path / "t", schema):
        pass
    document = inspected(tmp_path / "t", capsys)
    assert document["rows"] == 0
    wide, fine, twice = document["columns"]
    assert wide["support"] == twice["support"] == "unsupported"
    assert wide["note"]
    assert "two fields of one name" in twice["note"]
    assert fine["support"] == "zero-copy"


def test_footer_of_a_parquet_file_of_a_url_is_read_once(monkeypatch, capsys):
    store = fsspec.filesystem("memory")
    store.pipe("/footer.parquet", SAMPLE.read_bytes())
    opened, open_in_store = [], type(store)._open

    def count(self, *args, **kwargs):
        opened.append(self)
        return open_in_store(self, *args, **kwargs)

    monkeypatch.setattr(type(store), "_open", count)
    assert inspected("memory://footer.parquet", capsys)["format"] == "parquet"
    assert len(opened) == 2  # once for the format


def test_data_of_a_parquet_file_is_not_read(tmp_path, capsys):
    """Overwrite the data but not the metadata; a command that reads the data fails."""
    path = tmp_path / "t"
    table = pa.table({"n": pa.array(range(10_000), pa.int64())})
    pq.write_table(table, path, compression="zstd")
    content = bytearray(path.read_bytes())
    start, end = 400, len(content) - 1000
    content[start:end] = b"\x55" * (end - start)
    path.write_bytes(content)
    assert main(["roundtrip", str(path)]) == 2, "expected roundtrip to reject the damaged data"
    capsys.readouterr()
    assert [c["name"] for c in inspected(path, capsys)["columns"]] == ["n"]


def bytes_read():
    return int(re.search(r"rchar: (\d+)", Path("/proc/self/io").read_text())[1])


@kinds
def test_message_bodies_of_arrow_files_are_not_read(kind, tmp_path, capsys):
    table = pa.table({"n": range(1 << 21), "b": pa.nulls(1 << 21, pa.int8())})
    path = tmp_path / "t"
    with WRITERS[kind](path, table.schema) as sink:
        sink.write_table(table, 1 << 20)
    inspected(path, capsys)  # the first call imports modules
    before = bytes_read()
    document = inspected(path, capsys)
    assert bytes_read() - before < 1 << 20
    assert (document["format"], document["rows"], document["codecs"]) == (kind, 1 << 21, [])


@kinds
@pytest.mark.parametrize("codec", ["lz4_frame", "zstd"])
def test_codec_is_named(kind, codec, tmp_path, capsys):
    table = pa.table({"n": range(1000), "d": pa.array(["x", "y"] * 500).dictionary_encode()})
    options = pa.ipc.IpcWriteOptions(compression=codec.removesuffix("_frame"))
    path = tmp_path / "t"
    with WRITERS[kind](path, table.schema, options=options) as sink:
        sink.write_table(table, 300)
    document = inspected(path, capsys)
    assert (document["rows"], document["codecs"]) == (1000, [codec])
    assert main(["inspect", str(path)]) == 0
    assert f"({kind}, 1,000 rows, {codec})" in capsys.readouterr().out
    assert main(["roundtrip", str(path)]) == 0


@kinds
def test_byte_where_a_file_is_truncated_is_reported(kind, tmp_path, capsys):
    table = pa.table({"n": range(1000)})
    path = tmp_path / "t"
    with WRITERS[kind](path, table.schema) as sink:
        sink.write_table(table)
    path.write_bytes(path.read_bytes()[:5000])
    assert main(["inspect", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"cannot be read: byte [\d,]+: ", err)


def test_types_of_a_csv_file_are_inferred(tmp_path, capsys):
    path = tmp_path / "t.csv"
    pa.csv.write_csv(pa.table({"a": [1], "b": ["x"]}), path)
    document = inspected(path, capsys)
    assert [c["arrow_type"] for c in document["columns"]] == ["int64", "string"]
    assert main(["inspect", str(path)]) == 0
    assert "rows not known before reading" in capsys.readouterr().out


def test_name_of_a_column_that_is_not_utf8_is_an_error(tmp_path, capsys):
    path = tmp_path / "a.arrows"
    with pa.ipc.new_stream(path, pa.schema([("namename", pa.int8())])):
        pass
    path.write_bytes(path.read_bytes().replace(b"namename", b"name\xffame"))
    assert main(["inspect", str(path)]) == 2
    assert "cannot be read" in capsys.readouterr().err
