# SPDX-License-Identifier: Apache-2.0
"""Calls that may block, for event loops."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from .._core.arguments import current_device, enter_thread
from .._core.interpreter import enter_interpreter, leave_interpreter

Result = TypeVar("Result")
Outcome = tuple[Any, BaseException | None]
#: A future, and the function that is called, or then its outcome.
_Call = list[Any]


class BlockingCalls:
    """Calls on one thread, in order, for the running loop.

    Python does not wait for this thread at exit, as it does for the threads of executors, because a
    call may wait forever. The device that is current now is current on the thread.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        arguments = self._calls, self._loop, current_device()
        Thread(target=_make, args=arguments, daemon=True).start()

    def submit(self, function: Callable[[], Any]) -> asyncio.Future[Outcome]:
        """Return the future result and exception. A call whose future is cancelled is not begun."""
        # The exception is a result, because futures reject StopIteration.
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._calls.put([future, function])
        return future

    def close(self) -> None:
        """End the thread after the submitted calls. Also called when this object is dropped."""
        self._calls.put(None)

    __del__ = close


def _make(calls: SimpleQueue[_Call | None], loop: asyncio.AbstractEventLoop, device: int) -> None:
    enter_thread(device)
    # At exit, the call in progress is awaited for a short time, and no other is begun.
    while (call := calls.get()) is not None and enter_interpreter():
        if not call[0].cancelled():
            call[1] = _outcome_of(call[1])
            # RuntimeError: the loop is closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_finish, call)
        del call
        leave_interpreter()


def _outcome_of(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except BaseException as error:
        return None, error


def _finish(call: _Call) -> None:
    future, outcome = call
    # The thread still references the call, but must not keep the outcome.
    call.clear()
    if not future.done():
        future.set_result(outcome)


async def call_on_thread(function: Callable[[], Result]) -> Result:
    """Make one call on a thread of its own; see `BlockingCalls`."""
    result, error = await BlockingCalls().submit(function)
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


class ThreadReader:
    """Reads and closes a source that may block, on one thread.

    While an item is used, the next `prefetch` ones are read. The function `read` returns the next
    item, or None at the end.
    """

    def __init__(
        self, read: Callable[[], Any], prefetch: int, close: Callable[[], object] | None = None
    ) -> None:
        self._read, self._close = read, close
        self._prefetch = prefetch
        self._calls = BlockingCalls()
        self._requested: deque[asyncio.Future[Outcome]] = deque()

    async def next(self) -> Any:
        """Return the next item; None at the end."""
        self._request(1)
        item, error = await self._requested.popleft()
        if error is not None:
            raise error
        if item is not None:
            self._request(self._prefetch)
        return item

    def _request(self, count: int) -> None:
        while len(self._requested) < count:
            self._requested.append(self._calls.submit(self._read))

    async def close(self) -> None:
        """Drop the items that were read ahead, and close the source."""
        while self._requested:
            self._requested.popleft().cancel()
        if self._close is not None:
            self._calls.submit(self._close)
        self._calls.close()
