# SPDX-License-Identifier: Apache-2.0
"""Messages are written to files, pipes, sockets and objects with ``write``; pyarrow reads them."""

from __future__ import annotations

import gc
import gzip
import io
import os
import socket
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from cudf_arrow_bridge.ipc import write_file, write_stream
from cudf_arrow_bridge.ipc.transport.sinks import MANY, SMALL, open_sink
from testing.ipc.bytes import (
    ReadingThread,
    SlowWriter,
    address_of,
    body_of,
    narrow_sockets,
)

CHUNK = 1000
TABLE = pa.table({"a": np.arange(4096), "b": np.arange(4096) / 3})


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_last_batch_is_released_before_the_footer_is_written(compression):
    size = 800_000
    held = []

    class Sink(io.BytesIO):
        def write(self, data):
            held.append(pa.total_allocated_bytes() - before)
            return super().write(data)

    def batches():
        for _ in range(2):
            yield pa.record_batch({"a": pa.repeat(0, size // 8)})

    gc.collect()  # what earlier tests left would be freed during this one
    before = pa.total_allocated_bytes()
    write_file(batches(), Sink(), compression=compression)
    # Threads of earlier tests may free or allocate some memory meanwhile.
    assert max(held) > size / 2 > held[-1]


def write_all(sink):
    write_stream(TABLE, sink, max_rows=1024)


def stream_in_memory():
    memory = io.BytesIO()
    write_all(memory)
    return memory.getvalue()


STREAM = stream_in_memory()


def expect_table(data):
    assert bytes(data) == STREAM
    assert pa.ipc.open_stream(bytes(data)).read_all() == TABLE


@pytest.mark.parametrize(
    ("mode", "buffering"),
    [("wb", 0), ("ab", -1), ("a+b", -1), ("r+b", -1), ("r+b", 0)],
)
def test_files_are_written_at_their_position(tmp_path, mode, buffering):
    path = tmp_path / "file"
    path.write_bytes(b"xy" if mode.startswith("a") else b"")
    before = path.read_bytes()
    with open(path, mode, buffering=buffering) as file:
        file.write(b"before")
        write_all(file)
        assert file.tell() == len(before + b"before" + STREAM)
        file.write(b"after")
        write_all(file)
        if "+" in mode:
            file.seek(len(before))
            assert file.read(6) == b"before"
            # Bytes that the file has read ahead do not disturb the write.
            file.seek(0, os.SEEK_END)
            write_all(file)
    data = path.read_bytes().removeprefix(before + b"before")
    assert data == STREAM + b"after" + STREAM * (2 if "+" in mode else 1)


def test_file_is_written_at_its_position_after_a_buffered_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    with open(path, "r+b") as file:
        assert file.read(3) == bytes(3)
        write_all(file)
        assert file.tell() == 3 + len(STREAM)
    expect_table(path.read_bytes()[3:])


def test_sink_writes_to_file_objects_of_pyarrow_and_python(tmp_path):
    expect_table(STREAM)
    buffers = pa.BufferOutputStream()
    write_all(buffers)
    expect_table(buffers.getvalue())
    with pa.OSFile(str(tmp_path / "os"), "wb") as file:
        write_all(file)
    expect_table((tmp_path / "os").read_bytes())
    buffered = io.BufferedWriter(io.BytesIO())
    write_all(buffered)
    buffered.flush()
    expect_table(buffered.raw.getvalue())


def test_sink_writes_to_compressed_files_and_archives(tmp_path):
    """Their file descriptors belong to the compressed bytes."""
    with gzip.open(tmp_path / "gz", "wb") as file:
        write_all(file)
    expect_table(gzip.decompress((tmp_path / "gz").read_bytes()))
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive, archive.open("one", "w") as file:
        write_all(file)
    expect_table(zipfile.ZipFile(tmp_path / "zip").read("one"))


def test_sink_calls_write_of_a_subclass_of_fileio(tmp_path):
    class Inverted(io.FileIO):
        def write(self, data):
            return super().write(bytes(255 - b for b in memoryview(data)))

    with Inverted(tmp_path / "file", "w") as file:
        write_all(file)
    expect_table(bytes(255 - b for b in (tmp_path / "file").read_bytes()))


def test_sink_writes_to_buffered_pipes():
    reader, writer = os.pipe()
    thread = ReadingThread(reader)
    with open(writer, "wb") as file:
        write_all(file)
    expect_table(thread.result())
    os.close(reader)


def test_buffered_files_are_flushed(tmp_path):
    with open(tmp_path / "stream", "wb") as file:
        write_all(file)
        expect_table((tmp_path / "stream").read_bytes())


@pytest.mark.parametrize("timeout", [None, 10])
def test_sink_writes_to_sockets(timeout):
    one, other = narrow_sockets()
    one.settimeout(timeout)
    with one, other:
        thread = ReadingThread(other.fileno())
        write_all(one)
        one.shutdown(socket.SHUT_WR)
        expect_table(thread.result())


def test_sink_completes_partial_writes():
    writer = SlowWriter(50)
    write_all(writer)
    expect_table(writer.data)


def test_large_buffers_are_written_without_a_copy():
    large, small = b"y" * SMALL, b"z" * 64
    writer = SlowWriter(1 << 30)
    with open_sink(writer) as sink:
        sink.write_message(b"x" * 16, body_of([small, large, small, large[: SMALL - 1]]), CHUNK)
    sizes = [size for _, size in writer.calls]
    assert sizes == [64 + 64, SMALL, 64 + SMALL]
    assert writer.calls[1][0] == address_of(large)


def test_small_buffers_are_joined_into_few_writes():
    writer = SlowWriter(1 << 30)
    with open_sink(writer) as sink:
        sink.write_message(b"", body_of([bytes(64)] * 3000), CHUNK)
    assert len(writer.data) == 64 * 3001
    assert len(writer.calls) == 3001 // MANY + 1


def test_sink_object_may_keep_the_pieces_and_return_none():
    kept = []

    class Keeping:
        write = kept.append

    write_all(Keeping())
    expect_table(b"".join(kept))


@pytest.mark.parametrize("length", [0, 13, 64])
def test_bodies_start_at_multiples_of_64_bytes(length):
    writer = SlowWriter(1 << 30)
    with open_sink(writer) as sink:
        sink.write(b"x" * length)
        block = sink.write_message(b"y" * 8, body_of([b"z"]), CHUNK)
        assert block.offset == length
        assert (block.offset + block.metadata_length) % 64 == 0
        assert block.metadata_length - 16 < 64
        assert block.body_length == 64
        none = sink.write_message(b"y" * 8, None, CHUNK)
        assert none.body_length == 0
        assert sink.position == len(writer.data)


@pytest.mark.parametrize("blocks", [True, False])
@pytest.mark.parametrize("connect", [os.pipe, lambda: [end.detach() for end in narrow_sockets()]])
def test_pieces_of_any_size_pass_through_a_small_connection(connect, blocks):
    """There are partial writes within pieces."""
    ends = connect()
    reader, writer = ends if connect is os.pipe else reversed(ends)
    os.set_blocking(writer, blocks)
    sizes = [0, 5000, 1, 64, 300_000, 63, 0]
    pieces = [bytes([i % 251]) * size for i, size in enumerate(sizes)]
    thread = ReadingThread(reader)
    with open(writer, "wb", buffering=0) as file, open_sink(file) as sink:
        for piece in pieces:
            sink.write(piece)
    assert thread.result() == b"".join(pieces)
    os.close(reader)


def test_objects_that_cannot_be_written_to_are_rejected(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with open(tmp_path / "file", "w") as text, pytest.raises(TypeError, match="text file"):
        write_all(text)
    with pytest.raises(TypeError, match=r"^sink: .*object$"):
        write_all(object())
    with open(tmp_path / "file", "rb") as file, pytest.raises(io.UnsupportedOperation):
        write_all(file)


def test_raw_file_that_accepts_no_bytes_raises_blocking_io_error():
    class Full(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            return None

    expected = pytest.raises(BlockingIOError, match=r"^byte 0: .*56 bytes$")
    with expected, open_sink(Full()) as sink:
        sink.write(b"x" * 56)


@pytest.mark.parametrize("count", [-1, 57])
def test_sink_that_returns_an_impossible_number_of_bytes_raises_os_error(count):
    class Wrong:
        def write(self, data):
            return count

    expected = pytest.raises(OSError, match=f"^byte 0: expected a sink that writes.* got {count}$")
    with expected, open_sink(Wrong()) as sink:
        sink.write(b"x" * 56)
