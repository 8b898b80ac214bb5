# SPDX-License-Identifier: Apache-2.0
"""Messages are written to files, pipes, sockets and objects with ``write``; pyarrow reads them."""

from __future__ import annotations

import gc
import gzip
import io
import os
import socket
import tempfile
import zipfile

import pyarrow as pa
import pytest

from cudf_arrow_bridge.ipc import write_file
from cudf_arrow_bridge.ipc.transport import files
from cudf_arrow_bridge.ipc.transport.framing import END_OF_STREAM, Block
from cudf_arrow_bridge.ipc.transport.sinks import MANY, SMALL, open_sink
from testing.ipc.bytes import (
    ReadingThread,
    SlowWriter,
    address_of,
    body_of,
    message_parts,
    narrow_sockets,
    packed,
    sample_table,
)

CHUNK = 1000
TABLE = sample_table()
PARTS = message_parts(TABLE, 1024)


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
    assert max(held) >= size > held[-1]


def write_all(sink, parts=PARTS):
    with open_sink(sink) as opened:
        blocks = [opened.write_message(metadata, body_of(body), CHUNK) for metadata, body in parts]
        opened.write(END_OF_STREAM)
        assert opened.position == len(packed(parts)) + 8
    return blocks


def expect_table(data):
    assert bytes(data) == packed(PARTS) + END_OF_STREAM
    assert pa.ipc.open_stream(bytes(data)).read_all() == TABLE


def test_sink_writes_to_paths(tmp_path):
    for path in (tmp_path / "one", str(tmp_path / "two")):
        write_all(path)
        expect_table((tmp_path / path).read_bytes())


@pytest.mark.parametrize(
    ("mode", "buffering"),
    [("wb", 0), ("wb", -1), ("w+b", -1), ("ab", -1), ("a+b", -1), ("r+b", -1), ("r+b", 0)],
)
def test_files_are_written_at_their_position(tmp_path, mode, buffering):
    path = tmp_path / "file"
    path.write_bytes(b"xy" if mode.startswith("a") else b"")
    before = path.read_bytes()
    with open(path, mode, buffering=buffering) as file:
        file.write(b"before")
        write_all(file)
        assert file.tell() == len(before + b"before" + packed(PARTS) + END_OF_STREAM)
        file.write(b"after")
        write_all(file)
        if "+" in mode:
            file.seek(len(before))
            assert file.read(6) == b"before"
            # Bytes that the file has read ahead do not disturb the write.
            file.seek(0, os.SEEK_END)
            write_all(file)
    data = path.read_bytes().removeprefix(before + b"before")
    stream = packed(PARTS) + END_OF_STREAM
    assert data == stream + b"after" + stream * (2 if "+" in mode else 1)


def test_file_is_written_at_its_position_after_a_buffered_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    with open(path, "r+b") as file:
        assert file.read(3) == bytes(3)
        write_all(file)
        assert file.tell() == 3 + len(packed(PARTS)) + 8
    expect_table(path.read_bytes()[3:])


def test_sink_writes_to_memory_files():
    with open(os.memfd_create("sink"), "w+b") as file:
        write_all(file)
        file.seek(0)
        expect_table(file.read())


def test_sink_writes_to_temporary_files():
    with tempfile.NamedTemporaryFile() as file:
        write_all(file)
        file.seek(0)
        expect_table(file.read())


def test_sink_writes_to_file_objects_of_pyarrow_and_python(tmp_path):
    memory = io.BytesIO()
    write_all(memory)
    expect_table(memory.getvalue())
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


@pytest.mark.parametrize("buffering", [0, -1])
@pytest.mark.parametrize("blocks", [True, False])
def test_sink_writes_to_pipes(buffering, blocks):
    reader, writer = os.pipe()
    os.set_blocking(writer, blocks)
    thread = ReadingThread(reader)
    with open(writer, "wb", buffering=buffering) as file:
        write_all(file)
    expect_table(thread.result())
    os.close(reader)


def test_failed_write_does_not_remove_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(ZeroDivisionError), open_sink(tmp_path / "pipe"):
        raise ZeroDivisionError
    assert (tmp_path / "pipe").exists()
    os.close(reader)


