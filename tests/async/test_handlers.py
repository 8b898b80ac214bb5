# SPDX-License-Identifier: Apache-2.0
"""`export_to` calls a consumer in C: the order, threads and arguments of the callbacks."""

from __future__ import annotations

import asyncio
import errno
import gc
import random
import threading

import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
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


def feed(source, *handlers, use=None, **options):
    """Export to handlers in an event loop, and wait until all are released."""

    async def main():
        stream = bridge.to_arrow_device_async(source, **options)
        for handler in handlers:
            stream.export_to(handler.address)
        while not all(handler.released.is_set() for handler in handlers):
            if use is not None:
                use(handlers[0])
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), 30))
    for handler in handlers:
        handler.wait()


@pytest.mark.parametrize("prefetch", [1, 3, 100])
@pytest.mark.parametrize("count", [1, 10])
def test_callbacks_are_called_in_order(source, count, prefetch):
    handler = Handler(prefetch)
    feed(source(count), handler)
    assert handler.names == ["on_schema", *["on_next_task"] * count, "on_end", "release"]
    assert handler.table.equals(table(count))
    assert handler.batches == batches(count)
    assert handler.device_type == CPU
    assert handler.stream_metadata == {}


def test_stream_of_a_list_feeds_many_handlers():
    handlers = [Handler(prefetch) for prefetch in range(1, 20)]
    feed(batches(10), *handlers)
    for handler in handlers:
        assert handler.table.equals(table(10))


def test_synchronous_source_is_exported_without_an_event_loop():
    handler = Handler()
    bridge.to_arrow_device_async(plain(5)).export_to(handler.address)
    assert handler.wait().table.equals(table(5))
    assert threading.get_ident() not in {thread for _, thread in handler.calls}


def test_async_source_calls_the_handler_on_the_thread_of_its_loop():
    handler = Handler()
    feed(awaited(5), handler)
    assert {thread for _, thread in handler.calls} == {threading.get_ident()}


def test_async_source_without_a_loop_is_rejected():
    handler = Handler()
    stream = bridge.to_arrow_device_async(awaited(5))
    with pytest.raises(RuntimeError, match="loop"):
        stream.export_to(handler.address)
    # The caller still owns the handler.
    assert not handler.calls
    handler.drop()


@pytest.mark.parametrize("callback", ["on_schema", "on_next_task", "on_error", "release"])
def test_handler_that_lacks_a_callback_is_rejected(source, callback):
    handler = Handler()
    setattr(ArrowAsyncDeviceStreamHandler.from_address(handler.address), callback, None)

    async def main():
        with pytest.raises(ValueError, match="callback"):
            bridge.to_arrow_device_async(source(3)).export_to(handler.address)

    asyncio.run(main())
    assert not handler.calls
    handler.drop()


def test_batches_are_not_made_before_they_are_requested(source):
    made = []

    def counted():
        for each in batches(10):
            made.append(each)
            yield each

    handler = Handler(prefetch=0)
    seen = []

    def use(handler):
        if handler.schema is None or len(made) > handler.num_tasks + 1:
            return
        seen.append(handler.num_tasks - handler.requested)
        if handler.num_tasks == handler.requested:
            handler.request(random.Random(handler.num_tasks).randrange(1, 4))

    feed(later(counted()) if source is awaited else counted(), handler, use=use)
    assert handler.table.equals(table(10))
    assert len(made) == 10


@pytest.mark.parametrize("after", [1, 3])
def test_cancel_from_within_on_next_task_ends_without_an_error(source, after):
    handler = Handler(prefetch=2, cancel_after=after)
    feed(source(1000), handler)
    assert handler.error is None
    assert handler.names[-1] == "release"
    # Tasks that were requested may still arrive.
    assert after <= handler.num_tasks <= after + 2


def test_a_cancel_from_another_thread_ends_a_pending_source():
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


