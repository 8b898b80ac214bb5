# SPDX-License-Identifier: Apache-2.0
"""Messages are read from memory, files, pipes and sockets; errors report the position."""

from __future__ import annotations

import gzip
import io
import os
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from cudf_arrow_bridge.ipc.transport import sources
from cudf_arrow_bridge.ipc.transport.framing import read_message
from cudf_arrow_bridge.ipc.transport.sources import open_source
from testing.ipc.bytes import WritingThread, address_of, narrow_sockets
from testing.ipc.metadata import messages_of
from testing.ipc.samples import written

BATCH = pa.record_batch({"a": np.arange(256), "b": np.arange(256) / 3})
DATA = written(BATCH.schema, [BATCH] * 2)
MESSAGES = [(metadata, body.to_pybytes()) for metadata, body in messages_of(DATA)]


def expect_messages(source):
    """Read all messages of `DATA` from a source."""
    for expected, body in MESSAGES:
        metadata = read_message(source)
        assert metadata.startswith(expected)
        assert not any(metadata[len(expected) :])
        assert bytes(source.take(len(body))) == body
    assert read_message(source) is None


class Parts:
    """An object whose ``read``, or ``readinto`` of the subclass, returns a few bytes at a time."""

    def __init__(self, data, most):
        self._file = io.BytesIO(data)
        self._most = most

    def read(self, n):
        return self._file.read(min(n, self._most))


class FilledParts(Parts):
    def readinto(self, target):
        data = super().read(len(target))
        target[: len(data)] = data
        return len(data)

    def read(self, n):
        raise AssertionError


def in_memory(data, tmp_path):
    yield data
    yield bytearray(data)
    yield memoryview(data)
    yield pa.py_buffer(data)
    yield np.frombuffer(data, "uint8")
    yield pa.BufferReader(data)
    yield io.BytesIO(data)


