# SPDX-License-Identifier: Apache-2.0
"""Fences in asyncio's event loops. The tests complete the fences, without a GPU."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from cudf_arrow_bridge.cuda import event_loops
from cudf_arrow_bridge.cuda.event_loops import fences_of_running_loop


def run(main):
    """Run a coroutine function in a loop of its own, with the fences of the loop."""

    async def with_fences():
        return await asyncio.wait_for(main(fences_of_running_loop()), 30)

    return asyncio.run(with_fences())


def is_registered(fences):
    return fences.fileno() in asyncio.get_running_loop()._selector.get_map()


def test_loop_has_one_set_of_fences():
    async def main(fences):
        assert fences_of_running_loop() is fences
        assert is_registered(fences.fences)

    run(main)


def test_fences_of_running_loop_raises_without_a_loop():
    with pytest.raises(RuntimeError, match="no running event loop"):
        fences_of_running_loop()


def test_task_waits_for_its_fence_without_blocking_the_loop():
    async def main(loop):
        fence = loop.fences.add()
        waiting = asyncio.create_task(loop.wait(fence))
        for _ in range(5):
            await asyncio.sleep(0.001)
            assert not waiting.done()
        threading.Timer(0.01, loop.fences.complete, [fence]).start()
        assert await waiting is None
        assert loop._waiting == loop._ended == {}

    run(main)


def test_wait_for_a_completed_fence_takes_no_turn_of_the_loop():
    async def main(loop):
        turns = []
        fence = loop.fences.add()
        loop.fences.complete(fence)
        asyncio.get_running_loop().call_soon(turns.append, 1)
        await loop.wait(fence)
        assert turns == []

    run(main)


def test_fences_may_complete_before_a_task_waits():
    async def main(loop):
        early, other = loop.fences.add(), loop.fences.add()
        loop.fences.complete(early)
        loop.fences.complete(other)
        await loop.wait(other)
        await asyncio.sleep(0.01)
        await loop.wait(early)
        assert loop._waiting == loop._ended == {}

    run(main)


def test_cancelling_a_task_cancels_its_fence():
    async def main(loop):
        fence = loop.fences.add()
        task = asyncio.create_task(loop.wait(fence))
        await asyncio.sleep(0)
        assert len(loop.fences) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(loop.fences) == 0
        await asyncio.sleep(0.01)
        assert loop._waiting == loop._ended == {}
        assert loop.fences.poll() == []

    run(main)


def test_task_can_be_cancelled_when_its_fence_completes():
    async def main(loop):
        for is_told in (True, False):
            fence = loop.fences.add()
            task = asyncio.create_task(loop.wait(fence))
            await asyncio.sleep(0)
            loop.fences.complete(fence)
            if is_told:
                loop._tell()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.01)
            assert loop._waiting == loop._ended == {}

    run(main)


def test_cancelling_a_fence_cancels_its_task():
    async def main(loop):
        fence = loop.fences.add()
        task = asyncio.create_task(loop.wait(fence))
        await asyncio.sleep(0)
        assert loop.fences.cancel(fence)
        await asyncio.wait([task], timeout=5)
        assert task.cancelled()
        unseen = loop.fences.add()
        loop.fences.cancel(unseen)
        await asyncio.sleep(0.01)
        assert loop._waiting == loop._ended == {}

    run(main)


def test_timeout_of_a_task_cancels_its_fence():
    async def main(loop):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.wait(loop.fences.add()), 0.01)
        assert len(loop.fences) == 0

    run(main)


class Failing:
    """A set of fences that reports an error of CUDA for each fence."""

    def __init__(self, fences):
        self._fences = fences

    def __getattr__(self, name):
        return getattr(self._fences, name)

    def poll(self):
        text = "cudaErrorLaunchFailure: unspecified launch failure"
        return [(fence, event_loops.FAILED, text) for fence, *_ in self._fences.poll()]


@pytest.mark.parametrize("is_early", [True, False])
def test_cuda_errors_are_raised_in_the_waiting_task(is_early):
    async def main(loop):
        loop.fences = Failing(loop.fences)
        fence = loop.fences.add()
        if is_early:
            loop.fences.complete(fence)
        else:
            threading.Timer(0.01, loop.fences.complete, [fence]).start()
        with pytest.raises(RuntimeError, match=r"^cudaErrorLaunchFailure: unspecified"):
            await loop.wait(fence)
        assert loop._waiting == loop._ended == {}

    run(main)


def test_ten_thousand_tasks_wait_on_one_descriptor():
    async def main(loop):
        order = []

        async def wait(fence):
            await loop.wait(fence)
            order.append(fence)

        numbers = [loop.fences.add() for _ in range(10_000)]
        descriptors = len(os.listdir("/proc/self/fd"))
        tasks = [asyncio.create_task(wait(fence)) for fence in numbers]
        await asyncio.sleep(0)
        assert len(loop._waiting) == 10_000
        assert len(os.listdir("/proc/self/fd")) <= descriptors

        def complete(mine):
            for fence in mine:
                loop.fences.complete(fence)

        threads = [threading.Thread(target=complete, args=[numbers[i::3]]) for i in range(3)]
        for thread in threads:
            thread.start()
        await asyncio.gather(*tasks)
        for thread in threads:
            thread.join()
        assert sorted(order) == numbers
        for first in range(3):
            of_thread = [fence for fence in order if (fence - numbers[0]) % 3 == first]
            assert of_thread == numbers[first::3]

    run(main)


def test_some_tasks_are_cancelled_while_fences_of_others_complete():
    async def main(loop):
        numbers = [loop.fences.add() for _ in range(3000)]
        tasks = [asyncio.create_task(loop.wait(fence)) for fence in numbers]
        await asyncio.sleep(0)
        thread = threading.Thread(target=lambda: [loop.fences.complete(f) for f in numbers[::2]])
        thread.start()
        for i, task in enumerate(tasks):
            if i % 3 == 0 or i % 2:
                task.cancel()
            if i % 100 == 0:
                await asyncio.sleep(0)
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        thread.join()
        for i, result in enumerate(ended):
            if i % 2:
                assert isinstance(result, asyncio.CancelledError)
            elif i % 3:
                assert result is None
        await asyncio.sleep(0.01)
        assert loop._waiting == loop._ended == {}
        assert len(loop.fences) == 0

    run(main)


def test_loops_of_four_threads_wait_for_fences_concurrently():
    found = []
    barrier = threading.Barrier(4)

    def work():
        async def main(loop):
            barrier.wait()
            for _ in range(50):
                fence = loop.fences.add()
                threading.Timer(0, loop.fences.complete, [fence]).start()
                await loop.wait(fence)
            found.append(loop.fences.fileno())

        run(main)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Each loop had its own fences, all at one time.
    assert len(set(found)) == 4
