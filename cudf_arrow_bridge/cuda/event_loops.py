# SPDX-License-Identifier: Apache-2.0
"""Fences in asyncio's event loops."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary, ref

from .._core.fences import CANCELLED, FAILED, FenceSet

__all__ = ["LoopFences", "fences_of_running_loop"]


class LoopFences:
    """The fences that tasks of one event loop wait for, all on one descriptor.

    To be used on the loop's thread, except for the methods of `fences`.

    The loop alone keeps this object, as the reader of the descriptor, until it is closed. It refers
    to the loop only through the tasks that are waiting, so that neither keeps the other.

    Attributes
    ----------
    fences
        Where fences are added. Each one is to be waited for once, or cancelled.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.fences = FenceSet()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        #: Why each fence failed that ended before a task waited for it; "" for those reached.
        self._ended: dict[int, str] = {}
        loop.add_reader(self.fences.fileno(), self._tell)

    async def wait(self, fence: int) -> None:
        """Wait until a fence is reached; if it is already, the loop does not run in between.

        A task that is cancelled meanwhile cancels the fence.

        Raises
        ------
        RuntimeError
            If CUDA reports an error of the work before the fence, or of an earlier one.
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
                # Its one result, which may be another by now, is dropped when it comes.
                self.fences.cancel(fence)
                raise
        elif error:
            raise RuntimeError(error)

    def _tell(self) -> None:
        """Take the results of fences that have ended, to those who wait for them."""
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


#: Weak at both ends: a loop that was closed has let go of its fences.
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
