# SPDX-License-Identifier: Apache-2.0
"""Asynchronous sources of arrays: C producers, foreign streams and async iterators.

Each source has arrays of one schema, for one task at a time. ``next`` returns the capsule of the
next array, or None at the end. ``schema`` and ``labels`` (labels without a JSON form, for arrays
that this process exported) are known after the first array. ``close`` cancels the producer, once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from .._core.schema import Schema, check_same
from .._core.stream.async_ import AsyncReader
from .._core.stream.stream_export import StreamState, code_of, describe
from .._core.stream.stream_import import StreamReader
from ..arrow.sources import STREAM_PROTOCOLS, SourceArray, is_of_rapids, open_array
from ..cuda.event_loops import fences_of_running_loop
from ..export.inputs import array_of_rapids
from .blocking_calls import BlockingCalls, Outcome, call_on_thread, outcome_of


class CProducerSource:
    """Arrays that a producer sends to a C handler, on any thread.

    The function `give` passes the address of the handler to the producer. It returns the state of a
    stream of this package. At most `prefetch` arrays are requested or waiting. If `is_foreign`, the
    producer is not this package's, and is called on another thread than the loop's.
    """

    def __init__(
        self,
        prefetch: int,
        give: Callable[[int], StreamState | None],
        *,
        is_foreign: bool = False,
    ) -> None:
        self._fences = fences_of_running_loop()
        self._reader = AsyncReader(prefetch, self._fences.fences)
        #: The exception of a producer that is written in Python.
        self._cause: BaseException | None = None
        handler = self._reader.take_handler()
        try:
            self._state = give(handler)
        except BaseException:
            self._reader.abandon()
            raise
        self._calls = BlockingCalls() if is_foreign else None

    def fail(self, error: BaseException) -> None:
        """End the stream with the exception of a producer, which may have passed on the handler."""
        self._cause = error
        self._reader.fail(code_of(error), describe(error))

    @property
    def schema(self) -> Schema:
        """The schema of all arrays."""
        return self._reader.schema()

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the first array."""
        return () if self._state is None else self._state.labels

    async def next(self) -> object | None:
        """Return the capsule of the next array; None at the end."""
        while fence := self._reader.prepare():
            await self._fences.wait(fence)
        capsule: object | None
        capsule, error = await self._call(self._reader.next)
        if error is not None:
            raise self._cause_of(error)
        return capsule

    async def _call(self, function: Callable[[], Any]) -> Outcome:
        """Call a function that calls the producer."""
        return outcome_of(function) if self._calls is None else await self._calls.submit(function)

    def _cause_of(self, failure: BaseException) -> BaseException:
        """Return the exception of a producer in this process, otherwise one for its errno code."""
        if self._state is not None and self._state.error is not None:
            return self._state.error
        return failure if self._cause is None else self._cause

    async def close(self) -> None:
        """Cancel the producer."""
        try:
            await self._call(self._reader.cancel)
        finally:
            if self._calls is not None:
                self._calls.close()


async def await_foreign_stream(source: Any, prefetch: int) -> CProducerSource:
    """Read a stream of another library on threads of this library."""
    name = next(name for name in STREAM_PROTOCOLS if hasattr(source, name))
    # Some libraries compute the whole stream here.
    capsule = await call_on_thread(getattr(source, name))
    return CProducerSource(prefetch, StreamReader(capsule).drive)


async def await_producer(produce: Callable[[int], Any], prefetch: int) -> CProducerSource:
    """Call a producer with a handler on a separate thread, because some block until the end."""
    arrays: CProducerSource

    def run(handler: int) -> None:
        try:
            produce(handler)
        except BaseException as error:
            arrays.fail(error)

    handlers: list[int] = []
    arrays = CProducerSource(prefetch, handlers.append, is_foreign=True)
    threading.Thread(target=run, args=handlers, daemon=True).start()
    return arrays


class AsyncIteratorSource:
    """Arrays of an async iterator, of which at most `prefetch` are requested or waiting."""

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
            # A source that suppresses its cancellation yields another object.
            while not self._is_over:
                await self._room.acquire()
                self._waiting.put_nowait((await anext(self._objects), None))
        except BaseException as error:
            # This includes CancelledError, which the source may raise itself.
            self._waiting.put_nowait((None, error))

    @property
    def schema(self) -> Schema:
        """The schema of all arrays."""
        assert self._first is not None
        return Schema.copy_of(self._first.schema_capsule)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the first array."""
        return () if self._first is None else self._first.labels

    async def next(self) -> object | None:
        """Return the capsule of the next array; None at the end."""
        if self._is_over:
            return None
        obj, error = await self._waiting.get()
        if error is not None:
            self._is_over = True
            if isinstance(error, StopAsyncIteration):
                return None
            raise error
        self._room.release()
        source = array_of_rapids(obj) if is_of_rapids(obj) else open_array(obj)
        if self._first is None:
            self._first = source
        else:
            check_same(self._first.schema_capsule, source.schema_capsule)
        return source.array_capsule

    async def close(self) -> None:
        """Stop the iterator and close it if possible."""
        self._is_over = True
        self._reading.cancel()
        await asyncio.wait([self._reading])
        # The traceback of its exception refers to this object, which would keep the arrays alive.
        self._waiting = asyncio.Queue()
        if (aclose := getattr(self._objects, "aclose", None)) is not None:
            await aclose()


#: A source of arrays.
ArraySource = CProducerSource | AsyncIteratorSource
