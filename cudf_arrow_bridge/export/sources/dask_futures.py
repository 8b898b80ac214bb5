# SPDX-License-Identifier: Apache-2.0
"""Results of Dask's futures: fetched from the workers in order, a bounded number ahead."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from itertools import islice
from typing import Any

__all__ = ["futures_of", "gather_results"]

#: The number of results that are fetched, or waited for, before they are asked for.
AHEAD = 2


def futures_of(source: Any) -> Sequence[Any] | None:
    """Return a future of Dask, or a list of them, as a sequence.

    Futures of an iterator are found one by one: nobody knows when it has the next.

    Returns
    -------
    sequence or None
        None for anything else. Nothing of Dask is imported to find out.

    Raises
    ------
    TypeError
        If the source gives results beside their futures.
    """
    if "distributed" not in sys.modules:
        return None
    from distributed import Future, as_completed
    from distributed.actor import BaseActorFuture

    if isinstance(source, as_completed) and source.with_results:
        raise TypeError(
            "as_completed(..., with_results=True) found, futures without their results expected"
        )
    kinds = (Future, BaseActorFuture)
    if isinstance(source, kinds):
        return [source]
    if isinstance(source, (list, tuple)) and source:
        return source if all(isinstance(item, kinds) for item in source) else None
    return None


def gather_results(futures: Sequence[Any]) -> Iterator[Any]:
    """Give the results of futures, in order.

    An exception of a task is raised in its turn. Closing the iterator gives up what is on its way;
    the futures are the caller's.

    Raises
    ------
    RuntimeError
        If called in the event loop that fetches the results, which would wait for itself.
    """
    rest = iter(futures)
    fetched = deque(map(_fetch, islice(rest, 1 + AHEAD)))
    try:
        while fetched:
            # Not in a variable: the result is alive as long as its consumer wants it.
            yield fetched.popleft().result()
            fetched.extend(map(_fetch, islice(rest, 1)))
    finally:
        for pending in fetched:
            if isinstance(pending, Future):
                pending.cancel()
        # Dask keeps the exceptions of tasks, and by their tracebacks this frame.
        fetched.clear()


def _fetch(future: Any) -> Any:
    """Begin to fetch a result, and return what waits for it."""
    from distributed.actor import BaseActorFuture

    if isinstance(future, BaseActorFuture):
        # Results of actors come by themselves.
        return future
    client = future.client
    if client is None:
        raise ValueError(f"{future!r} found, a future of a running client expected")
    if client.asynchronous:
        raise RuntimeError(
            f"{future!r} found in the event loop of its client, which would wait for itself: read"
            " results on another thread, or with to_arrow_device_async"
        )
    # It takes time to import; here somebody has done so.
    import asyncio

    return asyncio.run_coroutine_threadsafe(
        client.gather(future, asynchronous=True), client.loop.asyncio_loop
    )
