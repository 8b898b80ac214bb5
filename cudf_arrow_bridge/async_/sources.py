# SPDX-License-Identifier: Apache-2.0
"""What arrays can be awaited of: our streams, foreign ones, async iterators, producers in C."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from .._core.stream.async_ import drive_capsule
from ..arrow.source_streams import has_stream_protocol
from ..arrow.sources import STREAM_PROTOCOLS, has_array_protocol
from .arrays import Arrays, HandedArrays

__all__ = ["Producer", "await_foreign_stream", "await_producer", "is_producer"]

#: A producer in C, as a function that takes the address of an ``ArrowAsyncDeviceStreamHandler``.
Producer = Callable[[int], Any]


def is_producer(source: Any) -> bool:
    """Say whether an object stands for a producer in C: it can be called, and is nothing else."""
    if not callable(source) or isinstance(source, type):
        return False
    return not (has_array_protocol(source) or has_stream_protocol(source))


async def await_foreign_stream(source: Any, prefetch: int) -> Arrays:
    """Have threads of the library read a stream of another library."""
    name = next(name for name in STREAM_PROTOCOLS if hasattr(source, name))
    # Some compute all of it here.
    capsule = await asyncio.get_running_loop().run_in_executor(None, getattr(source, name))
    return HandedArrays(prefetch, partial(drive_capsule, capsule))


async def await_producer(produce: Producer, prefetch: int) -> Arrays:
    """Give a handler to a producer, on a thread of its own, since some block until the end."""
    arrays: HandedArrays

    def run(handler: int) -> None:
        try:
            produce(handler)
        except BaseException as error:
            arrays.cause = error
            arrays.abandon()

    handlers: list[int] = []
    arrays = HandedArrays(prefetch, handlers.append)
    threading.Thread(target=run, args=handlers, daemon=True).start()
    return arrays
