# SPDX-License-Identifier: Apache-2.0
"""Signals end calls that wait for a pipe or socket, and forks read at their own positions."""

from __future__ import annotations

import gzip
import os
import signal
import socket
import threading
from contextlib import ExitStack, contextmanager, nullcontext

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.ipc.samples import written
from testing.processes import forks, in_fork, sums_of

TABLE = pa.table({"a": np.arange(1 << 20)})


def files(ends, blocks):
    for end in ends:
        os.set_blocking(end, blocks)
    reader, writer = ends
    return open(reader, "rb", buffering=0), open(writer, "wb", buffering=0)


def buffered():
    reader, writer = os.pipe()
    return open(reader, "rb"), open(writer, "wb")


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
        cab.ipc.write_stream(TABLE, writer)
        writer.close()


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_write_and_read_continue_after_signals_whose_handler_returns(connection):
    signals, found = [], []
    before = signal.signal(signal.SIGALRM, lambda *_: signals.append(1))
    reader, writer = CONNECTIONS[connection]()

    def read():
        with reader:
            found.extend(cab.ipc.open_stream(reader))

    reading = threading.Thread(target=read)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        reading.start()
        with writer:
            cab.ipc.write_stream(TABLE, writer)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        reading.join()
    assert pa.Table.from_batches(map(pa.record_batch, found)) == TABLE
    assert signals


@pytest.mark.parametrize("num_bytes", [3, 100_000])
@pytest.mark.parametrize("connection", CONNECTIONS)
def test_signal_ends_a_blocked_read(connection, num_bytes):
    beginning = written(TABLE.schema, TABLE.to_batches())[:num_bytes]
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
            for _ in cab.ipc.open_stream(reader):
                pass
        writing.join()


BATCHES = [pa.record_batch({"a": np.arange(i, i + 500)}) for i in range(4)]
REST_OF_SUMS = " ".join(str(sum(range(i, i + 500))) for i in range(1, 4))


@forks
@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize("buffering", [None, 0, -1])
def test_fork_and_its_parent_read_an_open_file_at_their_own_positions(is_file, buffering, tmp_path):
    path = tmp_path / "data.arrow"
    path.write_bytes(written(BATCHES[0].schema, BATCHES, file=is_file))
    open_source = cab.ipc.open_file if is_file else cab.ipc.open_stream
    with nullcontext(path) if buffering is None else open(path, "rb", buffering) as source:
        arrays = iter(open_source(source))
        next(arrays)
        position = None if buffering is None else source.tell()
        assert in_fork(lambda: sums_of(arrays)) == REST_OF_SUMS
        if buffering is not None:
            assert os.lseek(source.fileno(), 0, os.SEEK_CUR) == position
        assert sums_of(arrays) == REST_OF_SUMS
        if buffering is not None and not is_file:
            assert source.tell() == path.stat().st_size


@forks
@pytest.mark.parametrize("connection", [*CONNECTIONS, "buffered pipe", "gzip"])
def test_fork_cannot_read_a_source_whose_position_its_parent_shares(connection, tmp_path):
    data = written(BATCHES[0].schema, BATCHES)
    with ExitStack() as stack:
        if connection == "gzip":
            (tmp_path / "gz").write_bytes(gzip.compress(data))
            reader = stack.enter_context(gzip.open(tmp_path / "gz"))
        else:
            reader, writer = map(stack.enter_context, CONNECTIONS.get(connection, buffered)())
            writer.write(data)
            writer.flush()
        arrays = iter(cab.ipc.open_stream(reader))
        next(arrays)
        expected = "RuntimeError: the parent process opened this source"
        assert in_fork(lambda: sums_of(arrays)).startswith(expected)
        assert sums_of(arrays) == REST_OF_SUMS
