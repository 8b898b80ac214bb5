# SPDX-License-Identifier: Apache-2.0
"""The sources of the batches of an asynchronous stream; see `Batches`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from typing import Any

from .._core.schema import Schema, check_same
from ..arrow.device_array import DeviceArray
from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.errors import single_use_reason
from .array_sources import AsyncArraySource, AsyncIteratorSource, CProducerSource
from .export_to_handler import export_to_handler

__all__ = ["IteratedBatches", "ThreadedBatches"]


def _with_protocol(obj: Any) -> Any:
    """Replace an object whose array protocol does not work."""
    # datafusion's batches (54, 55) forward it to an object that lacks it.
    return obj.to_pyarrow() if type(obj).__module__ == "datafusion.record_batch" else obj


class ThreadedBatches:
    """The batches of a stream, created on other threads than the loop's; see `Batches`.

    Parameters
    ----------
    stream
        The stream.
    """

    def __init__(self, stream: DeviceArrayStream) -> None:
        self._stream = stream

    @property
    def state(self) -> str:
        """See `Batches`."""
        return self._stream._state()

    async def schema(self) -> Schema:
        """Return the schema; see `Batches`."""
        return await asyncio.get_running_loop().run_in_executor(None, self._stream._schema_handle)

    async def aclose(self) -> None:
        """Release the source; see `Batches`."""
        self._stream.release()

    async def __aiter__(self) -> AsyncIterator[DeviceArray]:
        loop = asyncio.get_running_loop()
        batches = iter(self._stream)
        while (batch := await loop.run_in_executor(None, next, batches, None)) is not None:
            yield batch
            del batch

    async def open(self, prefetch: int) -> AsyncArraySource:
        """Start an iteration; see `Batches`."""
        return CProducerSource(prefetch, self._stream._drive)

    def export_to(self, handler: int) -> None:
        """Start an export to a C consumer; see `Batches`."""
        self._stream._drive(handler)


class IteratedBatches:
    """The objects of an async iterable, exported on the loop's thread; see `Batches`.

    Parameters
    ----------
    objects
        The iterable.
    export
        Returns the batches of an object. For `open`, they may be any arrays.
    """

    def __init__(
        self, objects: AsyncIterable[Any], export: Callable[[Any], Iterable[DeviceArray]]
    ) -> None:
        self._objects = objects
        self._export = export
        self._schema: Schema | None = None
        #: The iteration of the next consumer, which was started for the schema: its first batch,
        #: and the others.
        self._waiting: tuple[DeviceArray, AsyncGenerator[DeviceArray, None]] | None = None
        #: The unfinished iterations of loops.
        self._loops: set[AsyncGenerator[DeviceArray, None]] = set()
        self._state: str = "open"

    @property
    def state(self) -> str:
        """See `Batches`."""
        return "open" if self._waiting is not None else self._state

    def __aiter__(self) -> AsyncGenerator[DeviceArray, None]:
        """Start an iteration; see `Batches`."""
        return self._loop(self._begin())

    def _begin(self) -> AsyncGenerator[DeviceArray, None]:
        """Start an iteration over the batches, whose schemas may differ."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            return _resumed(*waiting)
        if self._state == "released":
            raise ValueError("expected an open stream, got a released stream")
        if isinstance(self._objects, AsyncIterator):
            if self._state == "consumed":
                raise ValueError(single_use_reason(type(self._objects).__name__))
            self._state = "consumed"
        return self._batches()

    async def _loop(
        self, batches: AsyncGenerator[DeviceArray, None]
    ) -> AsyncGenerator[DeviceArray, None]:
        self._loops.add(batches)
        try:
            async with aclosing(self._of_one_schema(batches)) as checked:
                async for batch in checked:
                    if self._state == "released":
                        return
                    yield batch
                    del batch
        finally:
            self._loops.discard(batches)

    async def _of_one_schema(
        self, batches: AsyncGenerator[DeviceArray, None]
    ) -> AsyncGenerator[DeviceArray, None]:
        schema: object | None = None
        async with aclosing(batches):
            async for batch in batches:
                if schema is None:
                    schema = batch.__arrow_c_schema__()
                    self._schema = Schema.copy_of(schema)
                else:
                    check_same(schema, batch.__arrow_c_schema__())
                yield batch
                del batch

    async def _batches(self) -> AsyncGenerator[DeviceArray, None]:
        objects = self._objects.__aiter__()
        # Another consumer has read, or is reading, the same async generator.
        if getattr(objects, "ag_frame", self) is None or getattr(objects, "ag_running", False):
            raise ValueError(single_use_reason(type(objects).__name__))
        try:
            async for obj in objects:
                for batch in self._export(_with_protocol(obj)):
                    yield batch
                    del batch
                del obj
        finally:
            if (aclose := getattr(objects, "aclose", None)) is not None:
                await aclose()

    async def schema(self) -> Schema:
        """Return the schema; see `Batches`."""
        if self._schema is None:
            batches = self._begin()
            first = await anext(batches, None)
            if first is None:
                raise ValueError(
                    "expected at least one batch, as the stream has no schema, got none"
                )
            self._schema = Schema.copy_of(first.__arrow_c_schema__())
            self._waiting = first, batches
        return self._schema

    async def open(self, prefetch: int) -> AsyncArraySource:
        """Start an iteration; see `Batches`."""
        return AsyncIteratorSource(self._begin(), prefetch)

    def export_to(self, handler: int) -> None:
        """Start an export to a C consumer; see `Batches`."""
        before = self._state, self._waiting
        try:
            export_to_handler(self._of_one_schema(self._begin()), handler)
        except BaseException:
            self._state, self._waiting = before
            raise

    async def aclose(self) -> None:
        """Release the source; see `Batches`."""
        self._state = "released"
        passes = [*self._loops] if self._waiting is None else [*self._loops, self._waiting[1]]
        self._waiting = None
        for batches in passes:
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
