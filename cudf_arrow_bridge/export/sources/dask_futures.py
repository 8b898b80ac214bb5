# SPDX-License-Identifier: Apache-2.0
"""Results of Dask futures, fetched from the workers in order with bounded prefetch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from operator import methodcaller
from typing import Any

from .prefetch import results_ahead


def gather_results(source: Any) -> Iterator[Any] | None:
    """Iterate over the results of a Dask future, or of a list of futures, in order.

    Return None for other sources, without importing Dask. The exception of a task is raised in
    place of its result. Closing the iterator cancels pending fetches, but not the futures, which
    the caller owns. The futures of an iterator are handled one at a time, since it may wait for the
    next. In the event loop that fetches the results, which would deadlock, the iterator raises a
    RuntimeError.
    """
    if "distributed" not in sys.modules:
        return None
    from distributed import Future, as_completed
    from distributed.actor import BaseActorFuture

    if isinstance(source, as_completed) and source.with_results:
        raise TypeError("expected as_completed without results, got with_results=True")
    futures = source if isinstance(source, (list, tuple)) else [source]
    if not futures or not all(isinstance(item, (Future, BaseActorFuture)) for item in futures):
        return None
    return results_ahead(futures, _fetch, methodcaller("result"))


def _fetch(future: Any) -> Any:
    """Start to fetch a result and return a future of it."""
    from distributed.actor import BaseActorFuture

    if isinstance(future, BaseActorFuture):
        # Actors send their results without a request.
        return future
    client = future.client
    if client is None:
        raise ValueError(f"expected a future of a running client, got {future!r}")
    if client.asynchronous:
        raise RuntimeError(
            f"cannot wait for {future!r} on the thread of the client's event loop, which "
            "would block it: read results on another thread, or with to_arrow_device_async"
        )
    # Imported here because it is slow to import. Dask has already imported it.
    import asyncio

    async def result() -> Any:
        # If Client.gather is cancelled while a task runs, asyncio prints the failure of the task.
        return await future

    return asyncio.run_coroutine_threadsafe(result(), client.loop.asyncio_loop)
