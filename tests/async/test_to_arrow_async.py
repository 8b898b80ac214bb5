# SPDX-License-Identifier: Apache-2.0
"""`to_arrow_device_async`: repeated and concurrent iterations, batches made ahead, and closing."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
from contextlib import aclosing

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.async_streams import until

BATCHES = [pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})]
SCHEMA = BATCHES[0].schema
ONCE = "can be consumed only once"


class Source:
    """Yields batches asynchronously, and records their number and whether it is closed."""

    def __init__(self, objects=BATCHES):
        self.objects, self.num_read, self.is_closed = objects, 0, False

    async def read(self):
        try:
            for each in self.objects:
                await asyncio.sleep(0)
                self.num_read += 1
                yield each
        finally:
            self.is_closed = True


class Again:
    """An async iterable that starts again at each iteration."""

    def __aiter__(self):
        return Source().read()


async def lengths(stream):
    return [len(each) async for each in stream]


def imported(source):
    return cab.from_arrow_device_async(source, to="pylibcudf")


async def rows_imported(source):
    return [table.num_rows() async for table in imported(source)]


SOURCES = {
    "list": lambda: BATCHES,
    "generator": lambda: iter(BATCHES),
    "async generator": lambda: Source().read(),
    "async iterable": Again,
}
sources = pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
consumers = pytest.mark.parametrize("consume", [lengths, rows_imported], ids=["loop", "import"])


@sources
def test_loop_gets_the_batches_of_the_source(make):
    async def main():
        return [pa.record_batch(each) async for each in cab.to_arrow_device_async(make())]

    assert asyncio.run(main()) == BATCHES


@consumers
@pytest.mark.parametrize("make", [SOURCES["generator"], SOURCES["async generator"]])
def test_second_iteration_over_a_generator_is_an_error(make, consume):
    async def main():
        stream = cab.to_arrow_device_async(make())
        assert await consume(stream) == [2, 1]
        assert repr(stream) == "<AsyncDeviceArrayStream, consumed>"
        for again in (lengths, rows_imported):
            with pytest.raises(ValueError, match=ONCE):
                await again(stream)
        with pytest.raises(ValueError, match=ONCE):
            stream.export_to(1)

    asyncio.run(main())


@pytest.mark.parametrize("is_stream", [True, False], ids=["of a stream", "of a generator"])
def test_first_of_two_consumers_gets_all_batches_and_the_others_an_error(is_stream):
    async def main():
        source = Source().read()
        if is_stream:
            source = cab.to_arrow_device_async(source)
        both = [rows_imported(source), rows_imported(source)]
        rows, error = await asyncio.gather(*both, return_exceptions=True)
        assert rows == [2, 1]
        with pytest.raises(ValueError, match=ONCE):
            raise error
        with pytest.raises(ValueError, match=ONCE):
            await rows_imported(source)

    asyncio.run(main())


@pytest.mark.parametrize("make", [lambda: BATCHES, Again], ids=["list", "async iterable"])
def test_lists_and_async_iterables_can_be_iterated_again(make):
    async def main():
        stream = cab.to_arrow_device_async(make())
        assert await asyncio.gather(lengths(stream), lengths(stream)) == [[2, 1], [2, 1]]
        assert await lengths(stream) == await rows_imported(stream) == [2, 1]
        assert repr(stream) == "<AsyncDeviceArrayStream, open>"

    asyncio.run(main())


@consumers
@sources
def test_awaiting_the_schema_takes_no_batch_from_the_next_consumer(make, consume):
    async def main():
        stream = cab.to_arrow_device_async(make())
        assert await asyncio.gather(stream.schema(), stream.schema()) == [SCHEMA, SCHEMA]
        assert repr(stream) == "<AsyncDeviceArrayStream, open>"
        assert await consume(stream) == [2, 1]
        assert await stream.schema() == SCHEMA

    asyncio.run(main())


def test_schema_of_an_async_generator_reads_one_batch():
    async def main():
        source = Source([pa.array([1, 2]), pa.array([3])])
        stream = cab.to_arrow_device_async(source.read())
        assert (await stream.schema()).type == pa.int64()
        assert source.num_read == 1
        await stream.aclose()
        assert source.is_closed

    asyncio.run(main())


def test_stream_that_is_closed_while_a_task_awaits_its_schema_stays_released():
    async def main():
        source = Source()
        stream = cab.to_arrow_device_async(source.read())
        waiting = asyncio.create_task(stream.schema())
        await asyncio.sleep(0)
        await stream.aclose()
        assert await waiting == SCHEMA
        assert repr(stream) == "<AsyncDeviceArrayStream, released>"
        assert source.is_closed

    asyncio.run(main())


@pytest.mark.parametrize("make", [lambda: iter([]), lambda: Source([]).read()])
def test_schema_of_a_source_without_batches_is_an_error(make):
    async def main():
        with pytest.raises(ValueError, match=r"schema.*batch"):
            await cab.to_arrow_device_async(make()).schema()

    asyncio.run(main())


@sources
def test_stream_is_released_at_the_end_of_async_with(make):
    async def main():
        async with cab.to_arrow_device_async(make()) as stream:
            assert await lengths(stream) == [2, 1]
        assert repr(stream) == "<AsyncDeviceArrayStream, released>"
        for consume in (lengths, rows_imported):
            with pytest.raises(ValueError, match="released"):
                await consume(stream)
        await stream.aclose()

    asyncio.run(main())


def test_end_of_async_with_closes_a_partly_read_source():
    async def main():
        source = Source()
        async with cab.to_arrow_device_async(source.read()) as stream:
            await anext(aiter(stream))
            assert not source.is_closed
        assert source.is_closed
        assert source.num_read == 1

    asyncio.run(main())


def test_import_continues_after_its_stream_is_closed():
    async def main():
        stream = cab.to_arrow_device_async(Source().read())
        frames = imported(stream)
        assert (await anext(frames)).num_rows() == 2
        await stream.aclose()
        assert [frame.num_rows() async for frame in frames] == [1]

    asyncio.run(main())


def test_waiting_iteration_ends_after_its_stream_is_closed():
    async def main():
        more = asyncio.Event()

        async def read():
            yield BATCHES[0]
            await more.wait()
            yield BATCHES[1]

        stream = cab.to_arrow_device_async(read())
        loop = asyncio.create_task(lengths(stream))
        for _ in range(5):
            await asyncio.sleep(0)
        await stream.aclose()
        more.set()
        assert await loop == [2]

    asyncio.run(main())


ROWS = 50_000


class Frames:
    """Frames that are counted when they are made, and an error after them."""

    def __init__(self, count, error=None):
        self.num_made = 0
        self._count, self._error = count, error

    def __iter__(self):
        for number in range(self._count):
            self.num_made += 1
            yield cab.from_arrow_device(large_batch(number))
        if self._error is not None:
            raise self._error


def large_batch(number):
    return pa.record_batch({"a": pa.array(range(number, number + ROWS), pa.int64())})


@pytest.mark.parametrize(
    ("options", "num_ahead"), [({}, 1), ({"prefetch": 0}, 0), ({"prefetch": 3}, 3)]
)
def test_at_most_prefetch_batches_are_made_while_the_loop_uses_one(options, num_ahead):
    frames = Frames(7)

    async def main():
        num_taken = 0
        async for each in cab.to_arrow_device_async(frames, **options):
            num_taken += 1
            assert each.to_arrow().equals(large_batch(num_taken - 1))
            expected = min(num_taken + num_ahead, 7)
            await until(lambda: frames.num_made >= expected)  # noqa: B023
            assert frames.num_made == expected
        assert num_taken == 7

    asyncio.run(main())


def test_loop_gets_the_batches_before_the_error_of_a_batch_that_is_made_ahead():
    async def main():
        loop = aiter(cab.to_arrow_device_async(Frames(2, KeyError("mine")), prefetch=5))
        for number in range(2):
            assert (await anext(loop)).to_arrow().equals(large_batch(number))
            await asyncio.sleep(0.01)
        with pytest.raises(KeyError, match="mine"):
            await anext(loop)

    asyncio.run(main())


@pytest.mark.parametrize("error", [TimeoutError("mine"), concurrent.futures.CancelledError("mine")])
def test_loop_raises_errors_of_its_source_that_asyncio_replaces(error):
    async def main():
        with pytest.raises(type(error)) as caught:
            await lengths(cab.to_arrow_device_async(Frames(1, error)))
        assert caught.value is error

    asyncio.run(main())


@pytest.mark.parametrize("error", [None, KeyError("mine")])
def test_leaving_the_loop_frees_the_batches_that_were_made_ahead(error, caplog):
    frames = Frames(3, error)
    before = pa.total_allocated_bytes()

    async def main():
        async with aclosing(aiter(cab.to_arrow_device_async(frames, prefetch=3))) as loop:
            await anext(loop)
            await until(lambda: frames.num_made == 3)
            assert pa.total_allocated_bytes() >= before + 2 * 8 * ROWS
        await until(lambda: pa.total_allocated_bytes() == before)
        assert pa.total_allocated_bytes() == before

    asyncio.run(main())
    gc.collect()
    # asyncio logs exceptions that nobody reads.
    assert caplog.text == ""


WRONG_CALLS = {
    "prefetch below 0": (ValueError, "prefetch: .* got -1", [], {"prefetch": -1}),
    "prefetch as a bool": (TypeError, "prefetch: .* got True", [], {"prefetch": True}),
    "max_rows below 1": (ValueError, "max_rows: .* got 0", Again(), {"max_rows": 0}),
    "columns of an async iterable": (ValueError, "columns: ", Again(), {"columns": ["a"]}),
    "number": (TypeError, "type int", 5, {}),
}


@pytest.mark.parametrize(
    ("kind", "message", "source", "options"), WRONG_CALLS.values(), ids=WRONG_CALLS
)
def test_wrong_argument_is_rejected_at_once(kind, message, source, options):
    with pytest.raises(kind, match=message):
        cab.to_arrow_device_async(source, **options)
