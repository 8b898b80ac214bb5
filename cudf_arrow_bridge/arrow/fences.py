# SPDX-License-Identifier: Apache-2.0
"""`Fences`: for programs with an event loop of their own."""

from __future__ import annotations

import select
from typing import Any, Literal, NamedTuple

from .._core.fences import CANCELLED, FAILED, REACHED, FenceSet
from ..cuda.streams import resolve_stream
from .device_array import DeviceArray

__all__ = ["FenceResult", "Fences"]

FenceState = Literal["reached", "cancelled", "failed"]

_STATES: dict[int, FenceState] = {REACHED: "reached", CANCELLED: "cancelled", FAILED: "failed"}


class FenceResult(NamedTuple):
    """How a fence ended.

    Attributes
    ----------
    fence
        What `Fences.add` returned.
    state
        ``"reached"``, ``"cancelled"``, or ``"failed"`` if CUDA reports an error of the work before
        the fence, or of an earlier one.
    error
        The name and the description of that error, or an empty string.
    """

    fence: int
    state: FenceState
    error: str


class Fences:
    """Fences in the work of streams, which tell through one file descriptor when it is done.

    For programs with an event loop of their own; in asyncio, `DeviceArray.ready` does all this. A
    fence of one stream is told although those of others are pending, as long as no more than 8
    streams have unfinished fences. ``len`` is the number of fences that have not ended.

    Any number of threads may use it. When it goes, fences that have not ended are forgotten. A
    forked child needs its own.

    Examples
    --------
    >>> import select
    >>> import pandas as pd
    >>> array = cab.to_arrow_device(cab.from_arrow_device(pd.DataFrame({"a": [1, 2, 3]})))
    >>> fences = cab.Fences()
    >>> fence = fences.add(array)
    >>> select.select([fences], [], []) == ([fences], [], [])
    True
    >>> fences.poll() == [(fence, "reached", "")]
    True
    """

    def __init__(self) -> None:
        self._fences = FenceSet()

    def fileno(self) -> int:
        """Return the descriptor, readable while `poll` has something to return.

        It belongs to this object and goes with it: for ``select``, ``epoll`` and the like, never to
        be read or closed.
        """
        return self._fences.fileno()

    def add(self, source: Any = None) -> int:
        """Add a fence that is reached when an array is ready, or a stream has come so far.

        Parameters
        ----------
        source
            A `DeviceArray`, which is kept until it is ready; CPU memory always is. Or a stream of
            the current device, as ``stream=`` of `to_arrow_device`, for the work that is enqueued
            on it so far. Without a GPU, its fence is reached at once.

        Returns
        -------
        int
            The fence's number, which no other fence of this object will have.
        """
        if isinstance(source, DeviceArray):
            return self._fences.add_array(source._array)
        return self._fences.add_stream(resolve_stream(source))

    def cancel(self, fence: int) -> bool:
        """End a fence as cancelled; the work before it goes on.

        Returns
        -------
        bool
            Whether it had not ended. If so, its one result says cancelled.
        """
        return self._fences.cancel(fence)

    def poll(self, timeout: float | None = 0) -> list[FenceResult]:
        """Return the results of fences that have ended, each once, in the order in which they did.

        Parameters
        ----------
        timeout
            For how many seconds to wait until there is one; None: without limit.

        Returns
        -------
        list[FenceResult]
            Empty after the timeout or `wake`, and where another thread took the results first.
        """
        if timeout != 0:
            waiting = select.poll()
            waiting.register(self, select.POLLIN)
            waiting.poll(None if timeout is None else timeout * 1000)
        return [
            FenceResult(fence, _STATES[state], error) for fence, state, error in self._fences.poll()
        ]

    def wake(self) -> None:
        """Make the descriptor readable, and one `poll` return at once; from any thread."""
        self._fences.wake()

    def __len__(self) -> int:
        return len(self._fences)

    def __bool__(self) -> bool:
        return True
