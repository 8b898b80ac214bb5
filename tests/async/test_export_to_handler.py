# SPDX-License-Identifier: Apache-2.0
"""`export_to` calls a consumer in C: order, threads, errors, cancellation and memory.

The tests in csrc/tests/async cover the protocol; these cover sources in Python and event loops.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import threading
from contextlib import suppress

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import wait_until
from testing.peers.handlers import CPU, ArrowAsyncDeviceStreamHandler, Handler
from testing.peers.sources import SCHEMA, batches, later, table


def plain(count, failure=None):
    yield from batches(count)
    if failure is not None:
        raise failure


def awaited(count, failure=None):
    return later(plain(count, failure))


@pytest.fixture(params=[awaited, plain], ids=["async", "plain"])
def source(request):
    return request.param


def feed(source, *handlers, use=None):
    """Export to handlers in an event loop, and wait until all are released."""

    async def main():
        stream = cab.to_arrow_device_async(source)
        for handler in handlers:
            stream.export_to(handler.address)
        while not all(handler.released.is_set() for handler in handlers):
            if use is not None:
                use(handlers[0])
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), 30))
    for handler in handlers:
        handler.wait()


@pytest.mark.parametrize("prefetch", [1, 3])
def test_callbacks_are_called_in_order(source, prefetch):
    handler = Handler(prefetch)
    feed(source(10), handler)
    assert handler.names == ["on_schema", *["on_next_task"] * 10, "on_end", "release"]
    assert handler.batches == batches(10)
    assert handler.device_type == CPU
    assert handler.stream_metadata == {}


def test_stream_of_a_list_feeds_many_handlers():
    handlers = [Handler(prefetch) for prefetch in range(1, 20)]
    feed(batches(10), *handlers)
    for handler in handlers:
        assert handler.table.equals(table(10))


def test_synchronous_source_is_exported_without_an_event_loop():
    handler = Handler()
    cab.to_arrow_device_async(plain(5)).export_to(handler.address)
    assert handler.wait().table.equals(table(5))
    assert threading.get_ident() not in {thread for _, thread in handler.calls}


def test_async_source_is_read_on_the_thread_of_its_loop():
    threads = set()

    async def recorded():
        for each in batches(5):
            threads.add(threading.get_ident())
            yield each

    feed(recorded(), Handler())
    assert threads == {threading.get_ident()}


def test_async_source_without_a_loop_is_rejected_and_can_be_exported_later():
    handler = Handler()
    stream = cab.to_arrow_device_async(awaited(5))
    with pytest.raises(RuntimeError, match="loop"):
        stream.export_to(handler.address)
    # The caller still owns the handler.
    assert not handler.calls
    handler.drop()
    assert repr(stream) == "<AsyncDeviceArrayStream, open>"


def test_handler_that_lacks_a_callback_is_rejected(source):
    handler = Handler()
    ArrowAsyncDeviceStreamHandler.from_address(handler.address).on_error = None

    async def main():
        with pytest.raises(ValueError, match="callback"):
            cab.to_arrow_device_async(source(3)).export_to(handler.address)

    asyncio.run(main())
    assert not handler.calls
    handler.drop()


def test_batches_are_not_made_before_they_are_requested(source):
    made = []

    def counted():
        for each in batches(10):
            made.append(each)
            yield each

    def use(handler):
        if handler.schema is None:
            return
        assert len(made) <= handler.requested + 1
        if handler.num_tasks == handler.requested:
            handler.request(1 + handler.num_tasks % 3)

    handler = Handler(prefetch=0)
    feed(later(counted()) if source is awaited else counted(), handler, use=use)
    assert handler.table.equals(table(10))
    assert len(made) == 10


def test_cancel_from_within_on_next_task_ends_without_an_error(source):
    handler = Handler(prefetch=2, cancel_after=3)
    feed(source(1000), handler)
    assert handler.error is None
    assert handler.names[-1] == "release"
    # Tasks that were requested may still arrive.
    assert 3 <= handler.num_tasks <= 5
    assert handler.batches == batches(handler.num_tasks)


def test_cancel_from_another_thread_ends_a_pending_source():
    closed = []

    async def never():
        try:
            for each in batches(2):
                yield each
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    def use(handler):
        if handler.num_tasks == 2 and not closed:
            thread = threading.Thread(target=handler.cancel)
            thread.start()
            thread.join()

    handler = Handler()
    feed(never(), handler, use=use)
    assert closed == [True]
    assert handler.error is None


def test_source_that_suppresses_its_cancellation_is_closed():
    closed = []

    async def stubborn():
        try:
            for each in batches(3):
                yield each
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
        finally:
            closed.append(True)

    handler = Handler()

    async def main():
        cab.to_arrow_device_async(stubborn()).export_to(handler.address)
        while not handler.num_tasks:
            await asyncio.sleep(0.001)
        handler.cancel()
        while not closed:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), 30))
    assert handler.wait().num_tasks == 1


def test_error_returned_by_on_schema_ends_the_stream(source):
    handler = Handler(refuse_schema=errno.EINVAL)
    feed(source(3), handler)
    assert handler.names == ["on_schema", "release"]


@pytest.mark.parametrize("number", [1, 2])
def test_error_returned_by_on_next_task_ends_the_stream(source, number):
    gc.collect()
    before = pa.total_allocated_bytes()
    handler = Handler(refuse_task=(number, errno.EIO))
    feed(source(10), handler)
    assert handler.names == ["on_schema", *["on_next_task"] * number, "release"]
    handler.batches.clear()
    gc.collect()
    # The refused task was not extracted, but its memory is freed. The thread that read the source
    # may release it after the handler.
    assert wait_until(lambda: pa.total_allocated_bytes() <= before)


@pytest.mark.parametrize("options", [{"refuse_task": (2, errno.EIO)}, {"cancel_after": 2}])
def test_async_source_can_await_while_it_is_closed(options):
    closed = []

    async def lingering():
        try:
            for each in batches(5):
                yield each
        finally:
            await asyncio.sleep(0.01)
            closed.append(True)

    handler = Handler(**options)

    async def main():
        cab.to_arrow_device_async(lingering()).export_to(handler.address)
        while not closed:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), 30))
    assert handler.wait().names[-1] == "release"


@pytest.mark.parametrize(
    ("failure", "code"),
    [(ValueError("größer"), errno.EINVAL), (OSError(errno.ENOLINK, "größer"), errno.ENOLINK)],
)
@pytest.mark.parametrize("position", [0, 3])
def test_exception_of_the_source_is_reported_to_on_error(source, failure, code, position):
    handler = Handler()
    feed(source(position, failure), handler)
    first = ["on_schema"] if position else []
    assert handler.names == [*first, *["on_next_task"] * position, "on_error", "release"]
    assert handler.error[0] == code
    assert "größer" in handler.error[1].decode()
    assert handler.error[2] == {}


def test_exit_of_the_source_ends_the_loop_and_is_reported_to_on_error():
    handler = Handler()
    with pytest.raises(SystemExit):
        feed(awaited(2, SystemExit(3)), handler)
    assert "SystemExit" in handler.wait().error[1].decode()


def test_exit_of_the_source_while_it_is_closed_ends_the_loop_once():
    is_ended = []

    async def exits():
        try:
            for each in batches(1000):
                yield each
        finally:
            raise SystemExit(3)

    async def other():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            is_ended.append(True)

    handler = Handler(cancel_after=2)

    async def main():
        task = asyncio.create_task(other())
        cab.to_arrow_device_async(exits()).export_to(handler.address)
        await asyncio.sleep(30)
        task.cancel()

    with pytest.raises(SystemExit):
        asyncio.run(main())
    assert is_ended == [True]
    assert handler.wait().names[-1] == "release"


def test_source_is_closed_in_the_task_that_reads_it():
    tasks = []

    async def recorded():
        try:
            for each in batches(3):
                tasks.append(asyncio.current_task())
                yield each
        finally:
            tasks.append(asyncio.current_task())

    feed(recorded(), Handler(cancel_after=2))
    assert len(tasks) > 2
    assert len(set(tasks)) == 1


@pytest.mark.parametrize("objects", [[], [*batches(2), pa.record_batch({"b": [1.0]})]])
def test_missing_or_different_schema_is_reported_to_on_error(source, objects):
    handler = Handler()
    feed(later(objects) if source is awaited else objects, handler)
    assert handler.error[0] == errno.EINVAL
    assert handler.batches == objects[:2]


def test_tasks_can_be_extracted_or_dropped_after_the_release(source):
    gc.collect()
    before = pa.total_allocated_bytes()
    handler = Handler(extract=False)
    feed(source(5), handler)
    gc.collect()
    found = [handler.take(number) for number in (3, 0, 0)]
    assert found == [(0, batches(5)[i]) for i in (3, 0, 1)]
    assert found[-1][1].schema == SCHEMA
    del found
    handler.drop()
    gc.collect()
    assert wait_until(lambda: pa.total_allocated_bytes() <= before)


async def never():
    yield batches(1)[0]
    await asyncio.Event().wait()


async def feed_one(handler):
    """Export until the handler has one batch."""
    cab.to_arrow_device_async(never()).export_to(handler.address)
    while handler.schema is None:
        await asyncio.sleep(0.001)
    if not handler.requested:
        handler.request(1)
    while not handler.num_tasks:
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("prefetch", [0, 4])
def test_end_of_the_event_loop_is_reported_to_on_error(prefetch):
    """The loop ends before the source: the handler gets an error and is released.

    With 0, all requests are served before.
    """
    handler = Handler(prefetch)
    asyncio.run(asyncio.wait_for(feed_one(handler), 30))
    assert handler.wait().error[0] == errno.ECANCELED


@pytest.mark.parametrize(
    ("prefetch", "call", "code"),
    [(0, lambda handler: handler.request(1), errno.ECANCELED), (4, Handler.cancel, None)],
    ids=["request", "cancel"],
)
def test_handler_is_released_after_its_loop_was_closed_with_a_pending_task(prefetch, call, code):
    handler = Handler(prefetch)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(asyncio.wait_for(feed_one(handler), 30))
    loop.close()
    call(handler)
    assert (handler.wait().error or [None])[0] == code
