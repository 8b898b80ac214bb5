# SPDX-License-Identifier: Apache-2.0
"""`AsyncDeviceArrayStream`: an export in batches for event loops and asynchronous C consumers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Self

from ..arrow.errors import NotPicklable
from ..arrow.schemas import as_schema_or_field

if TYPE_CHECKING:
    import pyarrow as pa

    from ..arrow.device_array import DeviceArray
    from .batches import IteratedBatches, ThreadedBatches


class AsyncDeviceArrayStream(NotPicklable):
    """A stream of device arrays of one schema for event loops.

    ``async for`` yields a `DeviceArray` for each batch. Each loop and each consumer reads the
    source from the start. If the source can be read only once, as an async generator, the second
    consumer gets a `ValueError`.

    ``async with`` releases the source at the end of the block, as `aclose` does.

    Parameters
    ----------
    batches
        The source of the batches.
    """

    def __init__(self, batches: ThreadedBatches | IteratedBatches) -> None:
        self._batches = batches

    def __aiter__(self) -> AsyncIterator[DeviceArray]:
        """Start an iteration; its ``aclose``, or the end of its task, ends the source."""
        return self._batches.__aiter__()

    async def schema(self) -> pa.Schema | pa.Field:
        """Return the Arrow schema of record batches, or the field of other arrays.

        This may create the first batch, which is kept for the next consumer.

        Raises
        ------
        ValueError
            If the source has neither a schema nor a batch, or was released or consumed.
        """
        return as_schema_or_field((await self._batches.schema()).__arrow_c_schema__())

    async def aclose(self) -> None:
        """Release the source and end loops over it. May be called again.

        A loop that waits for a batch ends without it. C consumers keep their batches.
        """
        await self._batches.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self._batches.state}>"

    def export_to(self, handler_address: int) -> None:
        """Export the batches to a C consumer through Arrow's asynchronous interface.

        Returns immediately. Batches are created when the consumer requests them, on a thread of the
        library; those of an async source on the running loop.

        Parameters
        ----------
        handler_address
            The address of an ``ArrowAsyncDeviceStreamHandler``. It is called from any thread, and
            released at the end.

        Raises
        ------
        ValueError
            If the handler lacks a callback, or the source can be read only once and was read. The
            caller then still owns the handler.
        RuntimeError
            If the source is asynchronous and no event loop runs.

        Notes
        -----
        Source: Arrow specification, "The Arrow C Device data interface", "Async Device Stream
        Interface".
        """
        self._batches.export_to(handler_address)
