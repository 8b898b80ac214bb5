# SPDX-License-Identifier: Apache-2.0
"""The time until an asyncio task resumes after its fence ends, with thousands of pending fences."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from cudf_arrow_bridge.cuda.event_loops import LoopFences, fences_of_running_loop

from .measure import Spread

_PAUSE = 2e-4  # seconds between two single fences, so that the event loop sleeps again


def wake_latency(pending: int = 10_000, samples: int = 1000) -> dict[str, Any]:
    """Measure the time between the end of a fence on another thread and the next step of its task.

    Parameters
    ----------
    pending
        The number of waiting tasks, each with its own fence.
    samples
        The number of fences that end one at a time. The others then end together.

    Returns
    -------
    dict
        The microseconds of a single fence while the others are pending, and the microseconds per
        fence of those that end together.
    """
    return asyncio.run(_wake_latency(pending, samples))


async def _wake_latency(pending: int, samples: int) -> dict[str, Any]:
    loop = fences_of_running_loop()
    fences = [loop.fences.add() for _ in range(pending)]
    woken: dict[int, float] = {}
    tasks = [asyncio.create_task(_note_end(loop, fence, woken)) for fence in fences]
    await asyncio.sleep(0)
    ended: dict[int, float] = {}

    def end(mine: list[int], pause: float) -> None:
        for fence in mine:
            ended[fence] = time.perf_counter()
            loop.fences.complete(fence)
            if pause:
                time.sleep(pause)

    for mine, pause in ((fences[:samples], _PAUSE), (fences[samples:], 0.0)):
        thread = threading.Thread(target=end, args=[mine, pause])
        thread.start()
        await asyncio.gather(*tasks[: len(mine)])
        del tasks[: len(mine)]
        thread.join()
    one = Spread.of([woken[fence] - ended[fence] for fence in fences[:samples]])
    at_once = fences[samples:]
    taken = max(woken[fence] for fence in at_once) - ended[at_once[0]]
    return {
        "pending": pending,
        "one_us": round(1e6 * one.median, 1),
        "quartiles_us": [round(1e6 * one.lower, 1), round(1e6 * one.upper, 1)],
        "each_at_once_us": round(1e6 * taken / len(at_once), 2),
    }


async def _note_end(loop: LoopFences, fence: int, woken: dict[int, float]) -> None:
    await loop.wait(fence)
    woken[fence] = time.perf_counter()
