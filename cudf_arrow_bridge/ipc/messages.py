# SPDX-License-Identifier: Apache-2.0
"""`messages` and `from_messages`: Arrow IPC messages without copies of bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .._core.ipc.body import ALIGNMENT, BodyBuffer
from .._core.schema import Schema
from .._core.stream.stream_export import ExportedStream, StreamState
from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.errors import single_use_reason
from ..arrow.options import check_max_rows
from .decoder import Checks, MessageDecoder, ReadOptions, Received
from .encoder import encoder_of
from .metadata import read_header, read_schema

#: Reads the first message and returns the decoder and the messages after the schema.
Start = Callable[[], tuple[MessageDecoder, Iterator[Received]]]


@dataclass(frozen=True, slots=True)
class Message:
    """One Arrow IPC message: metadata, and a body as a list of buffers.

    Attributes
    ----------
    metadata : bytes
        The flatbuffer ``Message`` without the preceding length.
    buffers : list of BodyBuffer
        The buffers of the body in the order of the metadata; absent buffers have size 0. Each has
        an ``address`` and a ``size`` in bytes, and keeps the memory alive. Memory that the CPU can
        read has the buffer protocol, device memory has ``__cuda_array_interface__``.
    """

    metadata: bytes
    buffers: list[BodyBuffer]

    @property
    def padding(self) -> list[int]:
        """The zeros after each buffer in a packed body, as bytes."""
        return [-len(buffer) % ALIGNMENT for buffer in self.buffers]

    @property
    def body_length(self) -> int:
        """The size of a packed body in bytes."""
        return sum(map(len, self.buffers)) + sum(self.padding)


def messages(
    source: Any,
    *,
    stream: Any = None,
    preserve_index: bool | None = None,
    max_rows: int | None = None,
) -> Iterator[Message]:
    """Encode cuDF data as Arrow IPC messages with separate metadata and bodies.

    The schema is first, then each batch after the dictionaries that it needs. A dictionary in the
    same memory as before is not repeated. Bodies are neither read nor copied, with these
    exceptions. For slices, masks that do not start at a multiple of 32 rows and offsets that do not
    start at 0 are copied. The first and last offsets of strings and of sliced lists are read.
    Unknown nulls are counted. Dictionaries in CPU memory are compared with those of the previous
    batch.

    Parameters
    ----------
    source
        A source of `to_arrow_device_stream`. A column becomes a batch of one column.
    stream : optional
        The CUDA stream that produced the data; see `to_arrow_device`. Device buffers may be read
        after its work; their ``__cuda_array_interface__`` names it.
    preserve_index : bool, optional
        Whether to export the index; see `to_arrow_device`.
    max_rows : int, optional
        The maximum number of rows of a batch. None: each object is one batch.

    Returns
    -------
    Iterator of Message
        The messages, each encoded when it is requested.

    Raises
    ------
    TypeError, ValueError
        See `to_arrow_device_stream`; also if a record batch has null rows.

    Notes
    -----
    Source: Arrow columnar format, "Encapsulated message format".

    Examples
    --------
    >>> import pandas as pd
    >>> frame = cab.from_arrow_device(pd.DataFrame({"a": [1, 2, 3]}))
    >>> schema, batch = cab.ipc.messages(frame)
    >>> [buffer.size for buffer in batch.buffers]
    [0, 24]
    >>> batch.buffers[1].address == frame["a"].to_pylibcudf()[0].data().ptr
    True
    """
    max_rows = check_max_rows(max_rows)
    arrays, encoder = encoder_of(source, stream, preserve_index, max_rows)
    yield Message(encoder.schema_metadata, [])
    for batch in encoder.messages(arrays):
        yield Message(batch.metadata(), batch.body.buffers())


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
    receive: Callable[[], Iterator[Received]], options: ReadOptions, single_use: Any
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
        #: The reason why only one iteration can be opened; empty if others can.
        self.single_use_reason = single_use_reason
        self._schema: Schema | None = None

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
