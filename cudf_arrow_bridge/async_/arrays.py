# SPDX-License-Identifier: Apache-2.0
"""Arrays that an event loop waits for: those of C producers, and those of async iterators."""

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

__all__ = ["Arrays", "HandedArrays", "IteratedArrays"]


class Arrays(Protocol):
    """Arrays of one schema, each awaited; for one task at a time."""

    @property
    def schema(self) -> Schema:
        """The schema of all arrays, once there was one."""

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels without a JSON form, of arrays that this process exports."""

    async def next(self) -> object | None:
        """Return the capsule of the next array; None at the end."""

    async def close(self) -> None:
        """End the producer, which has then been told so once. May be repeated."""


class HandedArrays:
    """Arrays that a producer hands to a handler of C, on whatever thread; see `Arrays`.

    Parameters
    ----------
    prefetch
        How many arrays may be requested or waiting.
    give
        Called with the address of the handler, which a producer gets; returns the state of a stream
        of this package.
    """

    def __init__(self, prefetch: int, give: Callable[[int], StreamState | None]) -> None:
        self._fences = fences_of_running_loop()
        self._reader = AsyncReader(prefetch, self._fences.fences)
        #: An exception of a producer that is written in Python.
        self.cause: BaseException | None = None
        handler = self._reader.take_handler()
        try:
            self._state = give(handler)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Release the handler, which no producer has."""
        self._reader.abandon()

    @property
    def schema(self) -> Schema:
        """See `Arrays`."""
        return self._reader.schema()

    @property
    def labels(self) -> tuple[Any, ...]:
        """See `Arrays`."""
        return () if self._state is None else self._state.labels

    async def next(self) -> object | None:
        """Return the capsule of the next array; see `Arrays`."""
        while fence := self._reader.arm():
            await self._fences.wait(fence)
        try:
            return self._reader.next()
        except Exception as error:
            failure = error
        raise self._cause_of(failure)

    def _cause_of(self, failure: Any) -> BaseException:
        """Return the exception of a producer in this process, else that of its errno code."""
        if self._state is not None and self._state.error is not None:
            return self._state.error
        if self.cause is not None:
            return self.cause
        failure.metadata = dict(_pairs(failure.metadata))
        return failure  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Cancel the producer; see `Arrays`."""
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


class IteratedArrays:
    """Arrays of an async iterator, which is read ahead; see `Arrays`.

    Parameters
    ----------
    objects
        Gives objects with a protocol of arrays, of one schema.
    prefetch
        How many arrays may be asked for or waiting.
    """

    def __init__(self, objects: AsyncIterator[Any], prefetch: int) -> None:
        self._objects = objects
        self._room = asyncio.Semaphore(prefetch)
        self._waiting: asyncio.Queue[Any] = asyncio.Queue()
        self._first: SourceArray | None = None
        self._is_over = False
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        """Put objects into the queue, and the exception that ended them last."""
        try:
            while await self._room.acquire():
                self._waiting.put_nowait((await anext(self._objects), None))
        except BaseException as error:
            # Also that it was cancelled, which the source may say by itself.
            self._waiting.put_nowait((None, error))

    @property
    def schema(self) -> Schema:
        """See `Arrays`."""
        assert self._first is not None
        return Schema.copy_of(self._first.schema_capsule)

    @property
    def labels(self) -> tuple[Any, ...]:
        """See `Arrays`."""
        return () if self._first is None else self._first.labels

    async def next(self) -> object | None:
        """Return the capsule of the next array; see `Arrays`."""
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
        """End the iterator, which is closed if it can be; see `Arrays`."""
        self._is_over = True
        self._reading.cancel()
        await asyncio.wait([self._reading])
        if (aclose := getattr(self._objects, "aclose", None)) is not None:
            await aclose()
