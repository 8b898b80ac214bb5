# SPDX-License-Identifier: Apache-2.0
"""Export of batches of an event loop to an asynchronous C consumer."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, Callable, Iterator
from queue import SimpleQueue

from .._core.export.array_exporter import BatchSource, single_batch
from .._core.schema import Schema
from .._core.stream.stream_export import ExportedStream, StreamState
from ..arrow.device_array import DeviceArray

#: References to the tasks, because the loop references them weakly.
_tasks: set[asyncio.Task[None]] = set()


def export_to_handler(batches: AsyncGenerator[DeviceArray, None], handler: int) -> None:
    """Send batches to the handler at an address when its consumer requests them.

    A task of the running loop reads and closes the batches. A thread waits for them and calls the
    handler, which is released at the end.
    """
    reader = _LoopReader(batches)
    try:
        reader.stream.drive(handler, reader.cancel)
    except BaseException:
        reader.cancel()
        raise


class _LoopReader:
    """Reads an async generator of the running loop for another thread."""

    def __init__(self, batches: AsyncGenerator[DeviceArray, None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._requested = asyncio.Semaphore(0)
        #: Batches, then None or the exception that ended them.
        self._results: SimpleQueue[DeviceArray | BaseException | None] = SimpleQueue()
        self._is_cancelled = False
        #: The batches for C++.
        self.stream = ExportedStream(self._sources(), StreamState(), None)
        self._task = self._loop.create_task(self._read(batches))
        _tasks.add(self._task)
        self._task.add_done_callback(self._end)

    async def _read(self, batches: AsyncGenerator[DeviceArray, None]) -> None:
        try:
            await self._requested.acquire()
            async for batch in batches:
                self._results.put(batch)
                del batch
                # A source that suppresses its cancellation yields another batch.
                if self._is_cancelled:
                    break
                await self._requested.acquire()
            self._results.put(None)
        except asyncio.CancelledError:
            self._put_cancelled()
            raise
        except BaseException as error:
            # The error is reported to the consumer, because the caller of the export has returned.
            self._results.put(error)
            if not isinstance(error, Exception):
                raise
        finally:
            await batches.aclose()

    def _put_cancelled(self) -> None:
        message = "the task that reads the source was cancelled"
        self._results.put(OSError(errno.ECANCELED, message))

    def _end(self, task: asyncio.Task[None]) -> None:
        _tasks.discard(task)
        # The task may have been cancelled before it began.
        self._put_cancelled()
        # The consumer may have requested no batch.
        self.stream.stop()

    def cancel(self) -> None:
        """Cancel the task. May be called on any thread."""
        self._call_soon(self._cancel_once)

    def _call_soon(self, function: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            # The loop is closed.
            self._put_cancelled()

    def _cancel_once(self) -> None:
        # A second cancel would interrupt the source while it is closed.
        if not self._is_cancelled and not self._task.cancelling():
            self._task.cancel()
        self._is_cancelled = True

    def _sources(self) -> Iterator[BatchSource]:
        """Yield the batches on another thread than the loop's."""
        schema: Schema | None = None
        try:
            while True:
                self._call_soon(self._requested.release)
                batch = self._results.get()
                if batch is None:
                    return
                if isinstance(batch, BaseException):
                    raise batch
                schema = schema or Schema.copy_of(batch.__arrow_c_schema__())
                source = single_batch(schema, batch._array)
                # A suspended generator must not extend the lifetime of the batch.
                del batch
                yield source
                del source
        finally:
            self.cancel()
