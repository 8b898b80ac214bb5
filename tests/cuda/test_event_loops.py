# SPDX-License-Identifier: Apache-2.0
"""Tasks that wait for fences and for arrays, and event loops that are closed with pending fences.

The tests complete fences themselves; tests/gpu/test_fences.py has fences of work on a GPU.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import weakref
from types import SimpleNamespace

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cuda import event_loops
from cudf_arrow_bridge.cuda.event_loops import FAILED, FenceSet, fences_of_running_loop


def run(main):
    """Run a coroutine function with the fences of a new loop, all of which it must use up."""

    async def with_fences():
        loop = fences_of_running_loop()
        await asyncio.wait_for(main(loop), 30)
        # The results of cancelled fences arrive late.
        await asyncio.sleep(0.01)
        assert loop._waiting == loop._ended == {}
        assert len(loop.fences) == 0
        assert loop.fences.poll() == []

    asyncio.run(with_fences())


async def start(coroutine):
    """Return a task that has run until its first wait."""
    task = asyncio.create_task(coroutine)
    await asyncio.sleep(0)
    return task


def test_loop_has_one_set_of_fences():
    async def main(loop):
        assert fences_of_running_loop() is loop
        assert loop.fences.fileno() in asyncio.get_running_loop()._selector.get_map()

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

    run(main)


def test_wait_for_a_completed_fence_takes_no_turn_of_the_loop():
    async def main(loop):
        turns = []
        early, other = loop.fences.add(), loop.fences.add()
        loop.fences.complete(early)
        loop.fences.complete(other)
        asyncio.get_running_loop().call_soon(turns.append, 1)
        await loop.wait(other)
        await loop.wait(early)
        assert turns == []

    run(main)


@pytest.mark.parametrize("completed", [False, True])
@pytest.mark.parametrize("is_told", [False, True])
def test_task_can_be_cancelled_before_and_after_its_fence_completes(completed, is_told):
    async def main(loop):
        fence = loop.fences.add()
        task = await start(loop.wait(fence))
        assert len(loop.fences) == 1
        if completed:
            loop.fences.complete(fence)
        if is_told:
            loop._tell()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(loop.fences) == 0

    run(main)


def test_cancelling_a_fence_cancels_its_task():
    async def main(loop):
        fence = loop.fences.add()
        task = await start(loop.wait(fence))
        assert loop.fences.cancel(fence)
        await asyncio.wait([task], timeout=5)
        assert task.cancelled()
        loop.fences.cancel(loop.fences.add())  # for which no task waits

    run(main)


class FailingFences(FenceSet):
    """Fences that all fail, as after an error of CUDA."""

    def poll(self):
        text = "cudaErrorLaunchFailure: unspecified launch failure"
        return [(fence, FAILED, text) for fence, *_ in super().poll()]


@pytest.mark.parametrize("is_early", [True, False])
def test_cuda_errors_are_raised_in_the_waiting_task(is_early, monkeypatch):
    monkeypatch.setattr(event_loops, "FenceSet", FailingFences)

    async def main(loop):
        fence = loop.fences.add()
        if is_early:
            loop.fences.complete(fence)
        else:
            threading.Timer(0.01, loop.fences.complete, [fence]).start()
        with pytest.raises(RuntimeError, match=r"^cudaErrorLaunchFailure: unspecified"):
            await loop.wait(fence)

    run(main)


def test_some_tasks_are_cancelled_while_fences_of_others_complete():
    async def main(loop):
        numbers = [loop.fences.add() for _ in range(3000)]
        tasks = [await start(loop.wait(fence)) for fence in numbers]
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

    run(main)


def array():
    return cab.to_arrow_device(cab.from_arrow_device(pa.table({"a": [1, None, 3]})))


@pytest.mark.skipif(cab.has_gpu(), reason="there is a GPU")
def test_array_in_host_memory_is_ready_without_an_event_loop():
    for each in (array(), array()["a"]):
        # Other event loops, for example trio's, can await it too.
        with pytest.raises(StopIteration) as end:
            each.ready().send(None)
        assert end.value.value is each


def test_ready_rejects_released_arrays():
    released = array()
    released.release()
    with pytest.raises(ValueError, match="released"):
        asyncio.run(released.ready())


class LateFences(FenceSet):
    """Fences of arrays that the test completes."""

    def add_array(self, array):
        return self.add()


def test_ready_waits_for_the_fence_of_a_late_array(monkeypatch):
    monkeypatch.setattr(event_loops, "FenceSet", LateFences)
    late = SimpleNamespace(_array=SimpleNamespace(is_ready=lambda: False))

    async def main(loop):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(cab.DeviceArray.ready(late), 0.01)
        assert len(loop.fences) == 0
        waiting = await start(cab.DeviceArray.ready(late))
        assert len(loop.fences) == 1
        assert not waiting.done()
        (fence,) = loop._waiting
        loop.fences.complete(fence)
        assert await waiting is late

    run(main)
    with pytest.raises(RuntimeError, match="no running event loop"):
        cab.DeviceArray.ready(late).send(None)


def assert_is_closed(descriptor):
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_closed_loop_frees_its_fences_and_tasks():
    async def main():
        loop = fences_of_running_loop()
        fence = loop.fences.add()
        tasks.append(weakref.ref(await start(loop.wait(fence))))
        return fence, loop.fences, weakref.ref(loop), weakref.ref(asyncio.get_running_loop())

    tasks = []
    for _ in range(3):
        known = len(event_loops._of_loops)
        # asyncio.run cancels the pending task at the end.
        fence, fences, loop, own = asyncio.run(main())
        gc.collect()
        assert loop() is own() is tasks.pop()() is None
        assert len(event_loops._of_loops) <= known
        assert len(fences) == 0
        fences.complete(fence)
        descriptor = fences.fileno()
        del fences
        assert_is_closed(descriptor)


def test_closing_a_loop_frees_its_fences_without_garbage_collection():
    async def main():
        return fences_of_running_loop().fences.fileno()

    gc.disable()
    try:
        assert_is_closed(asyncio.run(main()))
    finally:
        gc.enable()


def test_loop_can_be_closed_in_the_middle_of_a_wait():
    async def begin():
        loop = fences_of_running_loop()
        fences.append(loop.fences)
        await loop.wait(loop.fences.add())

    fences = []
    loop = asyncio.new_event_loop()
    waiting = begin()
    loop.call_soon(waiting.send, None)
    loop.call_later(0.01, loop.stop)
    loop.run_forever()
    loop.close()
    assert len(fences[0]) == 1
    waiting.close()
    assert len(fences[0]) == 0
    own = weakref.ref(loop)
    del loop, waiting
    gc.collect()
    assert own() is None
