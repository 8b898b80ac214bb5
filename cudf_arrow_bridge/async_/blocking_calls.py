# SPDX-License-Identifier: Apache-2.0
"""Calls that may block, for event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")
Outcome = tuple[Any, BaseException | None]
_Call = tuple[asyncio.Future[Outcome], Callable[[], Any]]


class BlockingCalls:
    """Calls on one thread, in order, for the running loop.

    Python does not wait for this thread at exit, as it does for the threads of executors, because a
    call may wait forever.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        Thread(target=_make, args=(self._calls, self._loop), daemon=True).start()

    def submit(self, function: Callable[[], Any]) -> asyncio.Future[Outcome]:
        """Return the future result and exception. A call whose future is cancelled is not begun."""
        # The exception is a result, because futures reject StopIteration.
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._calls.put((future, function))
        return future

    def close(self) -> None:
        """End the thread after the submitted calls."""
        self._calls.put(None)


def _make(calls: SimpleQueue[_Call | None], loop: asyncio.AbstractEventLoop) -> None:
    while (call := calls.get()) is not None:
        future, function = call
        if not future.cancelled():
            # RuntimeError: the loop is closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_finish, future, outcome_of(function))
        del call, future, function


def outcome_of(function: Callable[[], Any]) -> Outcome:
    """Call a function and return its result and exception."""
    try:
        return function(), None
    except BaseException as error:
        return None, error


def _finish(future: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)


async def call_on_thread(function: Callable[[], Result]) -> Result:
    """Make one call on a thread of its own; see `BlockingCalls`."""
    calls = BlockingCalls()
    future = calls.submit(function)
    calls.close()
    result, error = await future
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]