def read_through(data, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(data)
    yield path
    yield str(path)
    yield Parts(data, 3)
    yield FilledParts(data, 100)
    (tmp_path / "gz").write_bytes(gzip.compress(data))
    with gzip.open(tmp_path / "gz") as file:
        yield file
    with pa.OSFile(str(path)) as file:
        yield file
    with pa.input_stream(str(tmp_path / "gz"), compression="gzip") as file:
        yield file
    for buffering in (0, -1):
        with open(path, "rb", buffering=buffering) as file:
            yield file
        reader, writer = os.pipe()
        thread = WritingThread(writer, data)
        with open(reader, "rb", buffering=buffering) as file:
            yield file
        thread.join()
    with open(path, "r+b") as file:
        yield file
    for timeout in (None, 20):
        one, other = narrow_sockets()
        with other:
            thread = WritingThread(one.detach(), data)
            other.settimeout(timeout)
            yield other
        thread.join()


@pytest.mark.parametrize("kind", [in_memory, read_through])
def test_messages_are_read_from_all_sources(kind, tmp_path):
    for each in kind(DATA, tmp_path):
        with open_source(each) as source:
            expect_messages(source)
            assert source.position == len(DATA)
            assert source.read_up_to(10) == b""
            assert read_message(source) is None


def test_errors_of_truncated_sources_report_the_position():
    with pytest.raises(ValueError, match=r"^byte 8: .*9 bytes$"):
        read_message(open_source(DATA[:17]))
    source = open_source(bytes(12_345))
    source.take(12_000, "something")
    with pytest.raises(ValueError, match=r"^byte 12,000: .*1,000 bytes.*345 bytes"):
        source.take(1000)
    with pytest.raises(ValueError, match=r"^byte 0: .*3 bytes$"):
        read_message(open_source(b"abc"))


@pytest.mark.parametrize(("prefix", "length"), [(b"\xff\xff\xff\xff", -1), (b"", -(2**31))])
def test_negative_metadata_lengths_are_rejected(prefix, length):
    data = prefix + length.to_bytes(4, "little", signed=True)
    match = f"^byte {len(prefix)}: expected a positive metadata length, got {length:,}$"
    with pytest.raises(ValueError, match=match):
        read_message(open_source(data + bytes(100)))


def test_sources_in_memory_are_not_copied(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    for each in in_memory(DATA, tmp_path):
        source = open_source(each)
        whole = each if not hasattr(each, "read") else None
        source.take(70, "something")
        body = source.take(100)
        if whole is not None:
            assert address_of(body) == address_of(whole) + 70
        elif isinstance(each, io.BytesIO):
            assert address_of(body) == address_of(DATA) + 70
        assert source.take(0).nbytes == 0
        source.read_into(target := bytearray(5))
        assert target == DATA[170:175]
    with pa.memory_map(str(path)) as file:
        address = file.read_buffer().address
        file.seek(5)
        assert address_of(open_source(file).take(3)) == address + 5


def test_bodies_of_mapped_files_share_the_mapping(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    with open_source(path, memory_map=True) as source:
        expect_messages(source)
        source.seek(0)
        body = source.take(100)
    maps = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(path) in line]
    begin, end = (int(bound, 16) for bound in maps[0].split()[0].split("-"))
    assert begin <= address_of(body) < end
    assert body == DATA[:100]
    assert body.readonly
    (tmp_path / "empty").write_bytes(b"")
    assert read_message(open_source(tmp_path / "empty", memory_map=True)) is None


def test_files_are_read_into_targets_and_aligned_memory(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    with open_source(path) as source:
        target = np.zeros((2, 50), "uint8")
        source.read_into(target)
        assert target.tobytes() == DATA[:100]
        memory = source.take(1000)
        assert address_of(memory) % 64 == 0
        assert len(memory) == 1000
        assert bytes(memory) == DATA[100:1100]
        np.frombuffer(memory, "uint8")[0] = 1  # writable
        with pytest.raises(ValueError, match=f"^byte 1,100: .* got {len(DATA) - 1100:,} bytes"):
            source.read_into(bytearray(99_999))


@pytest.mark.parametrize("mode", ["rb", "r+b"])
@pytest.mark.parametrize("buffering", [0, -1])
def test_source_starts_at_the_position_of_a_file_and_advances_the_file(tmp_path, mode, buffering):
    path = tmp_path / "data"
    path.write_bytes(b"before" + DATA + b"after" + DATA)
    with open(path, mode, buffering=buffering) as file:
        assert file.read(6) == b"before"
        with open_source(file) as source:
            assert source.size == 2 * len(DATA) + 5
            expect_messages(source)
        assert file.tell() == 6 + len(DATA)
        assert file.read(5) == b"after"
        with open_source(file) as source:
            expect_messages(source)
        assert file.read() == b""


@pytest.mark.parametrize("buffering", [0, -1])
def test_source_of_a_closed_file_reads_no_other_file(tmp_path, buffering):
    """The operating system gives the descriptor of a closed file to the next one."""
    for name in ("closed", "other"):
        (tmp_path / name).write_bytes(DATA)
    with open(tmp_path / "closed", "rb", buffering) as file:
        source, fd = open_source(file), file.fileno()
    with open(tmp_path / "other", "rb", 0) as other:
        assert other.fileno() == fd
        with pytest.raises(ValueError, match="closed file"):
            source.take(100)
        assert other.tell() == 0


def test_body_stays_valid_after_its_bytes_io_is_written_to_and_closed():
    file = io.BytesIO(DATA)
    body = open_source(file).take(100)
    file.write(b"something else")
    file.close()
    assert body == DATA[:100]


def test_seek_counts_from_the_start_of_the_source(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"xy" + DATA)
    (tmp_path / "gz").write_bytes(gzip.compress(b"xy" + DATA))
    with open(path, "rb") as file, gzip.open(tmp_path / "gz") as zipped:
        for each in (file, zipped, pa.BufferReader(b"xy" + DATA)):
            each.read(2)
            source = open_source(each)
            assert source.take(4, "a prefix") == DATA[:4]
            assert source.size == len(DATA)
            source.seek(100)
            assert source.take(10, "something") == DATA[100:110]
            assert source.position == 110
            source.seek(1)
            assert source.take(10, "something") == DATA[1:11]
            for wrong in (-1, len(DATA) + 1):
                with pytest.raises(ValueError, match=f"^byte {wrong:,}: the source has only"):
                    source.seek(wrong)
            source.close()
    source = open_source(Parts(DATA, 10))
    assert source.size is None
    with pytest.raises(io.UnsupportedOperation):
        source.seek(0)


def test_source_reads_bytes_that_are_appended_to_its_file(tmp_path):
    with open(tmp_path / "data", "wb", buffering=0) as file:
        file.write(DATA[:100])
        with open_source(tmp_path / "data") as source:
            with pytest.raises(ValueError, match=f"of {len(DATA):,} bytes, got 100 bytes"):
                source.take(len(DATA))
            file.write(DATA[100:])
            expect_messages(source)


@pytest.fixture
def allocations(monkeypatch):
    sizes = []

    allocate = sources._allocate

    def record(size):
        sizes.append(size)
        return allocate(size)

    monkeypatch.setattr(sources, "_allocate", record)
    return sizes


def test_no_memory_is_allocated_for_lengths_beyond_the_input(tmp_path, allocations):
    huge = 1 << 62
    match = f"^byte 0: expected a body of {huge:,} bytes, got {len(DATA):,} bytes$"
    for each in chain(in_memory(DATA, tmp_path), read_through(DATA, tmp_path)):
        with open_source(each) as source, pytest.raises(ValueError, match=match):
            source.take(huge)
    assert set(allocations) == {sources.STEP}  # for sources of unknown size
    allocations.clear()
    message = b"\xff\xff\xff\xff\xff\xff\xff\x7f" + DATA
    for each in chain(in_memory(message, tmp_path), read_through(message, tmp_path)):
        with open_source(each) as source, pytest.raises(ValueError, match=r"message.*metadata"):
            read_message(source)
    assert set(allocations) == {4, sources.STEP}


def test_allocations_double_while_bytes_arrive(monkeypatch, allocations):
    monkeypatch.setattr(sources, "STEP", 1000)
    data = os.urandom(20_000)
    for size in (999, 1000, 1001, 2000, 2001, 20_000):
        assert bytes(open_source(Parts(data, 333)).take(size)) == data[:size]
    allocations.clear()
    with pytest.raises(ValueError, match=r"90,000 bytes.*20,000 bytes"):
        open_source(Parts(data, 333)).take(90_000)
    assert allocations == [1000, 2000, 4000, 8000, 16_000, 32_000]


def test_objects_that_cannot_be_read_are_rejected(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with open(tmp_path / "file") as text, pytest.raises(TypeError, match="text file"):
        open_source(text)
    with pytest.raises(TypeError, match=r"^source: .*object$"):
        open_source(object())


def test_non_blocking_source_without_bytes_raises_blocking_io_error():
    for name in ("readinto", "read"):
        with pytest.raises(BlockingIOError, match=r"^byte 0: "):
            read_message(open_source(SimpleNamespace(**{name: lambda _: None})))


@pytest.mark.parametrize(
    ("name", "method", "count"),
    [
        ("readinto", lambda target: -1, -1),
        ("readinto", lambda target: 1_000_000, "1,000,000"),
        ("read", lambda n: bytes(n + 1), 5),
    ],
)
def test_source_with_an_impossible_number_of_bytes_raises_os_error(name, method, count):
    source = open_source(SimpleNamespace(**{name: method}))
    with pytest.raises(OSError, match=f"^byte 0: expected a source that.* got {count}$"):
        read_message(source)


@pytest.mark.parametrize("make", [io.BytesIO, pa.BufferReader, open])
def test_a_file_may_be_closed_before_its_source(make, tmp_path):
    (tmp_path / "data").write_bytes(DATA)
    with make(tmp_path / "data", "rb") if make is open else make(DATA) as file:
        source = open_source(file)
    source.close()
    source.close()
