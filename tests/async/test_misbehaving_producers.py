# SPDX-License-Identifier: Apache-2.0
"""C producers that break the protocol: an error or the end, all arrays released, and no hang."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import threading

import pytest

import cudf_arrow_bridge as bridge
from testing.async_streams import consume, has_code, sent
from testing.peers.arrays import RELEASE
from testing.peers.producers import BATCH, Producer

ROWS = BATCH.num_rows
SENTENCE = b"the disk is gone"


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


AFTER_CANCEL = {
    "release": lambda p: None,
    "the end": Producer.end,
    "an error": lambda p: p.on_error(errno.ECANCELED, b"cancelled"),
    "an error, then the end": lambda p: (p.on_error(errno.EIO, b"no"), p.end()),
    "as many arrays as requested": lambda p: [p.on_next_task() for _ in range(p.num_wanted)],
    "more arrays than requested": lambda p: [p.on_next_task() for _ in range(p.num_wanted + 3)],
}


@pytest.mark.parametrize("taken", [1, 2, 7])
@pytest.mark.parametrize("answer", AFTER_CANCEL.values(), ids=AFTER_CANCEL)
def test_calls_after_a_cancel_are_not_an_error(answer, taken):
    def script(p):
        sent(p)
        answer(p)
        p.release()

    found, error, producer = consume(script, taken)
    assert (found, error) == ([ROWS] * taken, None)
    assert producer.num_cancels == 1


def released_schema(struct):
    RELEASE(struct.release)(ctypes.addressof(struct))


def without_producer(p):
    p.handler.producer = None
    return p.on_schema()


BAD_OPENINGS = {
    "NULL": lambda p: p.on_schema(None),
    "a released schema": lambda p: p.on_schema(edit=released_schema),
    "no producer": without_producer,
    "an end before the schema": Producer.end,
    "an array before the schema": Producer.on_next_task,
}
AFTER_FAILURE = {
    "release": lambda p: None,
    "on_error": lambda p: p.on_error(errno.EIO, SENTENCE),
    "the end": Producer.end,
    "an array": Producer.on_next_task,
}


@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize("answer", AFTER_FAILURE.values(), ids=AFTER_FAILURE)
@pytest.mark.parametrize("opening", BAD_OPENINGS.values(), ids=BAD_OPENINGS)
def test_invalid_first_call_is_an_error(opening, answer, here):
    def script(p):
        opening(p)
        answer(p)
        p.release()

    found, error, _ = consume(script, here=here)
    assert found == []
    assert has_code(error, errno.EPROTO)
    assert SENTENCE.decode() not in str(error)


@pytest.mark.parametrize("number", [1, 2, 5])
def test_a_released_array_is_an_error(number):
    def script(p):
        sent(p, number - 1)
        p.wait_for_request()
        p.on_next_task(None)
        p.wait_for(lambda: p.num_cancels)
        p.end()
        p.release()

    found, error, _ = consume(script)
    assert found == [ROWS] * (number - 1)
    assert has_code(error, errno.EIO)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOMEM, errno.EIO, 999])
@pytest.mark.parametrize("says", [True, False])
def test_error_of_extract_data_is_raised(code, says):
    """The producer should then call `on_error`; this tests both cases."""

    def script(p):
        sent(p, 2)
        p.wait_for_request()
        p.on_next_task(code=code)
        p.wait_for(lambda: p.tasks[-1].num_extracted)
        if says:
            p.on_error(code, SENTENCE)
        p.release()

    found, error, _ = consume(script)
    assert found == [ROWS] * 2
    assert has_code(error, code)


@pytest.mark.parametrize("prefetch", [1, 4])
def test_more_tasks_than_requested_are_an_error(prefetch):
    def script(p):
        p.on_schema()
        while not p.codes[-1]:
            p.on_next_task()
        p.release()

    found, error, producer = consume(script, prefetch=prefetch)
    assert has_code(error, errno.EPROTO)
    # The requested batches have arrived.
    assert len(found) == len(producer.tasks) - 1 == producer.requested


def test_a_task_without_extract_data_is_an_error():
    def script(p):
        sent(p, 2)
        p.wait_for_request()
        assert p.on_task_without_callback() == errno.EPROTO
        p.release()

    found, error, _ = consume(script)
    assert found == [ROWS] * 2
    assert has_code(error, errno.EPROTO)


def test_producer_that_fails_after_it_has_passed_the_handler_on():
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
        producer(handler)
        raise KeyError("the plan")

    async def main():
        with pytest.raises(KeyError, match="the plan"):
            await anext(bridge.from_arrow_device_async(produce))
        failed.set()

    asyncio.run(asyncio.wait_for(main(), 20))
    producer.check()


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
        reading = asyncio.ensure_future(anext(bridge.from_arrow_device_async(producer)))
        await asyncio.to_thread(extracting.wait, 10)
        for _ in range(2):  # the second one cancels the close, which waits for the producer
            reading.cancel()
            await asyncio.sleep(0.01)
        gate.set()
        await asyncio.wait([reading])

    asyncio.run(asyncio.wait_for(main(), 20))
    producer.check()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def test_calls_after_the_end_change_nothing():
    def script(p):
        sent(p, 2)
        p.end()
        p.on_error(errno.EIO, SENTENCE)
        p.end()
        p.on_schema()
        p.release()

    found, error, _ = consume(script)
    assert (found, error) == ([ROWS] * 2, None)


def test_an_array_after_the_end_is_an_error():
    def script(p):
        # The consumer cannot have seen the end yet.
        p.on_schema()
        p.on_next_task()
        p.on_next_task()
        p.end()
        p.on_next_task()
        p.release()
        taking.set()

    taking = threading.Event()
    producer = Producer(script)

    async def main():
        stream = bridge.from_arrow_device_async(producer)
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        # This blocks the loop until the producer has made all calls.
        assert taking.wait(10)
        assert len(await first) == len(await anext(stream)) == ROWS
        with pytest.raises(OSError, match="after the end") as caught:
            await anext(stream)
        assert caught.value.errno == errno.EPROTO

    asyncio.run(asyncio.wait_for(main(), 20))
    producer.check()


def test_calls_after_an_error_change_nothing():
    def script(p):
        sent(p, 2)
        p.on_error(errno.EIO, SENTENCE)
        p.on_next_task()
        p.end()
        p.on_error(errno.ENOMEM, b"another")
        p.on_schema()
        p.release()

    found, error, _ = consume(script)
    assert has_code(error, errno.EIO)
    assert SENTENCE.decode() in str(error)
    assert found == [ROWS] * 2


@pytest.mark.parametrize("count", [None, 0, 3])
def test_a_release_without_an_end_is_an_error(count):
    def script(p):
        if count is not None:
            sent(p, count)
        p.release()

    found, error, _ = consume(script)
    assert found == [ROWS] * (count or 0)
    assert has_code(error, errno.EPROTO)


MESSAGES = [
    pytest.param(None, os.strerror(errno.ENOLINK), id="NULL"),
    pytest.param(b"", os.strerror(errno.ENOLINK), id="empty"),
    pytest.param(SENTENCE, SENTENCE.decode(), id="text"),
    pytest.param("größer".encode(), "größer", id="UTF-8"),
    pytest.param(b"gr\xf6\xdfer", "gr", id="not UTF-8"),
    pytest.param(b"x" * 10_000, "x" * 10_000, id="long"),
]


@pytest.mark.parametrize("count", [None, 0, 2])
@pytest.mark.parametrize(("message", "text"), MESSAGES)
def test_errors_arrive_with_code_and_message(message, text, count):
    """The error may also come before `on_schema`."""

    def script(p):
        if count is not None:
            sent(p, count)
        p.on_error(errno.ENOLINK, message)
        p.release()

    found, error, _ = consume(script)
    assert found == [ROWS] * (count or 0)
    assert has_code(error, errno.ENOLINK)
    assert text in str(error)


def test_error_with_code_0_is_raised_as_eio():
    def script(p):
        sent(p, 1)
        p.on_error(0, SENTENCE)
        p.release()

    assert has_code(consume(script)[1], errno.EIO)


def test_errors_arrive_with_metadata():
    def script(p):
        p.on_error(errno.EIO, SENTENCE, {b"query": b"7", b"\xff": b""})
        p.release()

    assert consume(script)[1].metadata == {b"query": b"7", b"\xff": b""}
