# SPDX-License-Identifier: Apache-2.0
"""C producers of asynchronous streams: threads, errors, cancellation and broken rules.

Each test ends without a hang, and the consumer releases each array once. The tests in
csrc/tests/async cover the protocol and its violations; these cover Python exceptions, the GIL and
event loops.
"""

from __future__ import annotations

import asyncio
import errno
import threading
import time

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.async_streams import consume, has_code, sent
from testing.peers.producers import BATCH, Producer

ROWS = BATCH.num_rows


def run(coroutine):
    asyncio.run(asyncio.wait_for(coroutine, 60))


@pytest.mark.parametrize("here", [True, False])
def test_all_batches_of_a_correct_producer_arrive(here):
    def script(p):
        p.on_schema()
        for _ in range(3):
            p.on_next_task()
        p.end()
        p.release()

    found, error, producer = consume(script, here=here)
    assert (found, error) == ([ROWS] * 3, None)
    assert producer.codes == [0] * 5
    assert producer.num_cancels == 0


def test_producer_is_called_on_another_thread_than_the_loops():
    callers = []

    def script(p):
        p.on_request = lambda: callers.append(threading.get_ident())
        sent(p, 5)
        p.end()
        p.release()

    _, error, producer = consume(script, prefetch=1)
    assert error is None
    assert len(callers) > 1
    assert threading.get_ident() not in {*callers, *(task.thread for task in producer.tasks)}


@pytest.mark.parametrize("limit", [None, 10])
def test_tasks_sent_from_within_request_arrive_once(limit):
    """The protocol forbids it, but nothing hangs, and no batch is lost or repeated."""
    count = 50

    def script(p):
        over, calling = threading.Event(), threading.RLock()

        def deliver():
            with calling:
                while p.num_wanted and not p.num_cancels and len(p.tasks) < count:
                    p.on_next_task()
                if len(p.tasks) == count and not over.is_set():
                    p.end()
                    over.set()

        p.on_request = deliver
        p.on_schema()
        p.wait_for(lambda: over.is_set() or p.num_cancels)
        p.release()

    found, error, producer = consume(script, limit, prefetch=1)
    assert (found, error) == ([ROWS] * (limit or count), None)
    assert producer.num_cancels == (limit is not None)


def test_thread_of_a_producer_ends_although_the_close_is_cancelled():
    before, extracting, gate = set(threading.enumerate()), threading.Event(), threading.Event()

    def block(struct):
        extracting.set()
        assert gate.wait(10)

    def script(p):
        p.on_schema()
        p.on_next_task(edit=block)
        p.wait_for(lambda: p.num_cancels)
        p.end()
        p.release()

    producer = Producer(script)

    async def main():
        reading = asyncio.ensure_future(anext(cab.from_arrow_device_async(producer)))
        await asyncio.to_thread(extracting.wait, 10)
        for _ in range(2):  # the second one cancels the close, which waits for the producer
            reading.cancel()
            await asyncio.sleep(0.01)
        gate.set()
        await asyncio.wait([reading])

    run(main())
    # The threads drop the array that nobody waits for.
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
    producer.check()


@pytest.mark.parametrize("passes_on", [False, True])
def test_exception_of_the_producer_function_is_raised(passes_on):
    """The function may fail after it has passed the handler to a producer."""
    failed = threading.Event()

    def script(p):
        assert failed.wait(10)
        # The handler still exists.
        assert p.on_schema() != 0
        p.on_next_task()
        p.end()
        p.release()

    producer = Producer(script)

    def produce(handler):
        if passes_on:
            producer(handler)
        raise KeyError("the plan")

    async def main():
        with pytest.raises(KeyError, match="the plan"):
            await anext(cab.from_arrow_device_async(produce))
        failed.set()

    run(main())
    if passes_on:
        producer.check()


def test_stop_iteration_of_the_producer_function_does_not_end_the_stream():
    def produce(handler):
        next(iter(()))

    async def main():
        with pytest.raises(RuntimeError, match="StopIteration"):
            await anext(cab.from_arrow_device_async(produce))

    run(main())


def test_stream_of_a_producer_that_never_calls_can_be_closed():
    address = []

    async def main():
        stream = cab.from_arrow_device_async(address.append)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(stream)
        await stream.aclose()

    run(main())
    # The producer may still call, much later.
    late = Producer(lambda p: (p.on_schema(), p.on_next_task(), p.end(), p.release()), here=True)
    late(address[0])
    late.check()
    assert late.codes[0] == errno.ECANCELED


def set_field(name, value):
    return lambda device: setattr(device.array, name, value)


EDITS = {
    "a negative length": set_field("length", -1),
    "no columns": set_field("children", None),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_array_that_contradicts_its_stream_is_an_error(edit, monkeypatch):
    call_soon = asyncio.BaseEventLoop.call_soon_threadsafe

    def late(*arguments):
        call_soon(*arguments)
        time.sleep(0.2)

    # The thread that has read the array must not keep it.
    monkeypatch.setattr(asyncio.BaseEventLoop, "call_soon_threadsafe", late)

    def script(p):
        sent(p, 2)
        p.wait_for_request()
        p.on_next_task(edit=edit)
        p.wait_for(lambda: p.num_cancels)
        p.end()
        p.release()

    found, error, producer = consume(script)
    assert found == [ROWS] * 2
    assert isinstance(error, ValueError) or has_code(error, errno.EPROTO), repr(error)
    assert producer.num_cancels == 1


def unknown_format(struct):
    struct.format = b"?!"


INTERVALS = pa.schema({"a": pa.month_day_nano_interval()})


@pytest.mark.parametrize(
    ("schema", "edit"), [(INTERVALS, None), (BATCH.schema, unknown_format)], ids=["type", "format"]
)
def test_schema_that_cudf_does_not_support_is_an_error(schema, edit):
    def script(p):
        p.on_schema(schema, edit=edit)
        p.on_next_task(pa.record_batch([pa.nulls(1, type_) for type_ in schema.types], schema))
        p.wait_for(lambda: p.num_cancels)
        p.release()

    found, error, producer = consume(script)
    assert found == []
    assert isinstance(error, (TypeError, ValueError)), repr(error)
    assert producer.num_cancels == 1


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOMEM, errno.ENOSYS, errno.EIO, 999])
@pytest.mark.parametrize("is_reported", [True, False])
def test_error_of_extract_data_is_raised(code, is_reported):
    """The producer should then call `on_error`; this tests both cases."""

    def script(p):
        sent(p, 2)
        p.wait_for_request()
        p.on_next_task(code=code)
        p.wait_for(lambda: p.tasks[-1].num_extracted)
        if is_reported:
            p.on_error(code, b"the disk is gone")
        p.release()

    found, error, _ = consume(script)
    assert found == [ROWS] * 2
    assert has_code(error, code)


@pytest.mark.parametrize("count", [None, 2])
def test_errors_arrive_with_code_message_and_metadata(count):
    """The error may also come before `on_schema`."""
    metadata = {b"query": b"7", b"\xff": b""}

    def script(p):
        if count is not None:
            sent(p, count)
        p.on_error(errno.ENOLINK, "größer".encode(), metadata)
        p.release()

    found, error, _ = consume(script)
    assert found == [ROWS] * (count or 0)
    assert has_code(error, errno.ENOLINK)
    assert "größer" in str(error)
    assert error.metadata == metadata
