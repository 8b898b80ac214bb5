# SPDX-License-Identifier: Apache-2.0
"""Compressed bodies: each buffer by itself, by pyarrow on the host.

Source: Arrow columnar format, "Compression".
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa

from .._core.ipc import ALIGNMENT, IpcBody
from .batch_templates import BatchTemplate
from .metadata import Header

__all__ = ["Compression", "check_compression", "compress", "decompress"]

Compression = Literal["lz4", "zstd"]

#: The codecs as flatbuffers name them.
CODECS = {"lz4": "lz4_frame", "zstd": "zstd"}
NAMES = {codec: name for name, codec in CODECS.items()}
#: Bytes that one byte of compressed data can stand for at most, as the formats are: more is not
#: believed, before it is allocated.
MOST_BYTES = {"lz4": 256, "zstd": 2**16}
#: A buffer begins with its size before it was compressed, or with this if it is not.
PREFIX_BYTES = 8
NOT_COMPRESSED = -1


def check_compression(compression: object) -> Compression | None:
    """Return what a caller gave as ``compression=``, if it is a codec or None."""
    if compression is not None and compression not in CODECS:
        raise ValueError(f"compression={compression!r} found, None, 'lz4' or 'zstd' expected")
    return compression  # type: ignore[return-value]


def compress(body: IpcBody, compression: Compression) -> tuple[list[Any], list[tuple[int, int]]]:
    """Compress the buffers of a body in host memory.

    Returns
    -------
    list of bytes-like
        The pieces of the packed body: buffers and the zeros between them.
    list of (int, int)
        Offset and length of each buffer.
    """
    codec = pa.Codec(compression)
    pieces: list[Any] = []
    pairs = []
    offset = 0
    for buffer in body.buffers():
        piece = [] if buffer.size == 0 else _compressed(codec, buffer)
        size = sum(map(len, piece))
        pairs.append((offset, size))
        pieces += [*piece, bytes(-size % ALIGNMENT)]
        offset += size + -size % ALIGNMENT
    return pieces, pairs


def _compressed(codec: pa.Codec, buffer: Any) -> list[Any]:
    data = codec.compress(pa.py_buffer(buffer))
    if len(data) < buffer.size:
        return [np.int64(buffer.size).tobytes(), memoryview(data)]
    return [np.int64(NOT_COMPRESSED).tobytes(), memoryview(buffer)]


def compressed_metadata(
    template: BatchTemplate, body: IpcBody, pairs: list[tuple[int, int]], **of_dictionary: Any
) -> bytes:
    """Return the metadata of a compressed body."""
    offset, size = pairs[-1] if pairs else (0, 0)
    return template.fill(
        body.length,
        body.nodes(),
        pairs,
        offset + size + -size % ALIGNMENT,
        body.variadic_counts(),
        **of_dictionary,
    )


def decompress(header: Header, buffers: list[Any]) -> list[Any]:
    """Decompress the buffers of a body in host memory.

    Parameters
    ----------
    header
        What the metadata says; it has a codec.
    buffers
        The buffers, or one with the packed body.

    Raises
    ------
    TypeError
        If the memory is not the CPU's.
    ValueError
        If a buffer lies outside the body, or is not what it says.
    """
    assert header.layout.codec is not None
    name = NAMES[header.layout.codec]
    pairs = np.frombuffer(
        header.metadata, "<i8", 2 * header.layout.num_buffers, header.layout.buffers
    ).reshape(-1, 2)
    if len(buffers) not in (1, len(pairs)):
        raise ValueError(f"{len(buffers)} buffers found, {len(pairs)} expected, or a packed body")
    views = [_bytes_of(buffer) for buffer in buffers]
    result: list[Any] = []
    for i, (offset, size) in enumerate(pairs.tolist()):
        view, first = (views[0], offset) if len(views) == 1 else (views[i], 0)
        if first < 0 or size < 0 or first + size > len(view):
            raise ValueError(
                f"buffer {i}: bytes {first:,} to {first + size:,} of {len(view):,} found, none "
                "outside expected"
            )
        try:
            result.append(_decompressed(name, view[first : first + size]))
        except ValueError as error:
            raise ValueError(f"buffer {i}: {error}") from error
    return result


def _bytes_of(buffer: Any) -> memoryview:
    if buffer is None:
        return memoryview(b"")
    try:
        return memoryview(buffer).cast("B")
    except (BufferError, TypeError):
        raise TypeError(
            f"a compressed body in a {type(buffer).__name__} found, memory that the CPU can read "
            "expected"
        ) from None


def _decompressed(name: str, data: memoryview) -> Any:
    if not data:
        return None
    if len(data) < PREFIX_BYTES:
        raise ValueError(f"{len(data)} bytes found, at least {PREFIX_BYTES} expected")
    size = int(np.frombuffer(data, "<i8", 1)[0])
    rest = data[PREFIX_BYTES:]
    if size == NOT_COMPRESSED:
        return rest
    most = len(rest) * MOST_BYTES[name]
    if not 0 <= size <= most:
        raise ValueError(f"{size:,} bytes before compression found, 0 to {most:,} expected")
    if size == 0:
        return None
    try:
        return pa.Codec(name).decompress(pa.py_buffer(rest), size)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{name}: {error}") from error
