# SPDX-License-Identifier: Apache-2.0
"""`AsyncDeviceArrayStream`: an export in batches, for event loops and asynchronous consumers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol, Self

from ..arrow.refusals import StaysHere
from ..arrow.schemas import as_schema_or_field

if TYPE_CHECKING:
    import pyarrow as pa

    from .._core.schema import Schema
    from ..arrow.device_array import DeviceArray
    from .arrays import Arrays

__all__ = ["AsyncDeviceArrayStream", "Batches"]


class Batches(Protocol):
    """Where the batches of an asynchronous stream come from."""

    def __aiter__(self) -> AsyncIterator[DeviceArray]: ...

    @property
    def state(self) -> str:
        """Say what has become of it: open, consumed, released, or how it ended."""

    async def schema(self) -> Schema:
        """Return the schema; the first batch may be made for it, and waits for the next pass."""

    async def aclose(self) -> None:
        """Let go of the source, and of what loops have not taken; consumers in C keep theirs."""

    async def open(self, prefetch: int) -> Arrays:
        """Begin a pass over the batches, which are made ahead."""

    def export_to(self, handler: int) -> None:
        """Begin a pass for a consumer in C; see `AsyncDeviceArrayStream`."""


class AsyncDeviceArrayStream(StaysHere):
    """A stream of device arrays of one schema, each made while an event loop does other things.

    ``async for`` gives them one at a time, as `DeviceArray`. Each loop, and each consumer, makes a
    pass of its own, as far as the source can be read again. Where it can be read only once, as an
    async generator, there is one pass, and the next consumer gets a `ValueError`.

    ``async with`` releases the source at the end of the block, as `aclose` does.

    Parameters
    ----------
    batches
        Where the batches come from.
    """

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __aiter__(self) -> AsyncIterator[DeviceArray]:
        """Begin a pass; closing it, with ``aclose``, or leaving its task ends the source."""
        return self._batches.__aiter__()

    async def schema(self) -> pa.Schema | pa.Field:
        """Return the Arrow schema of record batches, or the field of other arrays.

        Awaited, since the first batch may have to be made for it; it waits for the next consumer.

        Raises
        ------
        ValueError
            If the source has no batch to tell a schema, or was released or consumed.
        """
        return as_schema_or_field((await self._batches.schema()).__arrow_c_schema__())

    async def aclose(self) -> None:
        """Drop the source, and end loops over it; consumers in C keep theirs. May be repeated.

        A loop that is waiting for a batch ends without it.
        """
        await self._batches.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self._batches.state}>"

    def export_to(self, handler_address: int) -> None:
        """Hand the batches to a consumer in C, through Arrow's asynchronous interface.

        Returns at once. Batches are made as far as the consumer requests them, on threads of the
        library; those of an async source on the running loop.

        Parameters
        ----------
        handler_address
            The address of an ``ArrowAsyncDeviceStreamHandler``. It is called from any thread, and
            released at the end.

        Raises
        ------
        ValueError
            If the handler lacks a callback, or the source can be read once and was. The caller then
            still owns the handler.
        RuntimeError
            If the source is asynchronous and no event loop runs.

        Notes
        -----
        Source: Arrow specification, "The Arrow C Device data interface", "Async Device Stream
        Interface".
        """
        self._batches.export_to(handler_address)
