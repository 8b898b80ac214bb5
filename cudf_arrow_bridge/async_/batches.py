# SPDX-License-Identifier: Apache-2.0
"""The sources of the batches of an asynchronous stream.

``__aiter__`` starts an iteration. ``schema`` may create the first batch and keeps it for the next
consumer. ``aclose`` releases the source and the unread batches of loops; C consumers keep theirs.
``open`` starts an iteration over arrays that are created ahead, and ``export_to`` an export to a C
consumer; see `AsyncDeviceArrayStream`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from functools import partial
from typing import Any

from .._core.schema import Schema, check_same
from ..arrow.device_array import DeviceArray
from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.errors import single_use_reason
from .array_sources import ObjectSource, StreamSource
from .blocking_calls import ThreadReader, call_on_thread
from .export_to_handler import export_to_handler


class ThreadedBatches:
    """The batches of a stream, created on other threads than the loop's.

    An iteration creates at most `prefetch` batches ahead.
    """

    def __init__(self, stream: DeviceArrayStream, prefetch: int = 0) -> None:
        self._stream = stream
        self._prefetch = prefetch
        self._schema_lock = asyncio.Lock()

    @property
    def state(self) -> str:
        """The state: open, consumed, released, or how it ended."""
        return self._stream._state()

    async def schema(self) -> Schema:
        """Return the schema."""
        # Several tasks may await it, but only one thread at a time may read the stream.
        async with self._schema_lock:
            return await call_on_thread(self._stream._schema_handle)

    async def aclose(self) -> None:
        """Release the source."""
        self._stream.release()

    async def __aiter__(self) -> AsyncIterator[DeviceArray]:
        reader = ThreadReader(partial(next, iter(self._stream), None), self._prefetch)
        try:
            while (batch := await reader.next()) is not None:
                yield batch
                del batch
        finally:
            await reader.close()

    def open(self, prefetch: int) -> StreamSource:
        """Start an iteration over arrays that are created ahead."""
        return StreamSource(self._stream, prefetch)

    def export_to(self, handler: int) -> None:
        """Start an export to a C consumer."""
        self._stream._drive(handler)


class IteratedBatches:
    """The objects of an async iterable, exported on the loop's thread.

    The function `export` returns the batches of an object. For `open`, they may be any arrays.
    """

    def __init__(
        self, objects: AsyncIterable[Any], export: Callable[[Any], Iterable[DeviceArray]]
    ) -> None:
        self._objects = objects
        self._export = export
        self._schema: Schema | None = None
        self._schema_lock = asyncio.Lock()
        #: The iteration of the next consumer, which was started for the schema: its first batch,
        #: and the others.
        self._waiting: tuple[DeviceArray, AsyncGenerator[DeviceArray, None]] | None = None
        #: The unfinished iterations of loops.
        self._loops: set[AsyncGenerator[DeviceArray, None]] = set()
        self._state: str = "open"

    @property
    def state(self) -> str:
        """The state: open, consumed, released, or how it ended."""
        return "open" if self._waiting is not None else self._state

    def __aiter__(self) -> AsyncGenerator[DeviceArray, None]:
        """Start an iteration."""
        return self._read(self._begin(), is_loop=True)

    def _begin(self) -> AsyncGenerator[DeviceArray, None]:
        """Start an iteration over the batches, whose schemas may differ."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            return _resumed(*waiting)
        if self._state == "released":
            raise ValueError("the stream is released")
        if isinstance(self._objects, AsyncIterator):
            if self._state == "consumed":
                raise ValueError(single_use_reason(type(self._objects).__name__))
            self._state = "consumed"
        return self._batches()

    async def _read(
        self, batches: AsyncGenerator[DeviceArray, None], is_loop: bool
    ) -> AsyncGenerator[DeviceArray, None]:
        """Yield batches and check that they have one schema. A loop ends with the stream."""
        schema: object | None = None
        if is_loop:
            self._loops.add(batches)
        try:
            async with aclosing(batches):
                async for batch in batches:
                    if is_loop and self._state == "released":
                        return
                    if schema is None:
                        schema = batch.__arrow_c_schema__()
                        self._schema = Schema.copy_of(schema)
                    else:
                        check_same(schema, batch.__arrow_c_schema__())
                    yield batch
                    del batch
        finally:
            self._loops.discard(batches)

    async def _batches(self) -> AsyncGenerator[DeviceArray, None]:
        objects = self._objects.__aiter__()
        # Another consumer has read, or is reading, the same async generator.
        if getattr(objects, "ag_frame", self) is None or getattr(objects, "ag_running", False):
            raise ValueError(single_use_reason(type(objects).__name__))
        try:
            async for obj in objects:
                # The array protocol of datafusion's batches (54, 55) forwards to an object that
                # lacks it.
                if type(obj).__module__ == "datafusion.record_batch":
                    obj = obj.to_pyarrow()
                for batch in self._export(obj):
                    yield batch
                    del batch
                del obj
        finally:
            if (aclose := getattr(objects, "aclose", None)) is not None:
                await aclose()

    async def schema(self) -> Schema:
        """Return the schema."""
        async with self._schema_lock:
            if self._schema is None:
                batches = self._begin()
                first = await anext(batches, None)
                if first is None:
                    raise ValueError("the stream has neither a schema nor a batch")
                self._schema = Schema.copy_of(first.__arrow_c_schema__())
                if self._state == "released":
                    await batches.aclose()
                else:
                    self._waiting = first, batches
            return self._schema

    def open(self, prefetch: int) -> ObjectSource:
        """Start an iteration over arrays that are created ahead."""
        return ObjectSource(self._begin(), prefetch)

    def export_to(self, handler: int) -> None:
        """Start an export to a C consumer."""
        before = self._state, self._waiting
        try:
            export_to_handler(self._read(self._begin(), is_loop=False), handler)
        except BaseException:
            self._state, self._waiting = before
            raise

    async def aclose(self) -> None:
        """Release the source."""
        self._state = "released"
        iterators = [*self._loops] if self._waiting is None else [*self._loops, self._waiting[1]]
        self._waiting = None
        for batches in iterators:
            # This also ends a loop that waits for a batch.
            if not getattr(batches, "ag_running", False):
                await batches.aclose()


async def _resumed(
    first: DeviceArray, batches: AsyncGenerator[DeviceArray, None]
) -> AsyncGenerator[DeviceArray, None]:
    """Yield the first batch of a started iteration, then the others."""
    async with aclosing(batches):
        yield first
        del first
        async for batch in batches:
            yield batch
            del batch