@pytest.mark.parametrize("timeout", [None, 10])
def test_sink_writes_to_sockets(timeout):
    one, other = narrow_sockets()
    one.settimeout(timeout)
    with one, other:
        thread = ReadingThread(other.fileno())
        write_all(one)
        one.shutdown(socket.SHUT_WR)
        expect_table(thread.result())


def test_sink_writes_to_files_of_sockets():
    one, other = narrow_sockets()
    with one, other:
        thread = ReadingThread(other.fileno())
        with one.makefile("wb") as file:
            write_all(file)
        one.shutdown(socket.SHUT_WR)
        expect_table(thread.result())


@pytest.mark.parametrize("most", [1, 7, 5000])
def test_sink_completes_partial_writes(most):
    writer = SlowWriter(most)
    write_all(writer)
    expect_table(writer.data)


def test_write_that_returns_none_has_written_all_bytes():
    class Silent:
        data = b""

        def write(self, data):
            self.data += data

    silent = Silent()
    write_all(silent)
    expect_table(silent.data)


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


def test_sink_object_may_keep_the_pieces():
    kept = []

    class Keeping:
        write = kept.append

    write_all(Keeping())
    expect_table(b"".join(kept))


def test_write_message_returns_the_position_of_the_body():
    writer = SlowWriter(1 << 30)
    blocks = write_all(writer)
    assert blocks[0].offset == 0
    for (metadata, buffers), block in zip(PARTS, blocks, strict=True):
        assert isinstance(block, Block)
        offset, head, size = block
        assert writer.data[offset : offset + 4] == b"\xff\xff\xff\xff"
        assert writer.data[offset + 8 :].startswith(metadata)
        assert (offset + head) % 64 == 0
        assert writer.data[offset + head :].startswith(b"".join(map(memoryview, buffers)))
        assert size == sum(len(buffer) for buffer in buffers)
    file = pa.BufferReader(bytes(writer.data))
    for offset, head, size in blocks:
        file.seek(offset)
        message = pa.ipc.read_message(file)
        assert file.tell() == offset + head + size
        assert message.metadata.size == head - 8


@pytest.mark.parametrize("length", range(0, 130, 13))
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
def test_any_number_of_pieces_passes_through_a_small_connection(connect, blocks):
    """There are more pieces than one system call accepts, and partial writes within pieces."""
    ends = connect()
    reader, writer = ends if connect is os.pipe else reversed(ends)
    os.set_blocking(writer, blocks)
    sizes = [0, 5000, 1, 64, 300_000, 63, *[70] * 3000, 0]
    pieces = [bytes([i % 251]) * size for i, size in enumerate(sizes)]
    thread = ReadingThread(reader)
    files.write_all(writer, pieces)
    os.close(writer)
    assert thread.result() == b"".join(pieces)
    os.close(reader)


def test_objects_that_cannot_be_written_to_are_rejected(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with open(tmp_path / "file", "w") as text, pytest.raises(TypeError, match="got a text file"):
        write_all(text)
    with pytest.raises(
        TypeError, match=r"^sink: expected a path, a binary file, a.* got an object of type object$"
    ):
        write_all(object())
    with open(tmp_path / "file", "rb") as file, pytest.raises(io.UnsupportedOperation):
        write_all(file)
    with pytest.raises(FileNotFoundError):
        write_all(tmp_path / "nowhere" / "file")


def test_raw_file_that_accepts_no_bytes_raises_blocking_io_error():
    class Full(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            return None

    with (
        pytest.raises(
            BlockingIOError,
            match=r"^byte 0: the sink does not block and accepts none of the next 56 bytes$",
        ),
        open_sink(Full()) as sink,
    ):
        sink.write(b"x" * 56)


@pytest.mark.parametrize("count", [-1, 57])
def test_sink_that_returns_an_impossible_number_of_bytes_raises_os_error(count):
    class Wrong:
        def write(self, data):
            return count

    with (
        pytest.raises(OSError, match=f"^byte 0: expected a sink that writes.* got {count}$"),
        open_sink(Wrong()) as sink,
    ):
        sink.write(b"x" * 56)


def test_sink_raises_system_errors():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", buffering=0) as file, pytest.raises(BrokenPipeError):
        write_all(file)
    with open("/dev/full", "wb") as file, pytest.raises(OSError, match="No space left") as caught:
        write_all(file)
    assert caught.value.errno == 28


def test_sink_raises_errors_of_the_sink_object():
    class Broken:
        def write(self, data):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_all(Broken())
