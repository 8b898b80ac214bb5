# SPDX-License-Identifier: Apache-2.0
"""Sources of asynchronous streams: the order of batches, prefetching, errors and closing."""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc
import weakref
from contextlib import aclosing, suppress

import cudf
import nanoarrow
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge.arrow import sources
from testing.host import to_arrow
from testing.peers.sources import SCHEMA, batch, batches, later, reader, table
from testing.peers.streams import DeviceStreamOnly, StreamOnly


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 30))


def frames(count):
    return (bridge.from_arrow_device(each) for each in batches(count))


def arrays(count):
    return map(bridge.to_arrow_device, frames(count))


def datafusion_frame(count):
    return pytest.importorskip("datafusion").SessionContext().create_dataframe([batches(count)])


SOURCES = {
    "async generator of batches": lambda n: later(batches(n)),
    "async generator of frames": lambda n: later(frames(n)),
    "async generator of DeviceArrays": lambda n: later(arrays(n)),
    "datafusion": datafusion_frame,
    "list of batches": batches,
    "generator of frames": frames,
    "iterator of DeviceArrays": arrays,
    "table": table,
    "reader": reader,
    "host stream": lambda n: StreamOnly(reader(n)),
    "device stream": lambda n: DeviceStreamOnly(bridge.to_arrow_device_stream(batches(n))),
    "nanoarrow": lambda n: nanoarrow.c_array_stream(reader(n)),
    "our stream": lambda n: bridge.to_arrow_device_stream(frames(n)),
}
#: Each source is imported directly and through `to_arrow_device_async`.
WAYS = {
    "as it is": lambda source: source,
    "as an asynchronous stream": bridge.to_arrow_device_async,
}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request):
    return request.param


@pytest.mark.parametrize("prefetch", [1, 3, 50])
@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_all_batches_arrive_in_order(make, way, prefetch):
    async def main():
        source = bridge.from_arrow_device_async(way(make(9)), prefetch=prefetch, to="pylibcudf")
        return [frame async for frame in source]

    found = run(main())
    read = [pa.record_batch(list(map(to_arrow, f.columns(), SCHEMA.types)), SCHEMA) for f in found]
    # datafusion may join small batches.
    assert pa.Table.from_batches(read).equals(table(9))
    if make is not datafusion_frame:
        assert read == batches(9)


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_arrays_are_exported_one_by_one(make):
    async def main():
        return [pa.record_batch(each) async for each in bridge.to_arrow_device_async(make(5))]

    found = run(main())
    assert pa.Table.from_batches(found).equals(table(5))


def test_list_can_be_imported_again_and_generator_only_once():
    stream = bridge.to_arrow_device_async(batches(3))
    once = bridge.to_arrow_device_async(frames(3))

    async def count(source):
        return len([each async for each in bridge.from_arrow_device_async(source)])

    assert [run(count(stream)) for _ in range(3)] == [3, 3, 3]
    assert run(count(once)) == 3
    with pytest.raises(ValueError, match="once"):
        run(count(once))


@pytest.mark.parametrize("is_async", [True, False])
def test_pending_batch_does_not_block_the_event_loop(is_async, way):
    """The source waits for a task that runs only while the loop is free."""
    goal = 50
    ticks, enough, in_loop = 0, threading.Event(), asyncio.Event()

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1
            if ticks % goal == 0:
                enough.set()
                in_loop.set()

    async def slow():
        for each in batches(3):
            in_loop.clear()
            await in_loop.wait()
            yield each

    def blocking():
        for each in batches(3):
            enough.clear()
            assert enough.wait(10), "the loop stands still"
            yield each

    async def main():
        ticking = asyncio.create_task(tick())
        stream = bridge.from_arrow_device_async(way(slow() if is_async else blocking()))
        found = [len(frame) async for frame in stream]
        ticking.cancel()
        return found

    assert run(main()) == [3, 3, 3]
    assert ticks >= 3 * goal


class Watched:
    """A synchronous or asynchronous source that counts how often it is read and closed."""

    def __init__(self, count, failure=None):
        self.asked = self.taken = self.num_closed = self.most_ahead = 0
        self._count, self._failure = count, failure
        self.made = weakref.WeakSet()

    def __call__(self):
        self.asked += 1
        self.most_ahead = max(self.most_ahead, self.asked - self.taken)
        if self.asked > self._count:
            if self._failure is not None:
                raise self._failure
            return None
        made = bridge.to_arrow_device(batch(self.asked))
        self.made.add(made)
        return made

    def close(self):
        self.num_closed += 1

    def plain(self):
        try:
            while (each := self()) is not None:
                yield each
                del each
        finally:
            self.close()

    async def awaited(self):
        try:
            while (each := self()) is not None:
                yield each
                del each
                await asyncio.sleep(0)
        finally:
            self.close()

    def source(self, is_async):
        return self.awaited() if is_async else self.plain()


@pytest.fixture(params=[True, False], ids=["async", "plain"])
def is_async(request):
    return request.param


async def settle(condition):
    """Run other tasks until a condition is true, and then a little longer."""
    for _ in range(1000):
        if condition():
            break
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.002)


@pytest.mark.parametrize("name", ["DataFrame", "Series"])
def test_export_works_while_another_thread_imports_cudf(monkeypatch, name):
    """The thread of the loop imports cuDF for the first frame while arrays are made ahead."""
    monkeypatch.delattr(cudf, name)
    assert len(bridge.to_arrow_device(batch(1))) == 3
    assert sources.open_array(batch(1)).kind == "table"


