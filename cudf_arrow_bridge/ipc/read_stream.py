# SPDX-License-Identifier: Apache-2.0
"""`open_stream`: a stream of Arrow IPC as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pyarrow as pa

from ..arrow.device_array_stream import DeviceArrayStream
from ..cuda.residency import DeviceType
from ..cuda.streams import resolve_stream
from .decoder import Checks, DecodeOptions, Received
from .landing import Landing
from .metadata.headers import HEADERS, Header
from .metadata.schema_messages import read_schema
from .passes import stream_of_messages
from .transport.framing import CHUNK_SIZE, check_chunk_size, read_message
from .transport.sources import Source, is_read_once, open_source

__all__ = ["open_stream", "stream_headers"]


def open_stream(
    source: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    device_type: Literal["cpu", "cuda"] | DeviceType | None = None,
    validate: Checks = "minimal",
    memory_map: bool = False,
    chunk_size: int = CHUNK_SIZE,
) -> DeviceArrayStream:
    """Read a stream of Arrow IPC, batch by batch.

    Bodies land in the memory that columns are made of. Host memory: bytes and mapped files are
    used as they are; what is read, is read to where it stays. Memory of a device is filled through
    two pieces of pinned memory: while one is read, the other is being copied. Compressed bodies are
    decompressed by pyarrow on the host.

    Parameters
    ----------
    source
        A path, an object with the buffer protocol, a ``pyarrow.Buffer``, a socket, or a binary
        file.
    stream : optional
        The CUDA stream that copies to a device are enqueued on, and on which arrays are handed on;
        named as in `to_arrow_device`.
    mr : optional
        The memory resource of a device's memory; None for rmm's current one.
    device_type : {"cpu", "cuda"} or DeviceType, optional
        Where arrays are to be. None: on the current device; in host memory where there is no GPU.
    validate : {"sizes", "minimal", "full"}
        What is checked; see `from_messages`.
    memory_map : bool
        Whether a file that a path names is mapped rather than read; see `to_arrow_device_stream`
        for what that risks.
    chunk_size : int
        The bytes that are copied to a device at a time.

    Returns
    -------
    DeviceArrayStream
        The record batches, each read when it is asked for. Bytes and paths can be read as often as
        wanted, other sources once.

    Raises
    ------
    TypeError, ValueError
        As `from_messages`; also where a stream ends in the middle of a message.

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
    c_stream = resolve_stream(stream)
    landing = Landing.of(device_type, c_stream, mr, check_chunk_size(chunk_size))
    options = DecodeOptions(c_stream, validate, mr)
    why_once = ""
    if is_read_once(source):
        why_once = f"a {type(source).__name__} can be read once"
    return stream_of_messages(lambda: _receive(source, memory_map, landing), options, why_once)


def _receive(source: Any, memory_map: bool, landing: Landing) -> Iterator[Received]:
    with open_source(source, memory_map) as opened:
        while (message := read_next(opened, landing)) is not None:
            yield message
            del message


def stream_headers(source: Any) -> tuple[pa.Schema, list[Header]]:
    """Return the schema of a stream, and what the metadata of each batch says; no body is read.

    Parameters
    ----------
    source
        As for `open_stream`, but one that can seek.

    Raises
    ------
    TypeError, ValueError
        If it is no such stream. Types that cuDF does not have are no error.
    """
    with open_source(source) as opened:
        first = _next_header(opened)
        if first is None:
            raise ValueError("no message found, one with the schema expected")
        schema = read_schema(first.metadata).schema
        headers = []
        while (header := _next_header(opened)) is not None:
            opened.seek(opened.position + header.body_length)
            if header.kind == "batch":
                headers.append(header)
        return schema, headers


def read_next(source: Source, landing: Landing) -> Received | None:
    """Read a message from where a source stands; None at the end.

    Raises
    ------
    ValueError
        If the source ends before, or has no message there.
    """
    header = _next_header(source)
    return None if header is None else landing.receive(header, source)


def _next_header(source: Source) -> Header | None:
    found = read_message(source)
    if found is None:
        return None
    metadata, position = found
    try:
        return HEADERS.read(metadata)
    except ValueError as error:
        raise ValueError(f"byte {position - len(metadata):,}: {error}") from error
