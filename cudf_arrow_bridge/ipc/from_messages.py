# SPDX-License-Identifier: Apache-2.0
"""`from_messages`: decoding of Arrow IPC messages to arrays over their buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from .._core.schema import Schema
from .._core.stream.stream_export import ExportedStream, StreamState
from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.errors import single_use_reason
from .decoder import Checks, MessageDecoder, ReadOptions, Received
from .metadata import read_header, read_schema

#: Reads the first message and returns the decoder and the messages after the schema.
Start = Callable[[], tuple[MessageDecoder, Iterator[Received]]]


def from_messages(
    messages: Iterable[Any],
    *,
    stream: Any = None,
    mr: Any = None,
    validate: Checks = "sizes",
    max_bytes: int | None = None,
) -> DeviceArrayStream:
    """Create arrays from Arrow IPC messages, over their buffers.

    No buffer is copied or read, except compressed buffers and deltas of dictionaries. Buffers may
    be in any memory, but all buffers of a batch and its dictionaries must be in the same. A batch
    without bytes counts as memory like that of the messages before it.

    Parameters
    ----------
    messages
        An iterable of `Message` objects, pairs ``(metadata, buffers)``, or messages of
        ``pyarrow.ipc``. Metadata is the flatbuffer without the preceding length. Buffers are all
        buffers of the metadata, or one buffer with the whole packed body. Each has the buffer
        protocol, ``__cuda_array_interface__`` or ``__dlpack__``, and is kept alive while the data
        is in use.
    stream : optional
        The CUDA stream that waits for the stream of a ``__cuda_array_interface__``, and that
        produces the arrays; see `to_arrow_device`.
    mr : optional
        The memory resource for conversions if a consumer requests another schema.
    validate : {"sizes", "minimal", "full"}
        The checks. ``"sizes"``: each buffer is large enough for its rows; buffers are not read, and
        their offsets are trusted. ``"minimal"``: also that the first and last offset of strings and
        lists are in range, and that the last run end covers all rows; for device memory this
        synchronizes once for each batch. ``"full"``: also all checks of ``validate="full"`` of
        `from_arrow_device`.
    max_bytes : int, optional
        See `open_stream`.

    Returns
    -------
    DeviceArrayStream
        The record batches; each is decoded when it is requested. A stream of an iterator can be
        consumed once.

    Raises
    ------
    TypeError
        For a schema with unsupported types, or big-endian data.
    ValueError
        If the first message is not a schema. The stream raises errors of later messages.

    Notes
    -----
    Source: Arrow columnar format, "Encapsulated message format".

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"a": [1, 2, 3]})
    >>> stream = cab.ipc.from_messages(cab.ipc.messages(table))
    >>> cab.from_arrow_device_stream(stream)
       a
    0  1
    1  2
    2  3
    """
    options = ReadOptions(stream, validate, mr, max_bytes=max_bytes)
    source = messages if isinstance(messages, Iterator) else None
    # Unlike a generator, map keeps no reference to the message that it has returned.
    return stream_of_messages(lambda: map(_receive, messages), options, source)


def _receive(message: Any) -> Received:
    if isinstance(message, pa.ipc.Message):
        metadata, buffers = message.metadata, [message.body]
    elif isinstance(message, tuple):
        metadata, buffers = message
    elif hasattr(message, "metadata") and hasattr(message, "buffers"):
        metadata, buffers = message.metadata, message.buffers
    else:
        raise TypeError(
            "expected a message with metadata and buffers, or a pair of them, got an "
            f"object of type {type(message).__name__}"
        )
    return read_header(metadata), list(buffers)


def stream_of_messages(
    receive: Callable[[], Iterator[Received]],
    options: ReadOptions,
    single_use: Any,
) -> DeviceArrayStream:
    """Return the record batches of messages as a stream. Reads the schema immediately.

    `receive` returns all messages. `single_use` is the object that it can read only once, or None.
    """
    reason = "" if single_use is None else single_use_reason(type(single_use).__name__)

    def start() -> tuple[MessageDecoder, Iterator[Received]]:
        received = receive()
        first = next(received, None)
        if first is None:
            raise ValueError("the stream has no message with a schema")
        return MessageDecoder(read_schema(first[0].metadata), options), received

    source = MessageStreamSource(start, reason)
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
            raise ValueError("the stream is released")
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
