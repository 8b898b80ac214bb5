# SPDX-License-Identifier: Apache-2.0
"""Where the batches of an asynchronous stream come from; see `Batches`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from typing import Any

from .._core.schema import check_same
from ..arrow.device_array import DeviceArray
from ..arrow.device_array_stream import DeviceArrayStream
from .arrays import Arrays, HandedArrays, IteratedArrays
from .feed import feed

__all__ = ["IteratedBatches", "ThreadedBatches"]


def _with_protocol(obj: Any) -> Any:
    """Replace an object whose protocol of arrays does not work."""
    # datafusion's batches (54, 55) pass it on to an object of theirs that lacks it.
    return obj.to_pyarrow() if type(obj).__module__ == "datafusion.record_batch" else obj


class ThreadedBatches:
    """The batches of a stream, made on other threads than the loop's; see `Batches`.

    Parameters
    ----------
    stream
        The stream.
    """

    def __init__(self, stream: DeviceArrayStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[DeviceArray]:
        loop = asyncio.get_running_loop()
        batches = iter(self._stream)
        while (batch := await loop.run_in_executor(None, next, batches, None)) is not None:
            yield batch
            del batch

    async def open(self, prefetch: int) -> Arrays:
        """Begin a pass; see `Batches`."""
        return HandedArrays(prefetch, self._stream._drive)

    def export_to(self, handler: int) -> None:
        """Begin a pass for a consumer in C; see `Batches`."""
        self._stream._drive(handler)


class IteratedBatches:
    """The objects of an async iterable, exported on the loop's thread; see `Batches`.

    Parameters
    ----------
    objects
        The iterable.
    export
        Gives the batches of an object. For `open`, these may be any arrays.
    """

    def __init__(
        self, objects: AsyncIterable[Any], export: Callable[[Any], Iterable[DeviceArray]]
    ) -> None:
        self._objects = objects
        self._export = export

    async def __aiter__(self) -> AsyncIterator[DeviceArray]:
        schema: object | None = None
        async with aclosing(self._batches()) as batches:
            async for batch in batches:
                if schema is None:
                    schema = batch.__arrow_c_schema__()
                else:
                    check_same(schema, batch.__arrow_c_schema__())
                yield batch
                del batch

    async def _batches(self) -> AsyncGenerator[DeviceArray, None]:
        objects = self._objects.__aiter__()
        try:
            async for obj in objects:
                for batch in self._export(_with_protocol(obj)):
                    yield batch
                    del batch
                del obj
        finally:
            if (aclose := getattr(objects, "aclose", None)) is not None:
                await aclose()

    async def open(self, prefetch: int) -> Arrays:
        """Begin a pass; see `Batches`."""
        return IteratedArrays(self._batches(), prefetch)

    def export_to(self, handler: int) -> None:
        """Begin a pass for a consumer in C; see `Batches`."""
        feed(self.__aiter__(), handler)
