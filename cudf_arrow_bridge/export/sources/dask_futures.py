# SPDX-License-Identifier: Apache-2.0
"""Results of Dask futures, fetched from the workers in order with bounded prefetch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import methodcaller
from typing import Any

from ...arrow.sources import is_instance
from .prefetch import results_ahead


def is_future(obj: Any) -> bool:
    """Return whether an object is the future of a Dask task or of an actor's method.

    Raises a TypeError for an iterator of futures that also yields results.
    """
    if is_instance(obj, "distributed", "as_completed") and obj.with_results:
        raise TypeError(
            "as_completed with with_results=True is not supported: use with_results=False"
        )
    return is_instance(obj, "distributed", "Future") or is_instance(
        obj, "distributed.actor", "BaseActorFuture"
    )


def gather_results(futures: Sequence[Any]) -> Iterator[Any]:
    """Iterate over the results of Dask futures, in order.

    The exception of a task is raised in place of its result. Closing the iterator cancels pending
    fetches, but not the futures, which the caller owns. The futures of an iterator are handled one
    at a time, since it may wait for the next. In the event loop that fetches the results, which
    would deadlock, the iterator raises a RuntimeError.
    """
    return results_ahead(futures, _fetch, methodcaller("result"))


def _fetch(future: Any) -> Any:
    """Start to fetch a result and return a future of it."""
    if is_instance(future, "distributed.actor", "BaseActorFuture"):
        # Actors send their results without a request.
        return future
    client = future.client
    if client is None:
        raise ValueError(f"the client of the future is not running: {future!r}")
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
