# SPDX-License-Identifier: Apache-2.0
"""`from_messages`: Arrow IPC messages as arrays over the buffers that came with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from ..arrow.device_array_stream import DeviceArrayStream
from ..cuda.streams import resolve_stream
from .decoder import Checks, DecodeOptions, Received
from .metadata.headers import HEADERS
from .passes import stream_of_messages

__all__ = ["from_messages"]


def from_messages(
    messages: Iterable[Any], *, stream: Any = None, mr: Any = None, validate: Checks = "sizes"
) -> DeviceArrayStream:
    """Make arrays of Arrow IPC messages, over the buffers that came with them.

    No buffer is copied, and none is read, but for those that are compressed and deltas of
    dictionaries; what memory it is in does not matter, so long as all of a batch and its
    dictionaries are in the same.

    Parameters
    ----------
    messages
        An iterable of `Message` objects, of pairs ``(metadata, buffers)``, or of ``pyarrow.ipc``'s
        messages. Metadata is the flatbuffer, without a length before it. There are as many buffers
        as the metadata tells, or one with the whole packed body. Each has the buffer protocol,
        ``__cuda_array_interface__`` or ``__dlpack__``; it is kept alive as long as the data is in
        use.
    stream : optional
        The CUDA stream that waits for what a ``__cuda_array_interface__`` names, and on which the
        arrays are handed on; named as in `to_arrow_device`.
    mr : optional
        The memory resource of what is converted where a consumer asks for another schema.
    validate : {"sizes", "minimal", "full"}
        What is checked. ``"sizes"``: each buffer is as large as its rows need; buffers are not
        read, and offsets in them are believed. ``"minimal"``: also that the first and last offset
        of strings and lists lie within what they refer to, and that the last run end is behind all
        rows; for device memory this waits once a batch. ``"full"``: also all that
        ``validate="full"`` of `from_arrow_device` checks.

    Returns
    -------
    DeviceArrayStream
        The record batches; each is made when it is asked for. Of an iterator, in one pass.

    Raises
    ------
    TypeError
        For a schema with types that cuDF cannot have, or big-endian data.
    ValueError
        If the first message is not a schema. What is wrong with later ones, the stream raises.

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
    options = DecodeOptions(resolve_stream(stream), validate, mr)
    why_once = ""
    if isinstance(messages, Iterator):
        why_once = f"a {type(messages).__name__} of messages can be consumed once"
    return stream_of_messages(lambda: _receive(messages), options, why_once)


def _receive(messages: Iterable[Any]) -> Iterator[Received]:
    for message in messages:
        metadata, buffers = _taken_apart(message)
        received = Received(HEADERS.read(metadata), buffers)
        del message, metadata, buffers
        yield received
        del received


def _taken_apart(message: Any) -> tuple[Any, list[Any]]:
    if isinstance(message, pa.ipc.Message):
        return message.metadata, [message.body]
    if isinstance(message, tuple):
        metadata, buffers = message
    elif hasattr(message, "metadata") and hasattr(message, "buffers"):
        metadata, buffers = message.metadata, message.buffers
    else:
        raise TypeError(
            f"a message of type {type(message).__name__} found, one with metadata and buffers "
            "expected, or a pair of both"
        )
    return metadata, list(buffers)
