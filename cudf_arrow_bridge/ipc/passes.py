# SPDX-License-Identifier: Apache-2.0
"""Passes over the batches of messages; see `Passes` of device array streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from .._core.export import ExportArguments
from .._core.schema import Schema
from .._core.stream_export import ExportedStream, StreamState
from ..arrow.device_array_stream import DeviceArrayStream
from ..export.exporter import ArrayExporter
from ..export.streams import StreamExporter
from .decoder import DecodeOptions, MessageDecoder, Received

__all__ = ["MessagePasses", "stream_of_messages"]


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
    passes = MessagePasses(receive, options, why_once)
    arguments = ExportArguments(options.stream, mr=options.mr)
    return DeviceArrayStream(passes, partial(ArrayExporter, arguments))


class MessagePasses:
    """Opens passes over the batches of messages; see `stream_of_messages`."""

    def __init__(
        self, receive: Callable[[], Iterator[Received]], options: DecodeOptions, why_once: str
    ) -> None:
        self._receive: Callable[[], Iterator[Received]] | None = receive
        self._options = options
        self._why_once = why_once
        self._schema: Schema | None = None

    @property
    def why_once(self) -> str:
        """Why no further pass can be opened; empty while one can."""
        return self._why_once if self._schema is not None else ""

    def open(self) -> ExportedStream:
        """Open a pass; see `Passes`."""
        if self._receive is None:
            raise ValueError("a stream that was released found, one with messages expected")
        received = self._receive()
        decoder = MessageDecoder.begin(received, self._options)
        self._schema = decoder.schema
        state = StreamState()
        arguments = ExportArguments(self._options.stream, mr=self._options.mr)
        exporter = StreamExporter(arguments, state, None, None)
        return ExportedStream(
            exporter.batch_sources(decoder.batches(received)), state, decoder.schema
        )

    def known_schema(self) -> Schema | None:
        """Return the schema of the messages; see `Passes`."""
        return self._schema

    def release(self) -> None:
        """Let go of the source; see `Passes`."""
        self._receive = None
