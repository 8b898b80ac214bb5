# SPDX-License-Identifier: Apache-2.0
"""`from_arrow_device_async`: the order of batches, batches made ahead, errors and closing."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from contextlib import aclosing, suppress

import cudf
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow import sources
from testing.async_streams import until
from testing.host import to_arrow
from testing.peers.sources import SCHEMA, batch, batches, later, reader, table
from testing.peers.streams import DeviceStreamOnly, StreamOnly


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 30))


def frames(count):
    return (cab.from_arrow_device(each) for each in batches(count))


def arrays(count):
    return map(cab.to_arrow_device, frames(count))


def datafusion_frame(count):
    return pytest.importorskip("datafusion").SessionContext().create_dataframe([batches(count)])


SOURCES = {
    "async generator of frames": lambda n: later(frames(n)),
    "async generator of DeviceArrays": lambda n: later(arrays(n)),
    "datafusion": datafusion_frame,
    "list of batches": batches,
    "generator of frames": frames,
    "table": table,
    "host stream": lambda n: StreamOnly(reader(n)),
    "device stream": lambda n: DeviceStreamOnly(cab.to_arrow_device_stream(batches(n))),
    "our stream": lambda n: cab.to_arrow_device_stream(frames(n)),
}
#: Each source is imported directly and through `to_arrow_device_async`.
WAYS = {
    "as it is": lambda source: source,
    "as an asynchronous stream": cab.to_arrow_device_async,
}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request):
    return request.param


@pytest.mark.parametrize("prefetch", [1, 3])
@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_all_batches_arrive_in_order(make, way, prefetch):
    async def main():
        source = cab.from_arrow_device_async(way(make(9)), prefetch=prefetch, to="pylibcudf")
        return [frame async for frame in source]

    found = run(main())
    read = [pa.record_batch(list(map(to_arrow, f.columns(), SCHEMA.types)), SCHEMA) for f in found]
    # datafusion may join small batches.
    assert pa.Table.from_batches(read).equals(table(9))
    if make is not datafusion_frame:
        assert read == batches(9)


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
        stream = cab.from_arrow_device_async(way(slow() if is_async else blocking()))
        found = [len(frame) async for frame in stream]
        ticking.cancel()
        return found

    assert run(main()) == [3, 3, 3]
    assert ticks >= 3 * goal


@pytest.mark.parametrize("name", ["DataFrame", "Series"])
def test_export_works_while_another_thread_imports_cudf(monkeypatch, name):
    """The thread of the loop imports cuDF for the first frame while arrays are made ahead."""
    monkeypatch.delattr(cudf, name)
    assert len(cab.to_arrow_device(batch(1))) == 3
    assert sources.open_array(batch(1)).kind == "table"


class Watched:
    """A synchronous or asynchronous source that counts how often it is read and closed."""

    def __init__(self, count, failure=None):
        self.num_read = self.num_closed = 0
        self._count, self._failure = count, failure
        self.alive = weakref.WeakSet()

    def _next(self):
        self.num_read += 1
        if self.num_read > self._count:
            if self._failure is not None:
                raise self._failure
            return None
        made = cab.to_arrow_device(batch(self.num_read))
        self.alive.add(made)
        return made

    def plain(self):
        try:
            while (each := self._next()) is not None:
                yield each
                del each
        finally:
            self.num_closed += 1

    async def awaited(self):
        try:
            while (each := self._next()) is not None:
                yield each
                del each
                await asyncio.sleep(0)
        finally:
            self.num_closed += 1

    def source(self, is_async):
        return self.awaited() if is_async else self.plain()


@pytest.fixture(params=[True, False], ids=["async", "plain"])
def is_async(request):
    return request.param


@pytest.mark.parametrize("prefetch", [1, 3])
def test_at_most_prefetch_batches_are_made_ahead(is_async, way, prefetch):
    watched = Watched(30)

    async def main():
        num_taken = 0
        stream = cab.from_arrow_device_async(way(watched.source(is_async)), prefetch=prefetch)
        async for _ in stream:
            num_taken += 1
            expected = min(num_taken + prefetch, 31)
            await until(lambda: watched.num_read >= expected)  # noqa: B023
            assert watched.num_read == expected
            # The consumer has one array, and the source its last one.
            assert len(watched.alive) <= prefetch + 2
        return num_taken

    assert run(main()) == 30
    assert watched.num_closed == 1


@pytest.mark.parametrize("prefetch", [1, 4])
def test_at_most_prefetch_batches_of_a_waiting_consumer_are_made_ahead(prefetch):
    num_made = num_taken = most_ahead = 0

    async def paused():
        nonlocal num_made, most_ahead
        for each in batches(30):
            # The consumer waits here.
            if num_made % 10 == 5:
                await asyncio.sleep(0.01)
            num_made += 1
            most_ahead = max(most_ahead, num_made - num_taken)
            yield each

    async def main():
        nonlocal num_taken
        async for _ in cab.from_arrow_device_async(paused(), prefetch=prefetch, to="pylibcudf"):
            num_taken += 1

    run(main())
    assert most_ahead == prefetch


def test_source_is_not_read_before_the_first_batch_is_requested(is_async, way):
    watched = Watched(3)

    async def main():
        stream = cab.from_arrow_device_async(way(watched.source(is_async)))
        await asyncio.sleep(0.01)
        await stream.aclose()

    run(main())
    assert watched.num_read == 0


def test_close_releases_arrays_that_are_made_ahead_without_garbage_collection(is_async, way):
    watched = Watched(100)

    async def main():
        stream = cab.from_arrow_device_async(way(watched.source(is_async)), prefetch=3)
        await anext(stream)
        await until(lambda: watched.num_read == 4)
        await stream.aclose()
        await until(lambda: watched.num_closed)
        assert not watched.alive

    gc.disable()
    try:
        run(main())
    finally:
        gc.enable()


def test_close_ends_although_the_source_suppresses_its_cancellation():
    async def source():
        for each in batches(100):
            yield each
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1)

    async def main():
        stream = cab.from_arrow_device_async(source(), prefetch=3)
        await anext(stream)
        await asyncio.sleep(0)
        await stream.aclose()

    asyncio.run(asyncio.wait_for(main(), 30))


def test_close_ends_although_the_source_handles_its_own_timeout():
    is_timed_out = asyncio.Event()

    async def polling():
        yield batch(1)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    try:
                        await asyncio.Event().wait()
                    finally:
                        is_timed_out.set()
                        await asyncio.sleep(0.1)

    async def main():
        stream = cab.from_arrow_device_async(polling())
        await anext(stream)
        await is_timed_out.wait()
        await stream.aclose()

    run(main())


class Stop(Exception):  # noqa: N818 -- a signal, as in asyncio
    pass


@pytest.mark.parametrize("leaving", ["aclose", "exception", "cancel"])
def test_early_exit_of_the_consumer_closes_the_source_once(is_async, way, leaving):
    watched = Watched(100)

    async def read():
        async with aclosing(
            cab.from_arrow_device_async(way(watched.source(is_async)), prefetch=3)
        ) as stream:
            for _ in range(2):
                await anext(stream)
            if leaving == "exception":
                raise Stop
            if leaving == "cancel":
                asyncio.current_task().cancel()
                await asyncio.sleep(0)

    async def main():
        task = asyncio.create_task(read())
        await asyncio.wait([task])
        await until(lambda: watched.num_closed)
        assert watched.num_closed == 1
        return task

    task = run(main())
    assert task.cancelled() == (leaving == "cancel")
    if leaving == "exception":
        assert isinstance(task.exception(), Stop)
    del task
    gc.collect()
    assert not watched.alive


@pytest.mark.parametrize("kind", [Stop, SystemExit])
@pytest.mark.parametrize("position", [0, 2])
def test_exception_of_the_source_is_raised_unchanged(is_async, way, position, kind):
    failure = kind("here")
    watched = Watched(position, failure)

    async def main():
        stream = cab.from_arrow_device_async(way(watched.source(is_async)))
        for _ in range(position):
            assert len(await anext(stream)) == 3
        with pytest.raises(kind) as caught:
            await anext(stream)
        assert caught.value is failure
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    run(main())
    failure.__traceback__ = None
    gc.collect()
    assert watched.num_closed == 1
    assert not watched.alive


@pytest.mark.parametrize("kind", [Stop, SystemExit, asyncio.CancelledError])
def test_exception_of_closing_the_source_is_raised_to_the_consumer(kind):
    failure = kind("here")

    async def fails():
        try:
            for each in batches(100):
                yield each
        finally:
            raise failure

    async def main():
        stream = cab.from_arrow_device_async(fails())
        await anext(stream)
        with pytest.raises(kind) as caught:
            await stream.aclose()
        assert caught.value is failure

    asyncio.run(main())


def test_source_is_closed_in_the_task_that_reads_it():
    tasks = []

    async def recorded():
        try:
            for each in batches(9):
                tasks.append(asyncio.current_task())
                yield each
        finally:
            tasks.append(asyncio.current_task())

    async def main():
        async with aclosing(cab.from_arrow_device_async(recorded())) as stream:
            await anext(stream)

    run(main())
    assert len(tasks) > 1
    assert len(set(tasks)) == 1


def test_timeout_closes_the_source(way):
    closed = []

    async def never():
        try:
            yield batch(1)
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    async def main():
        stream = cab.from_arrow_device_async(way(never()))
        assert len(await anext(stream)) == 3
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await anext(stream)
        assert closed == [True]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    run(main())


def test_cancelled_error_of_the_source_is_raised_to_the_consumer():
    async def cancelled():
        yield batch(1)
        raise asyncio.CancelledError

    async def main():
        stream = cab.from_arrow_device_async(cancelled())
        assert len(await anext(stream)) == 3
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(anext(stream), 5)

    run(main())


WRONG_CALLS = {
    "prefetch below 1": (ValueError, "prefetch: .* got 0", [], {"prefetch": 0}),
    "prefetch as a bool": (TypeError, "prefetch: .* got True", [], {"prefetch": True}),
    "unknown result": (ValueError, "to: .* got 'numpy'", [], {"to": "numpy"}),
    "unknown kind": (ValueError, "kind: .* got 'frame'", [], {"kind": "frame"}),
    "path": (TypeError, "type str", "file.parquet", {}),
    "dict": (TypeError, "type dict", {"a": [1]}, {}),
    "class": (TypeError, "the class Table", pa.Table, {}),
    "number": (TypeError, "type int", 5, {}),
}


@pytest.mark.parametrize(
    ("kind", "message", "source", "options"), WRONG_CALLS.values(), ids=WRONG_CALLS
)
def test_wrong_argument_is_rejected_at_once(kind, message, source, options):
    with pytest.raises(kind, match=message):
        cab.from_arrow_device_async(source, **options)


def structs():
    return pa.chunked_array([[{"a": 1, "b": "x"}], [{"a": 2, "b": None}, None]])


@pytest.mark.parametrize(
    "source",
    [structs, lambda: later(map(cab.from_arrow_device, structs().chunks))],
    ids=["chunked array", "async series"],
)
def test_columns_of_structs_become_series(source):
    async def main():
        return [each async for each in cab.from_arrow_device_async(source())]

    found = run(main())
    assert [(type(each), len(each)) for each in found] == [(cudf.Series, 1), (cudf.Series, 2)]


def test_stream_is_claimed_by_the_import_that_starts_first():
    stream = cab.to_arrow_device_stream(frames(3))

    async def main():
        imports = [cab.from_arrow_device_async(stream) for _ in range(2)]
        return await asyncio.gather(*map(anext, imports), return_exceptions=True)

    first, second = run(main())
    assert len(first) == len(batch(0))
    assert isinstance(second, ValueError)


def test_release_of_a_stream_does_not_end_imports_that_have_started():
    stream = cab.to_arrow_device_stream(frames(3))

    async def main():
        imported = cab.from_arrow_device_async(stream)
        reading = asyncio.ensure_future(anext(imported))
        await asyncio.sleep(0)
        stream.release()
        return [len(await reading), *[len(each) async for each in imported]]

    assert run(main()) == list(map(len, batches(3)))


def test_range_index_is_not_converted_if_copies_are_refused():
    async def take():
        async for _ in cab.from_arrow_device_async(later([cudf.RangeIndex(3)]), copy=False):
            pass

    with pytest.raises(ValueError, match="copy=False"):
        run(take())
