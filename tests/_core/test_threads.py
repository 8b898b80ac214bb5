# SPDX-License-Identifier: Apache-2.0
"""Test that threads that share one exported array or stream raise errors and do not crash."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import contextmanager

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.arrays import column_from

# Runs in a new process, because a read of a released array crashes the process.
RELEASE_WHILE_IT_IS_EXPORTED = """
import threading, time
import pyarrow as pa
import cudf_arrow_bridge as cab

struct = pa.array([{str(i): i for i in range(200)}])
column = cab.from_arrow_device(struct, to="pylibcudf")
outcomes = set()
deadline = time.monotonic() + 1
while time.monotonic() < deadline:
    array = cab.to_arrow_device(column)
    started = threading.Barrier(3)

    def repeat(call):
        started.wait()
        try:
            while True:
                call()
        except ValueError as error:
            outcomes.add(str(error).split(":")[0])

    threads = [
        threading.Thread(target=repeat, args=[call])
        for call in (array.__arrow_c_device_array__, array.buffers)
    ]
    for thread in threads:
        thread.start()
    started.wait()
    array.release()
    for thread in threads:
        thread.join()
print(outcomes)
"""


def test_release_of_an_array_during_its_export_raises_in_the_export():
    command = [sys.executable, "-c", RELEASE_WHILE_IT_IS_EXPORTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "released" in done.stdout


class Halting:
    """An iterable that waits for `goes_on` before it yields the second item."""

    def __init__(self, items):
        self.items = items
        self.has_begun, self.goes_on = threading.Event(), threading.Event()

    def __iter__(self):
        yield self.items[0]
        self.has_begun.set()
        self.goes_on.wait(30)
        yield from self.items[1:]


@contextmanager
def reading_the_second_batch(batches, source, found):
    """Read batches on another thread, which waits inside the second batch."""

    def pull():
        try:
            found.extend(len(batch) for batch in batches)
        except ValueError as error:
            found.append(str(error))

    puller = threading.Thread(target=pull)
    puller.start()
    try:
        assert source.has_begun.wait(30)
        yield
    finally:
        source.goes_on.set()
        puller.join()


def columns():
    return [column_from(pa.array([0] * size)) for size in (1, 2, 3)]


def test_second_thread_that_reads_an_iterator_is_rejected():
    source, found = Halting(columns()), []
    batches = iter(cab.to_arrow_device_stream(source))
    with (
        reading_the_second_batch(batches, source, found),
        pytest.raises(ValueError, match="another call"),
    ):
        next(batches)
    assert found == [1, 2, 3]


def test_other_iterators_of_a_stream_are_read_while_one_waits():
    source, found = Halting(columns()), []
    stream = cab.to_arrow_device_stream(source)
    with reading_the_second_batch(iter(stream), source, found):
        assert len(next(iter(stream))) == 1
        assert stream.schema.type == pa.int64()
        stream.__arrow_c_device_stream__()
    assert found == [1, 2, 3]


def test_release_of_a_stream_lets_another_thread_finish_its_batch():
    source, found = Halting(columns()), []
    stream = cab.to_arrow_device_stream(source)
    with reading_the_second_batch(iter(stream), source, found):
        stream.release()
        assert stream.is_released
    assert found[:2] == [1, 2]
    assert found[2].startswith("the stream is released")


READS = {
    "a batch": lambda stream: next(iter(stream)),
    "its schema": lambda stream: stream.schema,
    "its memory": lambda stream: stream.device_type,
    "a C stream": lambda stream: stream.__arrow_c_device_stream__(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_stream_is_rejected_while_another_thread_reads_its_first_batch(read):
    has_begun, goes_on = threading.Event(), threading.Event()

    def batches():
        has_begun.set()
        goes_on.wait(30)
        yield from columns()

    stream = cab.to_arrow_device_stream(batches())
    reader = threading.Thread(target=lambda: stream.schema)
    reader.start()
    assert has_begun.wait(30)
    with pytest.raises(ValueError, match="another call"):
        read(stream)
    goes_on.set()
    reader.join()
    assert [len(batch) for batch in stream] == [1, 2, 3]


def test_device_type_of_a_stream_is_known_while_the_source_of_another_one_waits():
    has_begun, goes_on, has_waited = threading.Event(), threading.Event(), []

    def batches():
        has_begun.set()
        has_waited.append(goes_on.wait(30))
        yield from columns()

    stream = cab.to_arrow_device_stream(batches())
    reader = threading.Thread(target=lambda: stream.device_type)
    reader.start()
    assert has_begun.wait(30)
    assert cab.to_arrow_device_stream(columns()).device_type == cab.DeviceType.CPU
    goes_on.set()
    reader.join()
    assert has_waited == [True]


def test_source_that_reads_its_own_stream_is_rejected():
    def batches():
        yield column_from(pa.array([1]))
        next(loop)

    loop = iter(cab.to_arrow_device_stream(batches()))
    assert len(next(loop)) == 1
    with pytest.raises(ValueError, match="another call"):
        next(loop)