@pytest.mark.parametrize("prefetch", [1, 2, 5])
def test_at_most_prefetch_batches_are_made_ahead(is_async, way, prefetch):
    watched = Watched(30)

    async def main():
        stream = bridge.from_arrow_device_async(way(watched.source(is_async)), prefetch=prefetch)
        async for _ in stream:
            watched.taken += 1
            await settle(lambda: watched.asked >= min(watched.taken + prefetch, 31))
            assert watched.asked == min(watched.taken + prefetch, 31)

    run(main())
    assert watched.taken == 30
    # The batch that is being passed to the consumer adds one.
    assert watched.most_ahead <= prefetch + 1
    assert watched.num_closed == 1


def test_source_is_not_read_before_the_first_batch_is_requested(is_async, way):
    watched = Watched(3)

    async def main():
        stream = bridge.from_arrow_device_async(way(watched.source(is_async)))
        await asyncio.sleep(0.01)
        await stream.aclose()

    run(main())
    assert watched.asked == 0


def test_close_releases_arrays_that_are_made_ahead_without_garbage_collection(is_async, way):
    watched = Watched(100)

    async def main():
        frames = bridge.from_arrow_device_async(way(watched.source(is_async)), prefetch=3)
        await anext(frames)
        await settle(lambda: watched.asked == 4)
        await frames.aclose()
        await settle(lambda: watched.num_closed)
        assert not watched.made

    gc.disable()
    try:
        run(main())
    finally:
        gc.enable()


@pytest.mark.parametrize("prefetch", [1, 3])
def test_close_ends_although_the_source_suppresses_its_cancellation(prefetch):
    async def source():
        for each in batches(100):
            yield each
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1)

    async def main():
        frames = bridge.from_arrow_device_async(source(), prefetch=prefetch)
        await anext(frames)
        await asyncio.sleep(0)
        await frames.aclose()

    asyncio.run(asyncio.wait_for(main(), 10))


class Stop(Exception):  # noqa: N818 -- a signal, as in asyncio
    pass


@pytest.mark.parametrize("leaving", ["aclose", "exception", "cancel"])
@pytest.mark.parametrize("after", [1, 4])
def test_early_exit_of_the_consumer_closes_the_source_once(is_async, way, leaving, after):
    watched = Watched(100)

    async def read():
        async with aclosing(
            bridge.from_arrow_device_async(way(watched.source(is_async)), prefetch=3)
        ) as stream:
            async for _ in stream:
                watched.taken += 1
                if watched.taken == after:
                    if leaving == "exception":
                        raise Stop
                    if leaving == "cancel":
                        asyncio.current_task().cancel()
                        await asyncio.sleep(0)
                    break

    async def main():
        task = asyncio.create_task(read())
        await asyncio.wait([task])
        await settle(lambda: watched.num_closed)
        assert watched.num_closed == 1
        return task

    task = run(main())
    assert task.cancelled() == (leaving == "cancel")
    if leaving == "exception":
        assert isinstance(task.exception(), Stop)
    del task
    gc.collect()
    assert not watched.made


@pytest.mark.parametrize("position", [0, 1, 7])
def test_exception_of_the_source_is_raised_unchanged(is_async, way, position):
    failure = Stop("here")
    watched = Watched(position, failure)

    async def main():
        stream = bridge.from_arrow_device_async(way(watched.source(is_async)))
        for _ in range(position):
            assert len(await anext(stream)) == 3
        with pytest.raises(Stop) as caught:
            await anext(stream)
        assert caught.value is failure
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    run(main())
    failure.__traceback__ = None
    gc.collect()
    assert watched.num_closed == 1
    assert not watched.made


def test_timeout_closes_the_source(way):
    watched = Watched(0)

    async def never():
        try:
            yield batch(1)
            await asyncio.Event().wait()
        finally:
            watched.close()

    async def main():
        stream = bridge.from_arrow_device_async(way(never()))
        assert len(await anext(stream)) == 3
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await anext(stream)
        assert watched.num_closed == 1
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    run(main())


def test_many_streams_run_concurrently(is_async, way):
    async def count(size):
        watched = Watched(size)
        stream = bridge.from_arrow_device_async(way(watched.source(is_async)), prefetch=2)
        return len([frame async for frame in stream])

    async def main():
        return await asyncio.gather(*map(count, range(1, 41)))

    assert run(main()) == list(range(1, 41))


def test_streams_that_depend_on_each_other_end():
    """All of these wait in their source at the same time, but for the last."""
    ended = [threading.Event() for _ in range(31)]

    def source(number):
        if number < 30:
            assert ended[number + 1].wait(20)
        yield batch(number)
        ended[number].set()

    async def read(number):
        return [len(frame) async for frame in bridge.from_arrow_device_async(source(number))]

    async def main():
        return await asyncio.gather(*map(read, range(31)))

    assert run(main()) == [[batch(number).num_rows] for number in range(31)]


@pytest.mark.exhaustive
def test_memory_does_not_grow_with_the_number_of_batches(is_async):
    count, warm = 10_000, 2_000
    small = bridge.to_arrow_device(batch(1))
    taken, traced = 0, []

    def plain():
        for _ in range(count):
            yield small

    async def main():
        nonlocal taken
        source = later(plain()) if is_async else plain()
        async for _ in bridge.from_arrow_device_async(source, to="pylibcudf"):
            taken += 1
            if taken in (warm, count):
                gc.collect()
                traced.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        asyncio.run(main())
    finally:
        tracemalloc.stop()
    assert taken == count
    assert traced[1] - traced[0] < 50_000


def test_cancelled_error_of_the_source_is_raised_to_the_consumer():
    async def cancelled():
        yield batch(1)
        raise asyncio.CancelledError

    async def main():
        stream = bridge.from_arrow_device_async(cancelled())
        assert len(await anext(stream)) == 3
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(anext(stream), 5)

    run(main())
