# SPDX-License-Identifier: Apache-2.0
"""Asynchronous streams: second passes, concurrent consumers, schemas and closing."""

from __future__ import annotations

import asyncio

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab

BATCHES = [pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})]
SCHEMA = BATCHES[0].schema
ONCE = "^an async_generator can be consumed once, got a second consumer"


class Source:
    """Makes async generators of batches, and records the batches made and whether it is closed."""

    def __init__(self, batches=BATCHES):
        self.batches, self.made, self.is_closed = batches, 0, False

    async def read(self):
        try:
            for batch in self.batches:
                await asyncio.sleep(0)
                self.made += 1
                yield batch
        finally:
            self.is_closed = True


class Again:
    """An async iterable that starts again at each iteration."""

    def __aiter__(self):
        return Source().read()


async def lengths(stream):
    return [len(batch) async for batch in stream]


def imported(source):
    return cab.from_arrow_device_async(source, to="pylibcudf")


async def rows_imported(source):
    return [table.num_rows() async for table in imported(source)]


@pytest.mark.parametrize("second", [lengths, rows_imported], ids=["loop", "import"])
@pytest.mark.parametrize("first", [lengths, rows_imported], ids=["loop", "import"])
def test_a_second_pass_over_an_async_generator_is_an_error(first, second):
    async def main():
        stream = cab.to_arrow_device_async(Source().read())
        assert await first(stream) == [2, 1]
        assert repr(stream) == "<AsyncDeviceArrayStream, consumed>"
        with pytest.raises(ValueError, match=ONCE):
            await second(stream)
        with pytest.raises(ValueError, match=ONCE):
            stream.export_to(1)

    asyncio.run(main())


def test_a_second_import_of_an_async_generator_is_an_error():
    async def main():
        batches = Source().read()
        assert await rows_imported(batches) == [2, 1]
        with pytest.raises(ValueError, match=ONCE):
            await rows_imported(batches)

    asyncio.run(main())


@pytest.mark.parametrize("is_stream", [True, False], ids=["of a stream", "of a generator"])
def test_first_of_two_concurrent_consumers_gets_all_and_second_an_error(is_stream):
    async def main():
        source = Source().read()
        if is_stream:
            source = cab.to_arrow_device_async(source)
        consumers = [rows_imported(source), rows_imported(source)]
        return await asyncio.gather(*consumers, return_exceptions=True)

    rows, error = asyncio.run(main())
    assert rows == [2, 1]
    with pytest.raises(ValueError, match=ONCE):
        raise error


@pytest.mark.parametrize("make", [lambda: BATCHES, Again], ids=["list", "async iterable"])
def test_lists_and_async_iterables_can_be_consumed_again(make):
    async def main():
        stream = cab.to_arrow_device_async(make())
        assert await asyncio.gather(lengths(stream), lengths(stream)) == [[2, 1], [2, 1]]
        assert await lengths(stream) == await rows_imported(stream) == [2, 1]
        assert repr(stream) == "<AsyncDeviceArrayStream, open>"

    asyncio.run(main())


SOURCES = {
    "list": lambda: BATCHES,
    "generator": lambda: iter(BATCHES),
    "async generator": lambda: Source().read(),
    "async iterable": Again,
}


@pytest.mark.parametrize("consume", [lengths, rows_imported], ids=["loop", "import"])
@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_awaiting_the_schema_takes_no_batch_from_the_next_consumer(make, consume):
    async def main():
        stream = cab.to_arrow_device_async(make())
        assert await stream.schema() == await stream.schema() == SCHEMA
        assert repr(stream) == "<AsyncDeviceArrayStream, open>"
        assert await consume(stream) == [2, 1]
        assert await stream.schema() == SCHEMA

    asyncio.run(main())


def test_schema_of_an_async_generator_reads_one_batch():
    async def main():
        source = Source()
        stream = cab.to_arrow_device_async(source.read())
        assert await stream.schema() == SCHEMA
        assert source.made == 1
        await stream.aclose()
        assert source.is_closed

    asyncio.run(main())


def test_tasks_that_await_the_schema_at_once_share_one_batch():
    async def main():
        stream = cab.to_arrow_device_async(Source().read())
        assert await asyncio.gather(stream.schema(), stream.schema()) == [SCHEMA, SCHEMA]
        assert await lengths(stream) == [2, 1]

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


def test_the_schema_of_a_column_is_a_field():
    async def main():
        stream = cab.to_arrow_device_async(Source([pa.array([1, 2])]).read())
        assert (await stream.schema()).type == pa.int64()

    asyncio.run(main())


@pytest.mark.parametrize("make", [lambda: iter([]), lambda: Source([]).read()])
def test_the_schema_of_a_source_without_batches_is_an_error(make):
    async def main():
        with pytest.raises(ValueError, match=r"^the stream has neither a schema nor a batch$"):
            await cab.to_arrow_device_async(make()).schema()

    asyncio.run(main())


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_stream_is_released_at_the_end_of_async_with(make):
    async def main():
        async with cab.to_arrow_device_async(make()) as stream:
            assert repr(stream) == "<AsyncDeviceArrayStream, open>"
            assert await lengths(stream) == [2, 1]
        assert repr(stream) == "<AsyncDeviceArrayStream, released>"
        for consume in (lengths, rows_imported):
            with pytest.raises(ValueError, match="expected an open stream, got a released stream"):
                await consume(stream)
        await stream.aclose()

    asyncio.run(main())


def test_end_of_async_with_closes_a_partly_read_source():
    async def main():
        source = Source()
        async with cab.to_arrow_device_async(source.read()) as stream:
            batches = aiter(stream)
            await anext(batches)
            assert not source.is_closed
        assert source.is_closed
        assert source.made == 1

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
