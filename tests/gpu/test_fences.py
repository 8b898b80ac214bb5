# SPDX-License-Identifier: Apache-2.0
"""Fences, arrays and streams in event loops, and borrowed memory, while the GPU is late."""

from __future__ import annotations

import asyncio
import gc
import select

import cudf_arrow_bridge as cab
from testing.device import (
    GPU,
    ROWS,
    as_cupy,
    expect_values,
    read_target,
    side_stream,
    synchronize,
    wait_until,
    zeros,
)

pytestmark = GPU


def test_late_stream_does_not_delay_the_fence_of_another_stream(late):
    slow, prompt, target = side_stream(), side_stream(), read_target()
    late.copy(late.values, target, slow)
    fences = cab.Fences()
    first, second = fences.add(slow), fences.add(prompt)
    assert select.select([fences], [], [], 20)[0] == [fences]
    assert fences.poll() == [(second, "reached", "")]
    assert not slow.done
    assert len(fences) == 1
    assert fences.poll(20) == [(first, "reached", "")]
    assert slow.done


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


def test_event_loop_runs_while_an_array_is_not_ready(late):
    stream = side_stream()

    async def main():
        array = late.table(stream)
        ready, ticks = await ticks_until(array.ready())
        assert ready is array
        assert ticks > 50
        assert stream.done
        # A ready array returns without a turn of the loop.
        turns = []
        asyncio.get_running_loop().call_soon(turns.append, 1)
        await array.ready()
        assert turns == []
        return array

    import cupy

    array = asyncio.run(main())
    assert cupy.from_dlpack(array["0"]).get().tolist() == list(range(ROWS))


def test_fence_keeps_an_array_alive_until_the_array_is_ready(late, counted):
    stream = side_stream()
    late.copy(late.values, read_target(), stream, cycles=0)
    synchronize()
    held = counted.allocation_counts.current_bytes
    fences = cab.Fences()
    array = late.table(stream)
    fences.add(array)
    del array
    gc.collect()
    assert not stream.done
    assert counted.allocation_counts.current_bytes > held
    assert len(fences.poll(20)) == 1
    assert wait_until(lambda: counted.allocation_counts.current_bytes == held)


def test_fences_of_each_stream_are_reached_in_order():
    streams = [side_stream() for _ in range(8)]
    fences = cab.Fences()
    added = [fences.add(streams[i % 8]) for i in range(10_000)]
    reached = []
    while len(reached) < len(added):
        results = fences.poll(20)
        assert results
        reached += results
    assert {state for _, state, _ in reached} == {"reached"}
    for first in range(8):
        of_stream = [fence for fence, *_ in reached if (fence - added[0]) % 8 == first]
        assert of_stream == added[first::8]


def test_async_stream_shares_memory_and_does_not_block_the_event_loop(late):
    producer = side_stream()
    columns = list(late.columns(5, producer))
    stream = cab.to_arrow_device_async(columns, stream=producer)

    async def main():
        imported = cab.from_arrow_device_async(stream, to="pylibcudf")
        assert not producer.done
        first, ticks = await ticks_until(anext(imported))
        assert ticks > 0
        return [first, *[column async for column in imported]]

    found = asyncio.run(main())
    assert [column.data().ptr for column in found] == [column.data().ptr for column in columns]
    for column in found:
        assert as_cupy(column.data()).get().tolist() == list(range(ROWS))


def exported_column(late, owner):
    """An exported column of 0, 1, 2..., and its memory as an array of cupy."""
    column = late.column(owner)
    exported = cab.to_arrow_device(column, stream=owner)
    owner.synchronize()
    return exported, as_cupy(column.data())


def test_writes_of_the_owner_wait_for_the_borrower(late):
    owner, borrower, found = side_stream(), side_stream(), read_target()
    exported, memory = exported_column(late, owner)
    with owner:
        fives = as_cupy(zeros()) - 5
    with exported.borrow(stream=borrower) as borrowed:
        with borrower:
            source = as_cupy(borrowed)
        late.copy(source, found, borrower)
    late.copy(fives, memory, owner, cycles=0)
    assert not borrower.done
    assert not owner.done
    expect_values(found, owner)
    assert memory.get().tolist() == [-5] * ROWS


def test_writes_of_the_borrower_wait_for_the_owner_and_precede_its_reads(late):
    owner, borrower, found = side_stream(), side_stream(), read_target()
    exported = late.array(owner)
    with exported.borrow(stream=borrower) as borrowed, borrower:
        memory = as_cupy(borrowed)
        memory += 1
    late.copy(memory, found, owner, cycles=0)
    owner.synchronize()
    assert found.get().tolist() == list(range(1, ROWS + 1))


def test_async_borrow_waits_for_the_borrower_without_blocking(late):
    owner, borrower, found = side_stream(), side_stream(), read_target()
    exported = late.array(owner)

    async def use_array():
        async with exported.borrow(stream=borrower) as borrowed:
            assert owner.done
            with borrower:
                source = as_cupy(borrowed)
            late.copy(source, found, borrower)
        assert borrower.done

    async def main():
        return await ticks_until(use_array())

    _, ticks = asyncio.run(main())
    assert ticks > 10
    assert found.get().tolist() == list(range(ROWS))
