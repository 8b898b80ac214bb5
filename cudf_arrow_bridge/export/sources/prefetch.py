# SPDX-License-Identifier: Apache-2.0
"""Results of asynchronous work in order, with a bounded number ahead of the consumer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import islice
from typing import Any, TypeVar

#: The number of results that are computed or fetched ahead of the consumer.
AHEAD = 2

Item = TypeVar("Item")
Started = TypeVar("Started")


def results_ahead(
    items: Iterable[Item], start: Callable[[Item], Started], result: Callable[[Started], Any]
) -> Iterator[Any]:
    """Yield the results of items in order.

    `items` is advanced just before `start` is called with the next item and starts its work. When
    the iterator is closed, each ``concurrent.futures.Future`` from `start` whose result was not
    requested is cancelled. `result` waits for started work and returns its result.
    """
    rest = iter(items)
    started = deque(map(start, islice(rest, 1 + AHEAD)))
    try:
        while started:
            # No local variable, which would extend the lifetime of the result.
            yield result(started.popleft())
            started.extend(map(start, islice(rest, 1)))
    finally:
        # Dask keeps the exceptions of tasks, and their tracebacks refer to this frame.
        while started:
            if isinstance(started[0], Future):
                started[0].cancel()
            started.popleft()
