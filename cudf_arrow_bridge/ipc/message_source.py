# SPDX-License-Identifier: Apache-2.0
"""The batches of messages as a source of streams; see `ReplayableSource`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .._core.schema import Schema
from .._core.stream.stream_export import ExportedStream, StreamState
from ..arrow.device_array_stream import DeviceArrayStream
from .decoder import MessageDecoder
from .incoming import IncomingMessage, ReadOptions

#: Reads the first message and returns the decoder and the messages after the schema.
Start = Callable[[], tuple[MessageDecoder, Iterator[IncomingMessage]]]


def stream_of_messages(
    receive: Callable[[], Iterator[IncomingMessage]],
    options: ReadOptions,
    single_use_reason: str = "",
) -> DeviceArrayStream:
    """Return the record batches of messages as a stream. Reads the schema immediately.

    `receive` returns all messages. If it can be called only once, `single_use_reason` says why.
    """

    def start() -> tuple[MessageDecoder, Iterator[IncomingMessage]]:
        received = receive()
        return MessageDecoder.begin(received, options), received

    source = MessageStreamSource(start, single_use_reason)
    return DeviceArrayStream(source, options.arguments)


class MessageStreamSource:
    """Opens iterations over the batches of messages; see `ReplayableSource`."""

    def __init__(self, start: Start, single_use_reason: str = "") -> None:
        self._start: Start | None = start
        self._why_once = single_use_reason
        self._schema: Schema | None = None

    @property
    def single_use_reason(self) -> str:
        """The reason why no other iteration can be opened; empty if one can."""
        return self._why_once if self._schema is not None else ""

    def open(self) -> ExportedStream:
        """Open an iteration; see `ReplayableSource`."""
        if self._start is None:
            raise ValueError("expected an open stream, got a released stream")
        decoder, received = self._start()
        self._schema = decoder.schema
        state = StreamState()
        stream = ExportedStream(decoder.batch_sources(received, state), state, decoder.schema)
        # The batches already have it, because there is no request.
        state.given_schema = state.requested_schema = None
        return stream

    def known_schema(self) -> Schema | None:
        """Return the schema of the messages; see `ReplayableSource`."""
        return self._schema

    def release(self) -> None:
        """Release the source; see `ReplayableSource`."""
        self._start = None
