# SPDX-License-Identifier: Apache-2.0
"""`await array.ready()`, with simulated late arrays; tests/gpu has real late arrays."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow.device_array import DeviceArray
from cudf_arrow_bridge.cuda.event_loops import fences_of_running_loop

TABLE = pa.table({"a": [1, None, 3]})


def host_array():
    return cab.to_arrow_device(cab.from_arrow_device(TABLE))


class LateArray(DeviceArray):
    """An array that is not ready while `is_late` is true; see `LateFences`."""

    _array = property(lambda self: self)
    is_late = True

    def is_ready(self):
        return not self.is_late


class LateFences:
    """A set of fences in which the test completes the fences of late arrays."""

    def __init__(self, fences):
        self._fences = fences
        self.added = []

    def __getattr__(self, name):
        return getattr(self._fences, name)

    def add_array(self, array):
        assert isinstance(array, LateArray)
        self.added.append(self._fences.add())
        return self.added[-1]


@pytest.fixture
def late():
    source = host_array()
    return LateArray(source._array, source._arrow_schema, source._kind)


def run(main):
    """Run a coroutine function with the set of fences of its loop."""

    async def with_fences():
        loop = fences_of_running_loop()
        loop.fences = LateFences(loop.fences)
        return await asyncio.wait_for(main(loop.fences), 30)

    return asyncio.run(with_fences())


@pytest.mark.skipif(cab.has_gpu(), reason="there is a GPU")
def test_cpu_memory_is_ready_without_a_turn_of_the_loop():
    async def main():
        array, turns = host_array(), []
        asyncio.get_running_loop().call_soon(turns.append, 1)
        assert await array.ready() is array
        assert await array["a"].ready()
        assert turns == []
        return array

    assert asyncio.run(main()).to_arrow().equals(TABLE.to_batches()[0])


def test_cpu_memory_is_ready_without_asyncio():
    """Other event loops, for example trio's, can await an array that is ready."""
    waiting = host_array().ready()
    with pytest.raises(StopIteration) as end:
        waiting.send(None)
    assert isinstance(end.value.value, cab.DeviceArray)


def test_ready_waits_for_the_fence_of_a_late_array(late):
    async def main(fences):
        waiting = asyncio.create_task(late.ready())
        for _ in range(10):
            await asyncio.sleep(0.001)
            assert not waiting.done()
        threading.Timer(0.01, fences.complete, fences.added).start()
        assert await waiting is late

    run(main)


def test_many_tasks_can_await_one_array(late):
    async def main(fences):
        tasks = [asyncio.create_task(late.ready()) for _ in range(100)]
        await asyncio.sleep(0)
        assert len(set(fences.added)) == 100
        tasks[7].cancel()
        for fence in fences.added:
            fences.complete(fence)
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(ended.pop(7), asyncio.CancelledError)
        assert all(array is late for array in ended)

    run(main)


def test_cancelled_wait_removes_its_fence_and_keeps_the_array_usable(late):
    async def main(fences):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(late.ready(), 0.01)
        assert len(fences._fences) == 0
        late.is_late = False
        assert await late.ready() is late

    run(main)


def test_ready_rejects_released_arrays():
    array = host_array()
    array.release()
    with pytest.raises(ValueError, match="released"):
        asyncio.run(array.ready())


def test_late_arrays_need_an_asyncio_loop(late):
    with pytest.raises(RuntimeError, match="no running event loop"):
        late.ready().send(None)


def test_import_of_the_package_does_not_import_asyncio():
    program = "import cudf_arrow_bridge, sys; print('asyncio' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "False\n"
