# SPDX-License-Identifier: Apache-2.0
"""Passes over the batches of messages; see `Passes` of device array streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from .._core.export import ExportArguments
from .._core.schema import Schema
from .._core.stream.stream_export import ExportedStream, StreamState
from ..arrow.device_array_stream import DeviceArrayStream
from ..export.exporter import ArrayExporter
from ..export.streams import StreamExporter
from .decoder import DecodeOptions, MessageDecoder, Received

__all__ = ["MessagePasses", "Start", "exporter_of", "stream_of_messages"]

#: Begins with the first message: gives what decodes, and the messages after the schema.
Start = Callable[[], tuple[MessageDecoder, Iterator[Received]]]


def stream_of_messages(
    receive: Callable[[], Iterator[Received]], options: DecodeOptions, why_once: str = ""
) -> DeviceArrayStream:
    """Return the record batches of messages as a stream; reads the schema at once.

    Parameters
    ----------
    receive
        Gives the messages from the first one on.
    options
        How messages become arrays.
    why_once
        If `receive` can be called once, why.
    """

    def start() -> tuple[MessageDecoder, Iterator[Received]]:
        received = receive()
        return MessageDecoder.begin(received, options), received

    return DeviceArrayStream(MessagePasses(start, options, why_once), exporter_of(options))


def exporter_of(options: DecodeOptions) -> Callable[..., ArrayExporter]:
    """Return what makes the exporters of the arrays of messages."""
    return partial(ArrayExporter, ExportArguments(options.stream, mr=options.mr))


class MessagePasses:
    """Opens passes over the batches of messages; see `Passes`.

    Parameters
    ----------
    start
        Begins a pass.
    options
        How messages become arrays.
    why_once
        If `start` can be called once, why.
    """

    def __init__(self, start: Start, options: DecodeOptions, why_once: str = "") -> None:
        self._start: Start | None = start
        self._options = options
        self._why_once = why_once
        self._schema: Schema | None = None

    @property
    def why_once(self) -> str:
        """Why no further pass can be opened; empty while one can."""
        return self._why_once if self._schema is not None else ""

    def open(self) -> ExportedStream:
        """Open a pass; see `Passes`."""
        if self._start is None:
            raise ValueError("a stream that was released found, one with messages expected")
        decoder, received = self._start()
        self._schema = decoder.schema
        state = StreamState()
        arguments = ExportArguments(self._options.stream, mr=self._options.mr)
        exporter = StreamExporter(arguments, state, None, None)
        batches = exporter.batch_sources(decoder.batches(received))
        stream = ExportedStream(batches, state, decoder.schema)
        # The batches have it already; nobody asked for it.
        state.given_schema = state.requested_schema = None
        return stream

    def known_schema(self) -> Schema | None:
        """Return the schema of the messages; see `Passes`."""
        return self._schema

    def release(self) -> None:
        """Let go of the source; see `Passes`."""
        self._start = None
