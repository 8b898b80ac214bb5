# SPDX-License-Identifier: Apache-2.0
"""`AsyncDeviceArrayStream`: an export in batches, for event loops and asynchronous consumers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

from ..arrow.refusals import StaysHere

if TYPE_CHECKING:
    from ..arrow.device_array import DeviceArray
    from .arrays import Arrays

__all__ = ["AsyncDeviceArrayStream", "Batches"]


class Batches(Protocol):
    """Where the batches of an asynchronous stream come from."""

    def __aiter__(self) -> AsyncIterator[DeviceArray]: ...

    async def open(self, prefetch: int) -> Arrays:
        """Begin a pass over the batches, which are made ahead."""

    def export_to(self, handler: int) -> None:
        """Begin a pass for a consumer in C; see `AsyncDeviceArrayStream`."""


class AsyncDeviceArrayStream(StaysHere):
    """A stream of device arrays of one schema, each made while an event loop does other things.

    ``async for`` gives them one at a time, as `DeviceArray`. Each loop, and each consumer, makes a
    pass of its own, as far as the source can be read again.

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
