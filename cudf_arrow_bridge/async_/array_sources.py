# SPDX-License-Identifier: Apache-2.0
"""Asynchronous sources of arrays: C producers and async iterators."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

from .._core.schema import Schema, check_same
from .._core.stream.async_ import AsyncReader
from .._core.stream.stream_export import StreamState
from ..arrow.sources import SourceArray, open_array
from ..cuda.event_loops import fences_of_running_loop

__all__ = ["AsyncArraySource", "AsyncIteratorSource", "CProducerSource"]


class AsyncArraySource(Protocol):
    """An asynchronous source of arrays with one schema, for one task at a time."""

    @property
    def schema(self) -> Schema:
        """The schema of all arrays, after the first array."""

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels without a JSON form, for arrays that this process exported."""

    async def next(self) -> object | None:
        """Return the capsule of the next array; None at the end."""

    async def close(self) -> None:
        """Cancel the producer, once. May be called again."""


class CProducerSource:
    """Arrays that a producer sends to a C handler, on any thread; see `AsyncArraySource`.

    Parameters
    ----------
    prefetch
        The maximum number of arrays that are requested or waiting.
    give
        Called with the address of the handler for the producer; returns the state of a stream of
        this package.
    """

    def __init__(self, prefetch: int, give: Callable[[int], StreamState | None]) -> None:
        self._fences = fences_of_running_loop()
        self._reader = AsyncReader(prefetch, self._fences.fences)
        #: The exception of a producer that is written in Python.
        self.cause: BaseException | None = None
        handler = self._reader.take_handler()
        try:
            self._state = give(handler)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Release the handler if no producer has it."""
        self._reader.abandon()

    @property
    def schema(self) -> Schema:
        """See `AsyncArraySource`."""
        return self._reader.schema()

    @property
    def labels(self) -> tuple[Any, ...]:
        """See `AsyncArraySource`."""
        return () if self._state is None else self._state.labels

    async def next(self) -> object | None:
        """Return the capsule of the next array; see `AsyncArraySource`."""
        while fence := self._reader.arm():
            await self._fences.wait(fence)
        try:
            return self._reader.next()
        except Exception as error:
            failure = error
        raise self._cause_of(failure)

    def _cause_of(self, failure: Any) -> BaseException:
        """Return the exception of a producer in this process, otherwise one for its errno code."""
        if self._state is not None and self._state.error is not None:
            return self._state.error
        if self.cause is not None:
            return self.cause
        failure.metadata = dict(_pairs(failure.metadata))
        return failure  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Cancel the producer; see `AsyncArraySource`."""
        self._reader.cancel()


def _pairs(encoded: bytes) -> list[tuple[bytes, bytes]]:
    """Decode the keys and values of metadata, encoded as in ``ArrowSchema.metadata``."""
    if not encoded:
        return []
    parts, begin = [], 4
    for _ in range(2 * struct.unpack_from("=i", encoded)[0]):
        (size,) = struct.unpack_from("=i", encoded, begin)
        parts.append(encoded[begin + 4 : begin + 4 + size])
        begin += 4 + size
    return list(zip(parts[::2], parts[1::2], strict=True))


class AsyncIteratorSource:
    """Arrays of an async iterator, with read-ahead; see `AsyncArraySource`.

    Parameters
    ----------
    objects
        An async iterator of objects with an array protocol and one schema.
    prefetch
        The maximum number of arrays that are requested or waiting.
    """

    def __init__(self, objects: AsyncIterator[Any], prefetch: int) -> None:
        self._objects = objects
        self._room = asyncio.Semaphore(prefetch)
        self._waiting: asyncio.Queue[Any] = asyncio.Queue()
        self._first: SourceArray | None = None
        self._is_over = False
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        """Put objects into the queue, followed by the exception that ended them."""
        try:
            while await self._room.acquire():
                self._waiting.put_nowait((await anext(self._objects), None))
        except BaseException as error:
            # This includes CancelledError, which the source may raise itself.
            self._waiting.put_nowait((None, error))

    @property
    def schema(self) -> Schema:
        """See `AsyncArraySource`."""
        assert self._first is not None
        return Schema.copy_of(self._first.schema_capsule)

    @property
    def labels(self) -> tuple[Any, ...]:
        """See `AsyncArraySource`."""
        return () if self._first is None else self._first.labels

    async def next(self) -> object | None:
        """Return the capsule of the next array; see `AsyncArraySource`."""
        if self._is_over:
            return None
        obj, error = await self._waiting.get()
        if error is not None:
            self._is_over = True
            if isinstance(error, StopAsyncIteration):
                return None
            raise error
        self._room.release()
        source = open_array(obj)
        if self._first is None:
            self._first = source
        else:
            check_same(self._first.schema_capsule, source.schema_capsule)
        return source.array_capsule

    async def close(self) -> None:
        """Stop the iterator and close it if possible; see `AsyncArraySource`."""
        self._is_over = True
        self._reading.cancel()
        await asyncio.wait([self._reading])
        if (aclose := getattr(self._objects, "aclose", None)) is not None:
            await aclose()
