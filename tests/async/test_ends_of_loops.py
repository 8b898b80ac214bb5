# SPDX-License-Identifier: Apache-2.0
"""Event loops that are closed, stopped, forked or never closed while fences are pending."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import weakref

import pytest

from cudf_arrow_bridge.cuda import event_loops
from cudf_arrow_bridge.cuda.event_loops import fences_of_running_loop


def test_closed_loop_frees_its_fences_and_tasks():
    async def main():
        loop = fences_of_running_loop()
        fence = loop.fences.add()
        task = asyncio.create_task(loop.wait(fence))
        await asyncio.sleep(0)
        pending.append(fence)
        tasks.append(weakref.ref(task))
        return loop.fences, weakref.ref(loop), weakref.ref(asyncio.get_running_loop())

    pending, tasks = [], []
    for _ in range(3):
        known = len(event_loops._of_loops)
        # asyncio.run cancels the pending task at the end.
        fences, loop, own = asyncio.run(main())
        gc.collect()
        assert loop() is own() is tasks.pop()() is None
        assert len(event_loops._of_loops) <= known
        assert len(fences) == 0
        fences.complete(pending.pop())
        descriptor = fences.fileno()
        del fences
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_closing_a_loop_frees_its_fences_without_garbage_collection():
    async def main():
        loop = fences_of_running_loop()
        return loop.fences.fileno()

    gc.disable()
    try:
        descriptor = asyncio.run(main())
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    finally:
        gc.enable()


LATE = """
import asyncio, threading
from cudf_arrow_bridge.cuda.event_loops import fences_of_running_loop

async def begin():
    loop = fences_of_running_loop()
    fence = loop.fences.add()
    task = asyncio.ensure_future(loop.wait(fence))
    await asyncio.sleep(0)
    return loop.fences, fence, task

fences, fence, task = asyncio.run(begin())   # which cancels the task
assert task.cancelled()
thread = threading.Thread(target=fences.complete, args=[fence])
thread.start()
thread.join()

kept = asyncio.new_event_loop()
async def forget():
    fences_of_running_loop()
kept.run_until_complete(forget())            # and never closes it
"""

CLOSED = """
import asyncio, gc, weakref
from cudf_arrow_bridge.cuda.event_loops import fences_of_running_loop

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
loop.close()                                 # in the middle of a wait
assert len(fences[0]) == 1
waiting.close()
assert len(fences[0]) == 0
own = weakref.ref(loop)
del loop, waiting
gc.collect()
assert own() is None
"""

FORK = """
import asyncio, os
from cudf_arrow_bridge.cuda.event_loops import fences_of_running_loop

async def wait(end):
    loop = fences_of_running_loop()
    fence = loop.fences.add()
    asyncio.get_running_loop().call_later(0.01, end or loop.fences.complete, fence)
    await loop.wait(fence)

async def parent():
    loop = fences_of_running_loop()
    def end(fence):
        child = os.fork()
        if child == 0:
            loop.fences.complete(fence)
            asyncio.run(wait(None))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert len(loop.fences) == 1 and loop.fences.poll() == []
        loop.fences.complete(fence)
    await wait(end)

asyncio.run(parent())
asyncio.run(wait(None))
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(LATE, id="tasks cancelled by a loop that ends"),
        pytest.param(CLOSED, id="a loop closed in the middle"),
        pytest.param(FORK, id="a fork in the middle"),
    ],
)
def test_exit_with_pending_fences_prints_nothing_and_returns_0(program):
    command = [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning"]
    done = subprocess.run([*command, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
