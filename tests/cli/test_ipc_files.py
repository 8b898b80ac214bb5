# SPDX-License-Identifier: Apache-2.0
"""Test `inspect`, which reads only metadata, and `roundtrip` on Arrow IPC files and streams."""

from __future__ import annotations

import json
import mmap
import re
from pathlib import Path

import pyarrow as pa
import pytest

from cudf_arrow_bridge.__main__ import main

WRITERS = {"arrow-file": pa.ipc.new_file, "arrow-stream": pa.ipc.new_stream}
KINDS = pytest.mark.parametrize("kind", WRITERS)

#: More rows than fit into the memory of any machine.
ROWS = 2**38
HUGE = pa.schema({"n": pa.int64(), "b": pa.int8()})


class WithHoles:
    """A file that replaces large writes by holes."""

    def __init__(self, path):
        self._file = open(path, "wb")  # noqa: SIM115 - `close` closes it
        self.closed = False

    def write(self, data):
        data = memoryview(data)
        if data.nbytes < 2**20:
            self._file.write(data)
        else:
            self._file.seek(data.nbytes, 1)

    def tell(self):
        return self._file.tell()

    def flush(self):
        self._file.flush()

    def close(self):
        self._file.close()
        self.closed = True


def write_huge(kind, path):
    with open(path.with_name("hole"), "w+b") as file:
        file.truncate(8 * ROWS)
        buffer = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    batch = pa.RecordBatch.from_arrays(
        [pa.Array.from_buffers(type_, ROWS, [None, buffer], 0) for type_ in HUGE.types],
        schema=HUGE,
    )
    options = pa.ipc.IpcWriteOptions(allow_64bit=True)
    with (
        pa.PythonFile(WithHoles(path), "w") as sink,
        WRITERS[kind](sink, HUGE, options=options) as writer,
    ):
        writer.write_batch(batch)
        writer.write_batch(batch.slice(0, ROWS // 2 + 7))
        writer.write_batch(batch.slice(5, 1))


def inspected(path, capsys):
    assert main(["inspect", "--json", str(path)]) == 0
    return json.loads(capsys.readouterr().out)


def bytes_read():
    return int(re.search(r"rchar: (\d+)", Path("/proc/self/io").read_text())[1])


@KINDS
def test_inspect_does_not_read_message_bodies(kind, tmp_path, capsys):
    """The bodies are larger than memory, so a command that reads them fails or does not end."""
    path = tmp_path / "huge"
    write_huge(kind, path)
    assert path.stat().st_size > 9 * ROWS
    inspected(path, capsys)  # the first call imports modules
    before = bytes_read()
    document = inspected(path, capsys)
    assert bytes_read() - before < 2**20
    assert document["format"] == kind
    assert document["rows"] == ROWS + ROWS // 2 + 7 + 1
    assert document["codecs"] == []
    assert [column["name"] for column in document["columns"]] == HUGE.names


@KINDS
@pytest.mark.parametrize("codec", [None, "lz4_frame", "zstd"])
def test_inspect_names_the_codec(kind, codec, tmp_path, capsys):
    table = pa.table({"n": range(1000), "d": pa.array(["x", "y"] * 500).dictionary_encode()})
    options = pa.ipc.IpcWriteOptions(compression=codec and codec.removesuffix("_frame"))
    path = tmp_path / "t"
    with WRITERS[kind](path, table.schema, options=options) as sink:
        sink.write_table(table, 300)
    document = inspected(path, capsys)
    assert document["rows"] == 1000
    assert document["codecs"] == ([codec] if codec else [])
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "1,000 rows" in out
    assert [name for name in ("lz4_frame", "zstd") if name in out] == document["codecs"]
    assert main(["roundtrip", str(path)]) == 0


@KINDS
def test_inspect_reports_the_byte_where_a_file_is_truncated(kind, tmp_path, capsys):
    table = pa.table({"n": range(1000)})
    path = tmp_path / "t"
    with WRITERS[kind](path, table.schema) as sink:
        sink.write_table(table)
    path.write_bytes(path.read_bytes()[:5000])
    assert main(["inspect", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"cannot be read: byte [\d,]+: ", err)


@KINDS
def test_roundtrip_reports_types_that_cudf_lacks_as_unsupported(kind, tmp_path, capsys):
    table = pa.table({"n": [1, 2], "wide": pa.array([1, None], pa.decimal256(50, 2))})
    path = tmp_path / "t"
    with WRITERS[kind](path, table.schema) as sink:
        sink.write_table(table)
    assert inspected(path, capsys)["rows"] == 2
    assert main(["roundtrip", "--json", str(path)]) == 3
    (document,) = json.loads(capsys.readouterr().out)["files"]
    assert [c["result"] for c in document["columns"]][1] == "unsupported"


@KINDS
def test_roundtrip_reads_the_batches_up_to_the_number_of_rows(kind, tmp_path, capsys):
    table = pa.table({"n": range(1000), "s": [str(i) for i in range(1000)]})
    path = tmp_path / "t"
    with WRITERS[kind](path, table.schema) as sink:
        sink.write_table(table, 100)
    assert main(["roundtrip", "--json", "--rows", "250", str(path)]) == 0
    (document,) = json.loads(capsys.readouterr().out)["files"]
    assert document["rows"] == 250


@KINDS
def test_roundtrip_reports_a_file_whose_offsets_end_outside_of_the_data(kind, tmp_path, capsys):
    table = pa.table({"s": ["a", "b" * 20, "c"]})
    path = tmp_path / "t"
    with WRITERS[kind](path, table.schema) as sink:
        sink.write_table(table)
    offsets = b"".join(offset.to_bytes(4, "little") for offset in (0, 1, 21, 22))
    data = path.read_bytes()
    assert data.count(offsets) == 1
    path.write_bytes(data.replace(offsets, offsets[:-4] + b"\0\0\0\x7f"))
    assert main(["roundtrip", str(path)]) == 2
    assert "cannot be read" in capsys.readouterr().err
