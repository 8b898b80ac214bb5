# SPDX-License-Identifier: Apache-2.0
"""Export from an event loop to an asynchronous C consumer."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, AsyncIterator
from typing import cast

from .._core.stream.async_ import AsyncWriter
from .._core.stream.stream_export import code_of, describe
from ..arrow.device_array import DeviceArray
from ..cuda.event_loops import fences_of_running_loop

#: References to the tasks, because the loop references them weakly.
_tasks: set[asyncio.Task[None]] = set()


def export_to_handler(batches: AsyncIterator[DeviceArray], handler: int) -> None:
    """Send batches to the handler at an address when its consumer requests them.

    A task of the running loop reads and closes the batches. The handler is released at the end.
    """
    consumer = _Consumer(handler)
    task = asyncio.get_running_loop().create_task(_feed(batches, consumer))
    watch = asyncio.get_running_loop().create_task(consumer.watch(task))
    for each in (task, watch):
        _tasks.add(each)
        each.add_done_callback(_tasks.discard)


class _Consumer:
    """The requests of a consumer, for the tasks of one loop."""

    def __init__(self, handler: int) -> None:
        self._fences = fences_of_running_loop()
        self.writer = AsyncWriter(handler, self._fences.fences)
        self.asked = asyncio.Event()
        #: Whether the exporting task is about to end and only closes its source.
        self.is_left = False

    async def watch(self, feeding: asyncio.Task[None]) -> None:
        """Process the requests of the consumer; if it cancels, cancel the exporting task."""
        feeding.add_done_callback(lambda _: self.writer.notify())
        while not feeding.done():
            fence = self.writer.prepare()
            if self.writer.is_over:
                if not self.is_left:
                    feeding.cancel()
                return
            self.asked.set()
            await self._fences.wait(fence)

    async def wants_more(self) -> bool:
        """Wait until the consumer requests a batch; return False if it does not need more."""
        while not self.writer.num_wanted:
            if self.writer.is_over:
                return False
            self.asked.clear()
            await self.asked.wait()
        return True


async def _feed(batches: AsyncIterator[DeviceArray], consumer: _Consumer) -> None:
    writer = consumer.writer
    try:
        is_open = False
        async for batch in batches:
            schema, array = batch.__arrow_c_device_array__()
            if not is_open:
                is_open = writer.open(schema, batch.device_type)
            del batch
            if not await consumer.wants_more() or not writer.write(array):
                return
            if not await consumer.wants_more():
                return
        if is_open:
            writer.finish()
        else:
            message = b"the stream has neither a schema nor a batch"
            writer.fail(errno.EINVAL, message)
    except asyncio.CancelledError:
        writer.fail(errno.ECANCELED, b"the task that reads the source was cancelled")
        raise
    except BaseException as error:
        # The error is reported to the consumer, because the caller of the export has returned.
        writer.fail(code_of(error), describe(error))
        if not isinstance(error, Exception):
            raise
    finally:
        consumer.is_left = True
        writer.finish()
        await cast(AsyncGenerator[DeviceArray, None], batches).aclose()
