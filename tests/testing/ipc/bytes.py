# SPDX-License-Identifier: Apache-2.0
"""Parts of messages that pyarrow writes, and readers and writers of few bytes at a time."""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.ipc.body import describe_body
from cudf_arrow_bridge.cuda.streams import resolve_stream

#: A number of rows whose columns need no padding. pyarrow pads bodies to only 8 bytes.
ROWS = 4096


def sample_table(rows=ROWS):
    return pa.table(
        {"a": np.arange(rows, dtype="int64"), "b": np.arange(rows, dtype="float64") / 3}
    )


def message_parts(table, max_chunksize=None):
    """Return the metadata and the body's buffers of each message that pyarrow writes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize)
    parts = []
    for message in pa.ipc.MessageReader.open_stream(sink.getvalue()):
        body = message.body
        step = body.size // max(table.num_columns, 1) if body is not None else 0
        data = b"" if body is None else body.to_pybytes()
        columns = [data[i * step :][:step] for i in range(table.num_columns)] if step else []
        parts.append((message.metadata.to_pybytes(), columns))
    return parts


def body_of(buffers):
    """Return a body with these buffers, which are `bytes`."""
    empty = cab.to_arrow_device(pa.record_batch({}))
    return describe_body(empty._array, True, resolve_stream(None)).with_buffers(buffers)


def packed(parts):
    """Return the expected stream of `message_parts`, with bodies at multiples of 64 bytes."""
    result = bytearray()
    for metadata, buffers in parts:
        padding = bytes(-(len(result) + 8 + len(metadata)) % 64)
        length = len(metadata) + len(padding)
        result += b"\xff\xff\xff\xff" + length.to_bytes(4, "little") + metadata + padding
        result += b"".join(buffers)
    return bytes(result)


@dataclass
class SlowWriter:
    """Accepts at most `most` bytes in each write."""

    most: int
    data: bytearray = field(default_factory=bytearray)
    calls: list = field(default_factory=list)

    def write(self, data):
        taken = memoryview(data)[: self.most]
        self.data += taken
        self.calls.append((address_of(data), len(taken)))
        return len(taken)


def address_of(data):
    return np.frombuffer(data, "uint8").ctypes.data if len(data) else 0


class ReadingThread:
    """Reads a descriptor to its end."""

    def __init__(self, fd):
        self._fd = fd
        self._data = bytearray()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while part := os.read(self._fd, 5000):
            self._data += part

    def result(self):
        self._thread.join(20)
        assert not self._thread.is_alive()
        return bytes(self._data)


class WritingThread:
    """Writes to a descriptor, a few bytes at a time, and closes it."""

    def __init__(self, fd, data, step=5000):
        self._thread = threading.Thread(target=self._run, args=(fd, data, step))
        self._thread.start()

    @staticmethod
    def _run(fd, data, step):
        try:
            for i in range(0, len(data), step):
                os.write(fd, data[i : i + step])
        except BrokenPipeError:
            pass
        finally:
            os.close(fd)

    def join(self):
        self._thread.join(20)
        assert not self._thread.is_alive()


def narrow_sockets():
    one, other = socket.socketpair()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    return one, other
