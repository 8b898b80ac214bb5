# SPDX-License-Identifier: Apache-2.0
"""Fences in asyncio event loops."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary, ref

from .._core.stream.fences import CANCELLED, FAILED, FenceSet


class LoopFences:
    """The fences that tasks of one event loop wait for, with one file descriptor.

    Use it only on the loop's thread, except for the methods of `fences`.

    Only the loop references this object, as the reader of the descriptor, until the loop is closed.
    This object references the loop only through waiting tasks, so that neither keeps the other
    alive.

    Attributes
    ----------
    fences
        The fence set. Each fence must be waited for once or cancelled.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.fences = FenceSet()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        #: The error of each fence that ended before a task waited for it; "" for reached fences.
        self._ended: dict[int, str] = {}
        loop.add_reader(self.fences.fileno(), self._tell)

    async def wait(self, fence: int) -> None:
        """Wait until a fence is reached.

        If it is already reached, the task does not yield to the loop. If the task is cancelled, the
        fence is cancelled.

        Raises
        ------
        RuntimeError
            If CUDA reports an error of the work before the fence, or of earlier work.
        asyncio.CancelledError
            If the fence is cancelled.
        """
        self._tell()
        if (error := self._ended.pop(fence, None)) is None:
            future = asyncio.get_running_loop().create_future()
            self._waiting[fence] = future
            try:
                await future
            except (asyncio.CancelledError, GeneratorExit):
                # Its result, which may differ by now, is dropped when it arrives.
                self.fences.cancel(fence)
                raise
        elif error:
            raise RuntimeError(error)

    def _tell(self) -> None:
        """Pass the results of ended fences to the waiting tasks."""
        for fence, state, error in self.fences.poll():
            future = self._waiting.pop(fence, None)
            if future is None:
                if state != CANCELLED:
                    self._ended[fence] = error
            elif future.done():
                pass  # its task was cancelled
            elif state == CANCELLED:
                future.cancel()
            elif state == FAILED:
                future.set_exception(RuntimeError(error))
            else:
                future.set_result(None)


#: Weak references on both sides, because a closed loop no longer references its fences.
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, ref[LoopFences]] = WeakKeyDictionary()


def fences_of_running_loop() -> LoopFences:
    """Return the fences of the event loop that runs on this thread.

    Raises
    ------
    RuntimeError
        If no event loop runs.
    """
    loop = asyncio.get_running_loop()
    known = _of_loops.get(loop)
    fences = None if known is None else known()
    if fences is None:
        fences = LoopFences(loop)
        _of_loops[loop] = ref(fences)
    return fences
