# SPDX-License-Identifier: Apache-2.0
"""The first signal ends a call that waits for the other end of a pipe or socket."""

from __future__ import annotations

import os
import signal
import socket
import threading
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge

TABLE = pa.table({"a": np.arange(1 << 20)})


def files(ends, blocks):
    for end in ends:
        os.set_blocking(end, blocks)
    reader, writer = ends
    return open(reader, "rb", buffering=0), open(writer, "wb", buffering=0)


CONNECTIONS = {
    "pipe": lambda: files(os.pipe(), True),
    "pipe that does not block": lambda: files(os.pipe(), False),
    "socket": lambda: files([end.detach() for end in socket.socketpair()], True),
}


@contextmanager
def interrupted_once(end_wait):
    """Send SIGINT once; if the call has missed it, end the wait 5 s later."""
    is_late = threading.Event()

    def end_late():
        is_late.set()
        end_wait()

    # A shell starts background processes with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    rescue = threading.Timer(5, end_late)
    rescue.daemon = True
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012  # the signal may come before the call
            interrupt.start()
            rescue.start()
            yield
        interrupt.join()
    finally:
        signal.signal(signal.SIGINT, before)
    rescue.cancel()
    assert not is_late.is_set()


def read_all(file):
    os.set_blocking(file.fileno(), True)
    while file.read(1 << 20):
        pass


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_signal_ends_a_blocked_write(connection):
    reader, writer = CONNECTIONS[connection]()
    with reader, writer, interrupted_once(lambda: read_all(reader)):
        bridge.ipc.write_stream(TABLE, writer)
        writer.close()


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_write_and_read_continue_after_signals_whose_handler_returns(connection):
    signals, found = [], []
    before = signal.signal(signal.SIGALRM, lambda *_: signals.append(1))
    reader, writer = CONNECTIONS[connection]()

    def read():
        with reader:
            found.extend(bridge.ipc.open_stream(reader))

    reading = threading.Thread(target=read)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        reading.start()
        with writer:
            bridge.ipc.write_stream(TABLE, writer)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        reading.join()
    assert pa.Table.from_batches(map(pa.record_batch, found)) == TABLE
    assert signals


@pytest.mark.parametrize("num_bytes", [0, 3, 100, 1000, 100_000])
@pytest.mark.parametrize("connection", CONNECTIONS)
def test_signal_ends_a_blocked_read(connection, num_bytes):
    message = pa.BufferOutputStream()
    with pa.ipc.new_stream(message, TABLE.schema) as sink:
        sink.write_table(TABLE)
    beginning = message.getvalue().to_pybytes()[:num_bytes]
    reader, writer = CONNECTIONS[connection]()

    def write():
        os.set_blocking(writer.fileno(), True)
        with memoryview(beginning) as rest:
            while rest:
                rest = rest[writer.write(rest) :]

    with reader, writer:
        writing = threading.Thread(target=write)
        writing.start()
        with interrupted_once(writer.close):
            for _ in bridge.ipc.open_stream(reader):
                pass
        writing.join()
