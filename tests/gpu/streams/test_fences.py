# SPDX-License-Identifier: Apache-2.0
"""Fences of a real device are reached when its work is done, without blocking threads."""

from __future__ import annotations

import asyncio
import gc
import select

import pylibcudf as plc

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge.cuda.event_loops import fences_of_running_loop
from testing.device import GPU, ROWS, read_target, side_stream, synchronize, wait_until

pytestmark = GPU


def late_array(late, stream):
    return bridge.to_arrow_device(plc.Table([late.column(stream)]), stream=stream)


def test_fence_is_reached_when_the_work_of_its_stream_is_done(late):
    stream, target = side_stream(), read_target()
    late.copy(late.values, target, stream)
    fences = bridge.Fences()
    fence = fences.add(stream)
    assert not stream.done
    assert fences.poll() == []
    assert len(fences) == 1
    assert fences.poll(20) == [(fence, "reached", "")]
    assert stream.done
    assert fences.poll() == []


def test_late_stream_does_not_delay_the_fence_of_another_stream(late):
    slow, prompt, target = side_stream(), side_stream(), read_target()
    late.copy(late.values, target, slow)
    fences = bridge.Fences()
    first, second = fences.add(slow), fences.add(prompt)
    assert select.select([fences], [], [], 20)[0] == [fences]
    assert fences.poll() == [(second, "reached", "")]
    assert not slow.done
    assert fences.poll(20) == [(first, "reached", "")]


def test_cancelled_fence_is_reported_once(late):
    stream, target = side_stream(), read_target()
    late.copy(late.values, target, stream)
    fences = bridge.Fences()
    fence = fences.add(stream)
    assert fences.cancel(fence)
    assert fences.poll(20) == [(fence, "cancelled", "")]
    stream.synchronize()
    assert fences.poll(0.1) == []


def test_event_loop_runs_while_an_array_is_not_ready(late):
    stream = side_stream()

    async def main():
        array, ticks = late_array(late, stream), 0
        waiting = asyncio.create_task(array.ready())
        while not waiting.done():
            ticks += 1
            await asyncio.sleep(0.001)
        assert ticks > 50
        assert stream.done
        assert await waiting is array
        # A ready array returns without a turn of the loop.
        turns = []
        asyncio.get_running_loop().call_soon(turns.append, 1)
        await array.ready()
        assert turns == []
        return array

    import cupy

    array = asyncio.run(main())
    assert cupy.from_dlpack(array["0"]).get().tolist() == list(range(ROWS))


def test_array_can_be_awaited_after_a_cancelled_task(late):
    stream = side_stream()

    async def main():
        array = late_array(late, stream)
        task = asyncio.create_task(array.ready())
        await asyncio.sleep(0.01)
        assert not stream.done
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert len(fences_of_running_loop().fences) == 0
        assert not stream.done
        await array.ready()
        assert stream.done

    asyncio.run(main())


def test_event_loop_may_end_while_the_device_works(late):
    stream = side_stream()

    async def main():
        task = asyncio.create_task(late_array(late, stream).ready())
        await asyncio.sleep(0.01)
        assert not task.done()

    asyncio.run(main())
    assert not stream.done
    stream.synchronize()


def test_fence_keeps_an_array_alive_until_the_array_is_ready(late, counted):
    stream = side_stream()
    late.copy(late.values, read_target(), stream, cycles=0)
    synchronize()
    held = counted.allocation_counts.current_bytes
    fences = bridge.Fences()
    array = late_array(late, stream)
    fences.add(array)
    del array
    gc.collect()
    assert not stream.done
    assert counted.allocation_counts.current_bytes > held
    assert len(fences.poll(20)) == 1
    assert wait_until(lambda: counted.allocation_counts.current_bytes == held)


def test_fences_of_each_stream_are_reached_in_order():
    streams = [side_stream() for _ in range(8)]
    fences = bridge.Fences()
    added = [fences.add(streams[i % 8]) for i in range(10_000)]
    told = []
    while len(told) < len(added):
        results = fences.poll(20)
        assert results
        told += results
    assert {state for _, state, _ in told} == {"reached"}
    for first in range(8):
        of_stream = [fence for fence, *_ in told if (fence - added[0]) % 8 == first]
        assert of_stream == added[first::8]
