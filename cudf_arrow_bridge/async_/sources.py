# SPDX-License-Identifier: Apache-2.0
"""Asynchronous sources: streams of this package, foreign streams, async iterators, C producers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from .._core.stream.async_ import drive_capsule
from ..arrow.source_streams import has_stream_protocol
from ..arrow.sources import STREAM_PROTOCOLS, has_array_protocol
from .array_sources import AsyncArraySource, CProducerSource

__all__ = ["Producer", "await_foreign_stream", "await_producer", "is_producer"]

#: A C producer: a function that takes the address of an ``ArrowAsyncDeviceStreamHandler``.
Producer = Callable[[int], Any]


def is_producer(source: Any) -> bool:
    """Return whether an object is a C producer: callable, and no other kind of source."""
    if not callable(source) or isinstance(source, type):
        return False
    return not (has_array_protocol(source) or has_stream_protocol(source))


async def await_foreign_stream(source: Any, prefetch: int) -> AsyncArraySource:
    """Read a stream of another library on threads of this library."""
    name = next(name for name in STREAM_PROTOCOLS if hasattr(source, name))
    # Some libraries compute the whole stream here.
    capsule = await asyncio.get_running_loop().run_in_executor(None, getattr(source, name))
    return CProducerSource(prefetch, partial(drive_capsule, capsule))


async def await_producer(produce: Producer, prefetch: int) -> AsyncArraySource:
    """Call a producer with a handler on a separate thread, because some block until the end."""
    arrays: CProducerSource

    def run(handler: int) -> None:
        try:
            produce(handler)
        except BaseException as error:
            arrays.cause = error
            arrays.abandon()

    handlers: list[int] = []
    arrays = CProducerSource(prefetch, handlers.append)
    threading.Thread(target=run, args=handlers, daemon=True).start()
    return arrays
