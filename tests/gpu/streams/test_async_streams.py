# SPDX-License-Identifier: Apache-2.0
"""Asynchronous streams of device memory: the event loop runs while the GPU is late."""

from __future__ import annotations

import asyncio

import cudf_arrow_bridge as bridge
from testing.device import GPU, ROWS, as_cupy, side_stream

pytestmark = GPU


async def ticks_until(awaited):
    """Return the result of an awaitable, and how often other tasks ran meanwhile."""
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    result = await awaited
    ticking.cancel()
    return result, ticks


def test_event_loop_runs_until_the_producer_is_done(late):
    producer = side_stream()
    exported = bridge.to_arrow_device(late.column(producer), stream=producer)

    async def main():
        frames = bridge.from_arrow_device_async([exported], to="pylibcudf")
        assert not producer.done
        column, ticks = await ticks_until(anext(frames))
        assert producer.done
        assert ticks > 0
        await frames.aclose()
        return column

    column = asyncio.run(main())
    assert as_cupy(column.data()).get().tolist() == list(range(ROWS))


def test_async_stream_shares_the_device_memory_of_all_batches(late):
    producer = side_stream()
    columns = list(late.columns(5, producer))
    stream = bridge.to_arrow_device_async(columns, stream=producer)

    async def main():
        return [column async for column in bridge.from_arrow_device_async(stream, to="pylibcudf")]

    found = asyncio.run(main())
    assert [column.data().ptr for column in found] == [column.data().ptr for column in columns]
    for column in found:
        assert as_cupy(column.data()).get().tolist() == list(range(ROWS))
