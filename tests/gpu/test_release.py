# SPDX-License-Identifier: Apache-2.0
"""Producers are released once and in stream order, without leaks."""

from __future__ import annotations

import gc
import os
import threading

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import (
    GPU,
    ROWS,
    Address,
    as_cupy,
    expect_values,
    on_device,
    read_target,
    side_stream,
    synchronize,
    wait_until,
)
from testing.peers.arrays import DeviceOnly, Producer, column_from

pytestmark = GPU

ARRAYS = {
    "int": pa.array([1, None, 3] * 100),
    "bool": pa.array([True, None, False] * 100),
    "string": pa.array(["a", None, "ccc"] * 100),
    "list": pa.array([[1], None, [2, 3]] * 100),
    "struct": pa.array([{"0": 1, "1": "x"}, None] * 100),
}


def threads():
    return len(os.listdir("/proc/self/task"))


class Reusing:
    """A producer whose release overwrites the memory at once, like a producer that reuses it."""

    def __init__(self, late, exported):
        self._target = Address(exported.buffers()[-1].address)
        self._stream = side_stream()
        self._late = late
        self._garbage = read_target()
        self.producer = Producer(exported)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._reuse)

    def __enter__(self):
        self._thread.start()
        return self.producer

    def __exit__(self, *exc):
        self._done.set()
        self._thread.join()
        self._stream.synchronize()

    def _reuse(self):
        while not self.producer.releases and not self._done.wait(0.0005):
            pass
        if self.producer.releases:
            self._late.copy(self._garbage, as_cupy(self._target), self._stream, cycles=0)


def values_of(late):
    """A column of the values that `late` reads, on the default stream."""
    import cupy

    column = late.column(cupy.cuda.Stream.null)
    synchronize()
    return column


def test_a_release_waits_for_the_reader(late):
    """libcudf 26.10 releases at once, even if a kernel is still reading."""
    source = values_of(late)
    reader, found = side_stream(), read_target()
    with Reusing(late, cab.to_arrow_device(source)) as producer:
        column = column_from(producer, stream=reader)
        late.copy(as_cupy(Address(column.data().ptr)), found, reader)
        del column
        assert producer.releases == 0
        assert not reader.done
        reader.synchronize()
        assert wait_until(lambda: producer.releases == 1)
    assert found.get().tolist() == list(range(ROWS))
    assert as_cupy(source.data())[0] == -1  # the memory was indeed overwritten, but later


@pytest.mark.parametrize("copy", [None, True])
def test_columns_in_a_cycle_with_their_stream_are_freed(copy):
    """The garbage collector calls finalizers, such as that of cupy's stream, before it frees."""
    exported = cab.to_arrow_device(on_device(ARRAYS["list"]))
    producers = [Producer(exported) for _ in range(20)]
    for producer in producers:
        stream = side_stream()
        cycle = [column_from(producer, stream=stream, copy=copy), stream]
        cycle.append(cycle)
        del stream, cycle
        gc.collect()
    assert wait_until(lambda: all(producer.releases == 1 for producer in producers))


def test_copied_columns_are_freed_in_stream_order_without_a_wait(late, counted):
    source, stream, found = values_of(late), side_stream(), read_target()
    held = counted.allocation_counts.current_bytes
    column = column_from(cab.to_arrow_device(source), stream=stream, copy=True)
    late.copy(as_cupy(Address(column.data().ptr)), found, stream)
    del column
    in_use = counted.allocation_counts.current_bytes
    assert not stream.done
    assert in_use == held
    expect_values(found, stream)


@pytest.mark.parametrize("name", ARRAYS)
def test_thousands_of_round_trips_leak_no_memory_or_threads(name, counted):
    def in_use():
        return counted.allocation_counts.current_bytes

    def trip(times):
        for _ in range(times):
            exported = cab.to_arrow_device(source)
            column_from(DeviceOnly(exported), stream=stream)
        del exported
        synchronize()
        gc.collect()

    source, stream = on_device(ARRAYS[name]), side_stream()
    held = in_use()
    trip(100)
    assert wait_until(lambda: in_use() == held)
    running = threads()
    trip(2000)
    assert wait_until(lambda: in_use() == held)
    # We start a thread for each stream, and other libraries start a few. No trip starts a thread.
    assert threads() < running + 100
