# SPDX-License-Identifier: Apache-2.0
"""Export of batches of an event loop to an asynchronous C consumer."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from .._core.export.array_exporter import BatchSource, single_batch
from .._core.schema import Schema
from .._core.stream.stream_export import ExportedStream, StreamState
from ..arrow.device_array import DeviceArray


def export_to_handler(batches: AsyncGenerator[DeviceArray, None], handler: int) -> None:
    """Send batches to the handler at an address when its consumer requests them.

    The running loop reads and closes the batches. A thread waits for them and calls the handler,
    which is released at the end.
    """
    reader = _LoopReader(batches)
    ExportedStream(reader.sources(), StreamState(), None).drive(handler, reader.cancel)


class _LoopReader:
    """Reads an async generator of the running loop from another thread."""

    def __init__(self, batches: AsyncGenerator[DeviceArray, None]) -> None:
        self._batches = batches
        self._loop = asyncio.get_running_loop()
        self._pending: Future[DeviceArray | None] | None = None
        self._is_cancelled = False

    def sources(self) -> Iterator[BatchSource]:
        """Yield the batches on another thread, and close the generator."""
        schema: Schema | None = None
        try:
            while (batch := self._wait()) is not None:
                schema = schema or Schema.copy_of(batch.__arrow_c_schema__())
                source = single_batch(schema, batch._array)
                # A suspended generator must not extend the lifetime of the batch.
                del batch
                yield source
                del source
        finally:
            with suppress(RuntimeError):
                self._start(self._close)

    def cancel(self) -> None:
        """Cancel the batch that the loop creates, if any. May be called on any thread."""
        self._is_cancelled = True
        if (pending := self._pending) is not None:
            pending.cancel()

    def _wait(self) -> DeviceArray | None:
        pending: Future[DeviceArray | None] = self._start(self._next)
        self._pending = pending
        if self._is_cancelled:
            pending.cancel()
        try:
            return pending.result()
        except CancelledError:
            error = "the task that reads the source was cancelled"
            raise OSError(errno.ECANCELED, error) from None
        finally:
            # It refers to the batch, or to its exception.
            self._pending = None
            del pending

    def _start(self, function: Callable[[], Coroutine[Any, Any, Any]]) -> Future[Any]:
        """Start a coroutine on the loop. Raise RuntimeError if the loop is closed."""
        coroutine = function()
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            raise

    async def _next(self) -> DeviceArray | None:
        try:
            return await anext(self._batches, None)
        except asyncio.CancelledError:
            await self._batches.aclose()
            raise

    async def _close(self) -> None:
        await self._batches.aclose()
