# SPDX-License-Identifier: Apache-2.0
"""Bodies of given buffers, and readers and writers of few bytes at a time."""

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


def body_of(buffers):
    """Return a body with these buffers, which are `bytes`."""
    empty = cab.to_arrow_device(pa.record_batch({}))
    return describe_body(empty._array, True, resolve_stream(None)).with_buffers(buffers)


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
