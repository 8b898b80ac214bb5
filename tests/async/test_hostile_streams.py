# SPDX-License-Identifier: Apache-2.0
"""C producers that send invalid arrays or schemas, or call from other threads or callbacks."""

from __future__ import annotations

import asyncio
import errno
import threading

import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from testing.async_streams import consume, has_code, sent
from testing.peers.producers import BATCH, Producer

ROWS = BATCH.num_rows
UNKNOWN_FORMAT = b"?!"


def edited(edit):
    """Return a script that edits the struct of its third batch."""

    def script(p):
        sent(p, 2)
        p.wait_for_request()
        p.on_next_task(edit=edit)
        p.wait_for(lambda: p.num_cancels)
        p.end()
        p.release()

    return script


def set_field(name, value, of_array=True):
    return lambda device: setattr(device.array if of_array else device, name, value)


EDITS = {
    "more rows than the columns have": set_field("length", 1000),
    "a negative length": set_field("length", -1),
    "a negative offset": set_field("offset", -1),
    "one column is missing": set_field("n_children", 1),
    "no columns": set_field("children", None),
    "no buffers": set_field("n_buffers", 0),
    "another device": set_field("device_type", 2, of_array=False),
    "an unknown device": set_field("device_type", 99, of_array=False),
}


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_array_that_contradicts_its_stream_is_an_error(edit, to):
    found, error, producer = consume(edited(edit), to=to)
    assert found == [ROWS] * 2
    kinds = (ValueError, TypeError, NotImplementedError)
    assert isinstance(error, kinds) or has_code(error, errno.EPROTO), repr(error)
    assert producer.num_cancels == 1


def unknown_format(struct):
    struct.format = UNKNOWN_FORMAT


@pytest.mark.parametrize("here", [True, False])
def test_schema_with_an_unknown_format_is_an_error(here):
    def script(p):
        p.on_schema(edit=unknown_format)
        p.on_next_task()
        if not here:
            p.wait_for(lambda: p.num_cancels)
        p.end()
        p.release()

    found, error, _ = consume(script, here=here)
    assert found == []
    assert isinstance(error, (ValueError, TypeError)), repr(error)


def test_schema_with_a_type_that_cudf_lacks_is_an_error():
    unsupported = pa.schema({"a": pa.month_day_nano_interval()})

    def script(p):
        p.on_schema(unsupported)
        while p.wait_for_request():
            p.on_next_task(pa.record_batch([pa.nulls(1, unsupported.types[0])], unsupported))
        p.end()
        p.release()

    found, error, producer = consume(script)
    assert found == []
    assert isinstance(error, TypeError)
    assert "a" in str(error)
    assert producer.num_cancels == 1


def test_each_call_may_come_from_another_thread():
    threads = set()

    def elsewhere(call, *arguments):
        def run():
            threads.add(threading.get_ident())
            call(*arguments)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

    def script(p):
        elsewhere(p.on_schema)
        for _ in range(20):
            p.wait_for_request()
            elsewhere(p.on_next_task)
        elsewhere(p.end)
        elsewhere(p.release)

    found, error, _ = consume(script, prefetch=3)
    assert (found, error) == ([ROWS] * 20, None)


@pytest.mark.parametrize("limit", [None, 1, 10])
@pytest.mark.parametrize("prefetch", [1, 4])
def test_tasks_sent_from_within_request_arrive_once(prefetch, limit):
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

    found, error, producer = consume(script, limit, prefetch=prefetch)
    assert error is None
    assert found == [ROWS] * (limit or count)
    assert producer.num_cancels == (limit is not None)


def test_error_reported_from_within_cancel_is_ignored():
    def script(p):
        p.on_cancel = lambda: p.on_error(errno.ECANCELED, b"cancelled")
        sent(p)
        p.release()

    found, error, producer = consume(script, 2)
    assert (found, error) == ([ROWS] * 2, None)
    assert producer.num_cancels == 1


def test_producer_can_end_and_release_from_within_request():
    def script(p):
        over = threading.Event()

        def finish():
            if len(p.tasks) == 3 and not over.is_set():
                over.set()
                p.end()
                p.release()

        p.on_request = finish
        assert p.on_schema() == 0
        for _ in range(3):
            p.on_next_task()
        assert over.wait(10)

    found, error, _ = consume(script, prefetch=3)
    assert (found, error) == ([ROWS] * 3, None)


def test_exception_of_the_producer_function_is_raised():
    def produce(handler):
        raise LookupError("no such query")

    async def main():
        stream = bridge.from_arrow_device_async(produce)
        with pytest.raises(LookupError, match="no such query"):
            await anext(stream)
        await stream.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))


def test_producer_function_that_raises_after_on_error_is_an_error():
    """The bridge cannot know whether the function kept the handler: either error is raised."""

    def produce(handler):
        producer(handler)
        raise LookupError("late")

    def script(p):
        p.on_error(errno.EIO, b"first")
        p.release()

    producer = Producer(script, here=True)

    async def main():
        stream = bridge.from_arrow_device_async(produce)
        with pytest.raises((LookupError, OSError)):
            await anext(stream)
        await stream.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))
    producer.check()


def test_stream_of_a_producer_that_never_calls_can_be_closed():
    address = []

    async def main():
        stream = bridge.from_arrow_device_async(address.append)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(stream)
        await stream.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))
    # The producer may still call, much later.
    late = Producer(lambda p: (p.on_schema(), p.on_next_task(), p.end(), p.release()), here=True)
    late(address[0])
    late.check()
    assert late.codes[0] == errno.ECANCELED


def test_cancelled_wait_cancels_a_slow_producer():
    def script(p):
        sent(p, 1)
        p.wait_for(lambda: p.num_cancels)
        p.release()

    producer = Producer(script)

    async def main():
        stream = bridge.from_arrow_device_async(producer, prefetch=1)
        assert len(await anext(stream)) == ROWS
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await stream.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))
    producer.check()
    assert producer.num_cancels == 1


def test_error_codes_raise_the_exceptions_of_synchronous_streams():
    for code in (errno.EINVAL, errno.ENOMEM, errno.ENOSYS, errno.EIO, errno.EPROTO):

        def script(p, code=code):
            p.on_error(code, b"text")
            p.release()

        assert has_code(consume(script)[1], code)
