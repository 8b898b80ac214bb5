# SPDX-License-Identifier: Apache-2.0
"""Asynchronous sources of arrays: streams, C producers and async iterators.

Each source has arrays of one schema, for one task at a time. ``next`` returns the next array, or
None at the end; at most `prefetch` arrays are requested or waiting. ``close`` ends the source.
These are no async generators: at the end of its loop, asyncio closes all generators at once, which
fails for a generator that another one reads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator
from functools import partial
from queue import SimpleQueue
from typing import Any

from .._core.stream.stream_import import AsyncReader
from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.foreign_streams import open_stream
from ..arrow.sources import SourceArray
from .blocking_calls import ThreadReader, call_on_thread


class StreamSource(ThreadReader):
    """The arrays of an object with a stream protocol, which a thread reads."""

    def __init__(self, source: Any, prefetch: int) -> None:
        if isinstance(source, DeviceArrayStream):
            # Others could claim or release it before the thread begins.
            source = source._take()
        arrays = _arrays_of(source)
        super().__init__(partial(next, arrays, None), prefetch, arrays.close)


def _arrays_of(source: Any) -> Generator[SourceArray]:
    # Some libraries compute the whole stream here.
    stream = open_stream(source)
    try:
        for array in stream.arrays:
            yield SourceArray(stream.schema_capsule, array, stream.kind, stream.labels, None)
            del array
    finally:
        stream.release()


class ProducerSource(ThreadReader):
    """The arrays that a producer sends to a C handler, on any thread.

    The function `produce` passes the address of the handler to the producer.
    """

    def __init__(self, produce: Callable[[int], Any], prefetch: int) -> None:
        self._reader = reader = AsyncReader(prefetch)
        super().__init__(reader.next, 0)

        def run() -> None:
            try:
                produce(reader.handler)
            except BaseException as error:
                # The producer may have the handler, and send more arrays.
                reader.fail(error)

        # Some producers block until the end.
        threading.Thread(target=run, daemon=True).start()

    async def close(self) -> None:
        """Cancel the producer, once."""
        try:
            # The other thread may wait for the producer.
            await call_on_thread(self._reader.cancel)
        finally:
            await super().close()


class ObjectReader:
    """A task of the running loop that reads the objects of an async iterator and closes it.

    Parameters
    ----------
    objects
        The iterator.
    prefetch
        The number of objects that are read before `_room` is released.
    waiting
        The queue of the task: pairs of an object and None, then None and the exception that ended
        them.
    """

    def __init__(
        self,
        objects: AsyncIterator[Any],
        prefetch: int,
        waiting: asyncio.Queue[Any] | SimpleQueue[Any],
    ) -> None:
        self._objects = objects
        self._room = asyncio.Semaphore(prefetch)
        self._waiting: Any = waiting
        self._is_over = False
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> BaseException | None:
        """Read and close the objects.

        Return the exception of closing them; otherwise, KeyboardInterrupt or SystemExit of reading
        them. If the task raised one of these two, the loop would end before a consumer has it.
        """
        exit_error = None
        try:
            # A source that suppresses its cancellation yields another object.
            while not self._is_over:
                await self._room.acquire()
                self._waiting.put_nowait((await anext(self._objects), None))
        except BaseException as error:
            # This includes CancelledError, which the source may raise itself.
            self._waiting.put_nowait((None, error))
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                exit_error = error
        self._is_over = True
        try:
            if (aclose := getattr(self._objects, "aclose", None)) is not None:
                await aclose()
        except BaseException as error:
            return error
        return exit_error

    def cancel(self) -> None:
        """Stop reading."""
        # Another cancellation would interrupt the iterator while it is closed.
        if not self._is_over:
            self._is_over = True
            self._reading.cancel()


class ObjectSource(ObjectReader):
    """The objects of an async iterator.

    `prefetch` objects are read before they are requested.
    """

    def __init__(self, objects: AsyncIterator[Any], prefetch: int) -> None:
        super().__init__(objects, prefetch, asyncio.Queue())

    async def next(self) -> Any:
        """Return the next object; None at the end."""
        obj, error = await self._waiting.get()
        if isinstance(error, StopAsyncIteration):
            return None
        if error is not None:
            raise error
        self._room.release()
        return obj

    async def close(self) -> None:
        """Stop the iterator and close it if possible."""
        self.cancel()
        await asyncio.wait([self._reading])
        # The traceback of its exception refers to this object, which would keep the objects alive.
        self._waiting = asyncio.Queue()
        if not self._reading.cancelled() and (error := self._reading.result()) is not None:
            raise error


#: A source of arrays.
ArraySource = StreamSource | ProducerSource | ObjectSource
