# SPDX-License-Identifier: Apache-2.0
"""`Fences`: stream fences for programs with their own event loop."""

from __future__ import annotations

import select
from typing import Any, Literal, NamedTuple

from .._core.stream.fences import CANCELLED, FAILED, REACHED, FenceSet
from ..cuda.streams import resolve_stream
from .device_array import DeviceArray

FenceState = Literal["reached", "cancelled", "failed"]

_STATES: dict[int, FenceState] = {REACHED: "reached", CANCELLED: "cancelled", FAILED: "failed"}


class FenceResult(NamedTuple):
    """The result of a fence.

    Attributes
    ----------
    fence
        The number that `Fences.add` returned.
    state
        ``"reached"``, ``"cancelled"``, or ``"failed"`` if CUDA reports an error of the work before
        the fence or of earlier work.
    error
        The name and description of that error, or an empty string.
    """

    fence: int
    state: FenceState
    error: str


class Fences:
    """Fences in CUDA streams, whose completion is signaled through one file descriptor.

    Use it in programs with their own event loop. In asyncio, use `DeviceArray.ready` instead. The
    fences of one stream are reported independently of pending fences of other streams. ``len``
    returns the number of unfinished fences.

    It is thread-safe. When it is deleted, unfinished fences are discarded. A forked child process
    needs a new object.

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
        """Return the file descriptor, which is readable while `poll` has results.

        This object owns the descriptor and closes it when it is deleted. Use it only with
        ``select``, ``epoll`` and similar calls; do not read from it or close it.
        """
        return self._fences.fileno()

    def add(self, source: Any = None) -> int:
        """Add a fence that is reached when an array is ready or the work of a stream is done.

        Parameters
        ----------
        source
            A `DeviceArray`, to which a reference is kept until it is ready. Host memory is always
            ready. Or a stream of the current device, as ``stream=`` of `to_arrow_device`; the fence
            covers the work that is enqueued on it at the call. Without a GPU, the fence of a stream
            is reached immediately.

        Returns
        -------
        int
            The number of the fence, unique in this object.
        """
        if isinstance(source, DeviceArray):
            return self._fences.add_array(source._array)
        return self._fences.add_stream(resolve_stream(source))

    def cancel(self, fence: int) -> bool:
        """Cancel a fence. The work before it continues.

        Returns
        -------
        bool
            Whether the fence was unfinished. If so, its result has the state ``"cancelled"``.
        """
        return self._fences.cancel(fence)

    def poll(self, timeout: float | None = 0) -> list[FenceResult]:
        """Return the results of finished fences in the order of completion, each result once.

        Parameters
        ----------
        timeout
            The number of seconds to wait for a result, at most 24 days. None: wait without limit.

        Returns
        -------
        list[FenceResult]
            Empty after the timeout, after `wake`, or if another thread took the results.
        """
        if timeout != 0:
            waiting = select.poll()
            waiting.register(self, select.POLLIN)
            # A negative number would wait without limit, and the number is an int in C.
            limit = None if timeout is None else min(max(timeout * 1000, 0), 2**31 - 1)
            waiting.poll(limit)
        return [
            FenceResult(fence, _STATES[state], error) for fence, state, error in self._fences.poll()
        ]

    def wake(self) -> None:
        """Make the descriptor readable and one `poll` return immediately. It is thread-safe."""
        self._fences.wake()

    def __len__(self) -> int:
        return len(self._fences)

    def __bool__(self) -> bool:
        return True
