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
from .array_sources import ObjectReader

#: References to the tasks, because the loop references them weakly.
_tasks: set[asyncio.Task[BaseException | None]] = set()


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


class _LoopReader(ObjectReader):
    """The batches of an async generator of the running loop, for another thread."""

    def __init__(self, batches: AsyncGenerator[DeviceArray, None]) -> None:
        super().__init__(batches, 0, SimpleQueue())
        self._loop = asyncio.get_running_loop()
        #: The batches for C++.
        self.stream = ExportedStream(self._sources(), StreamState(), None)
        _tasks.add(self._reading)
        self._reading.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[BaseException | None]) -> None:
        _tasks.discard(task)
        # The task may have been cancelled before it began.
        self._put_cancelled()
        # The consumer may have requested no batch.
        self.stream.stop()
        error = None if task.cancelled() else task.result()
        if error is not None and not isinstance(error, asyncio.CancelledError):
            # The loop reports it, or ends.
            raise error

    def _put_cancelled(self) -> None:
        self._waiting.put((None, asyncio.CancelledError()))

    def cancel(self) -> None:
        """Stop reading. May be called on any thread."""
        self._call_soon(super().cancel)

    def _call_soon(self, function: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            # The loop is closed.
            self._put_cancelled()

    def _sources(self) -> Iterator[BatchSource]:
        """Yield the batches on another thread than the loop's."""
        schema: Schema | None = None
        try:
            while True:
                self._call_soon(self._room.release)
                batch, error = self._waiting.get()
                if isinstance(error, StopAsyncIteration):
                    return
                if isinstance(error, asyncio.CancelledError):
                    message = "the task that reads the source was cancelled"
                    raise OSError(errno.ECANCELED, message)
                if error is not None:
                    raise error
                schema = schema or Schema.copy_of(batch.__arrow_c_schema__())
                source = single_batch(schema, batch._array)
                # A suspended generator must not extend the lifetime of the batch.
                del batch
                yield source
                del source
        finally:
            self.cancel()
