# SPDX-License-Identifier: Apache-2.0
"""Fences in asyncio's event loops; the tests end them themselves, as no GPU does."""

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


def test_a_loop_has_one_set():
    async def main(fences):
        assert fences_of_running_loop() is fences
        assert is_registered(fences.fences)

    run(main)


def test_there_is_none_without_a_loop():
    with pytest.raises(RuntimeError, match="no running event loop"):
        fences_of_running_loop()


def test_a_task_waits_while_others_run():
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


def test_what_is_reached_already_takes_no_turn_of_the_loop():
    async def main(loop):
        turns = []
        fence = loop.fences.add()
        loop.fences.complete(fence)
        asyncio.get_running_loop().call_soon(turns.append, 1)
        await loop.wait(fence)
        assert turns == []

    run(main)


def test_fences_may_end_long_before_somebody_waits():
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


def test_a_task_may_be_cancelled_as_its_fence_is_reached():
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


def test_a_fence_that_is_cancelled_cancels_its_task():
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


def test_timeouts_cancel():
    async def main(loop):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.wait(loop.fences.add()), 0.01)
        assert len(loop.fences) == 0

    run(main)


class Failing:
    """A set whose fences fail, as no GPU is here that could."""

    def __init__(self, fences):
        self._fences = fences

    def __getattr__(self, name):
        return getattr(self._fences, name)

    def poll(self):
        text = "cudaErrorLaunchFailure: unspecified launch failure"
        return [(fence, event_loops.FAILED, text) for fence, *_ in self._fences.poll()]


@pytest.mark.parametrize("is_early", [True, False])
def test_errors_of_cuda_are_raised_where_somebody_waits(is_early):
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


def test_tasks_of_many_are_cancelled_and_others_reached():
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


def test_each_thread_has_its_loop_and_each_loop_its_set():
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
    assert len(found) == 4