def test_async_source_can_await_while_it_is_closed():
    closed = []

    async def lingering():
        try:
            for each in batches(5):
                yield each
        finally:
            await asyncio.sleep(0.01)
            closed.append(True)

    handler = Handler(refuse_task=(2, errno.EIO))

    async def main():
        bridge.to_arrow_device_async(lingering()).export_to(handler.address)
        while not closed:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), 5))
    assert handler.wait().names[-1] == "release"


ERRORS = [
    (ValueError("größer"), errno.EINVAL),
    (MemoryError("größer"), errno.ENOMEM),
    (NotImplementedError("größer"), errno.ENOSYS),
    (OSError(errno.ENOLINK, "größer"), errno.ENOLINK),
    (RuntimeError("größer"), errno.EIO),
]


@pytest.mark.parametrize(("failure", "code"), ERRORS, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("position", [0, 3])
def test_exception_of_the_source_is_reported_to_on_error(source, failure, code, position):
    handler = Handler()
    feed(source(position, failure), handler)
    first = ["on_schema"] if position else []
    assert handler.names == [*first, *["on_next_task"] * position, "on_error", "release"]
    assert handler.error[0] == code
    assert "größer" in handler.error[1].decode()
    assert handler.error[2] == {}


def test_batch_of_another_schema_is_reported_to_on_error(source):
    objects = [*batches(2), pa.record_batch({"b": [1.0]})]
    handler = Handler()
    feed(later(objects) if source is awaited else objects, handler)
    assert handler.error[0] == errno.EINVAL
    assert len(handler.batches) == 2


@pytest.mark.parametrize("count", [0, -3])
def test_request_for_less_than_one_task_is_reported_to_on_error(source, count):
    def use(handler):
        if handler.schema is not None and not handler.requested:
            handler.request(count)
            handler.requested += 1 - count

    handler = Handler(prefetch=0)
    feed(source(3), handler, use=use)
    assert handler.names == ["on_schema", "on_error", "release"]
    assert handler.error[0] == errno.EINVAL


def test_tasks_can_be_extracted_after_the_release(source):
    handler = Handler(extract=False)
    feed(source(5), handler)
    found = [handler.take(number) for number in (3, 0, 0, 1, 0)]
    assert [code for code, _ in found] == [0] * 5
    order = [3, 0, 1, 4, 2]
    assert [batch for _, batch in found] == [batches(5)[i] for i in order]


def test_dropped_tasks_free_their_memory(source):
    gc.collect()
    before = pa.total_allocated_bytes()
    handler = Handler(extract=False)
    feed(source(5), handler)
    handler.drop()
    gc.collect()
    assert wait_until(lambda: pa.total_allocated_bytes() <= before)


def test_arrays_outlive_their_stream(source):
    handler = Handler()
    feed(source(5), handler)
    last, expected = handler.batches[-1], batches(5)[-1]
    handler.batches.clear()
    gc.collect()
    last.validate(full=True)
    assert last.equals(expected)
    assert last.schema == SCHEMA


def test_end_of_the_event_loop_is_reported_to_on_error():
    """The loop ends before the source: the handler gets an error and is released."""
    handler = Handler()

    async def never():
        yield batches(1)[0]
        await asyncio.Event().wait()

    async def main():
        bridge.to_arrow_device_async(never()).export_to(handler.address)
        while not handler.num_tasks:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), 30))
    assert handler.wait().error[0] == errno.ECANCELED


def test_random_handlers_get_all_rows_or_the_first_rows(source):
    rng = random.Random(15)
    for _ in range(50):
        count, after = rng.randrange(1, 20), rng.choice([None, rng.randrange(1, 20)])
        handler = Handler(rng.randrange(1, 6), cancel_after=after)
        feed(source(count), handler)
        assert handler.error is None
        whole = table(count)
        assert handler.table.equals(whole[: handler.table.num_rows])
        if after is None or after > count:
            assert handler.table.num_rows == whole.num_rows
