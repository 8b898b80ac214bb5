# SPDX-License-Identifier: Apache-2.0
"""`open_stream`: reading of an Arrow IPC stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pyarrow as pa

from ..arrow.device_array_stream import DeviceArrayStream
from ..cuda.residency import DeviceType
from .decoder import Checks, ReadOptions, Received
from .from_messages import stream_of_messages
from .metadata import Header, read_header, read_schema
from .transport.framing import CHUNK_SIZE, read_message
from .transport.sources import Source, is_read_once, open_source


def open_stream(
    source: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    device_type: Literal["cpu", "cuda"] | DeviceType | None = None,
    validate: Checks = "minimal",
    memory_map: bool = False,
    chunk_size: int = CHUNK_SIZE,
    max_bytes: int | None = None,
) -> DeviceArrayStream:
    """Read an Arrow IPC stream, one batch at a time.

    Bodies are read to the memory that columns use. In host memory, bytes and memory-mapped files
    are used in place, and other bodies are read once without further copies. Device memory is
    filled through two pieces of pinned memory: while one is read, the other is copied. Up to four
    threads copy bodies in host memory. pyarrow decompresses compressed bodies on the host.

    Parameters
    ----------
    source
        A path or its ``file:`` URL, an object with the buffer protocol, a ``pyarrow.Buffer``, a
        socket, or a binary file.
    stream : optional
        The CUDA stream for copies to a device, which produces the arrays; see `to_arrow_device`.
    mr : optional
        The memory resource for device memory. None: rmm's current resource.
    device_type : {"cpu", "cuda"} or DeviceType, optional
        The memory for the arrays. None: the current device, or host memory without a GPU.
    validate : {"sizes", "minimal", "full"}
        The checks; see `from_messages`.
    memory_map : bool
        Whether to memory-map the file of a path; see `to_arrow_device_stream` for the risks.
    chunk_size : int
        The number of bytes that are copied to a device at a time.
    max_bytes : int, optional
        The largest number of bytes that a record batch may take, with the dictionaries that came
        before it. A message takes its body, or its decompressed buffers if these have more bytes.
        A message that would take more is an error before memory of that size is allocated.

    Returns
    -------
    DeviceArrayStream
        The record batches, each read when it is requested. Streams of bytes and paths can be
        consumed repeatedly, others once.

    Raises
    ------
    TypeError, ValueError
        See `from_messages`; also if the stream ends within a message.

    Notes
    -----
    Source: Arrow columnar format, "IPC Streaming Format".

    Examples
    --------
    >>> import io
    >>> import pyarrow as pa
    >>> sink = io.BytesIO()
    >>> cab.ipc.write_stream(pa.table({"a": [1, 2, 3]}), sink)
    >>> cab.from_arrow_device_stream(cab.ipc.open_stream(sink.getvalue()))
       a
    0  1
    1  2
    2  3
    """
    options = ReadOptions(stream, validate, mr, device_type, chunk_size, max_bytes, uploads=True)
    single_use_reason = ""
    if is_read_once(source):
        single_use_reason = (
            f"the stream can be read only once from an object of type {type(source).__name__}"
        )
    return stream_of_messages(lambda: _receive(source, memory_map), options, single_use_reason)


def _receive(source: Any, memory_map: bool) -> Iterator[Received]:
    with open_source(source, memory_map) as opened:
        while (header := next_header(opened)) is not None:
            yield header, opened


def stream_headers(source: Any) -> tuple[pa.Schema, list[Header]]:
    """Return the schema of a stream that can seek, and the header of each batch. Reads no body.

    Unsupported types are not an error.
    """
    with open_source(source) as opened:
        first = next_header(opened)
        if first is None:
            raise ValueError("the stream has no message with a schema")
        schema = read_schema(first.metadata).schema
        headers = []
        while (header := next_header(opened)) is not None:
            opened.seek(opened.position + header.body_length)
            if header.kind == "batch":
                headers.append(header)
        return schema, headers


def next_header(source: Source) -> Header | None:
    """Read the metadata of the next message; return None at the end."""
    metadata = read_message(source)
    if metadata is None:
        return None
    try:
        return read_header(metadata)
    except ValueError as error:
        raise ValueError(f"byte {source.position - len(metadata):,}: {error}") from error
