# SPDX-License-Identifier: Apache-2.0
"""Compressed bodies: pyarrow compresses each buffer on the host.

Source: Arrow columnar format, "Compression".
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from .._core.ipc.body import BodyBuffer, IpcBody
from ..arrow.options import check_option
from .metadata import Header, Pairs, pairs_of

if TYPE_CHECKING:
    from .._core.protocols import Codec

Compression = Literal["lz4", "zstd"]

#: The codecs with their values in flatbuffers.
CODECS: dict[str | None, Codec | None] = {None: None, "lz4": "lz4_frame", "zstd": "zstd"}
#: The maximum compression ratio of the formats. A larger size is rejected before it is allocated.
MOST_BYTES = {"lz4_frame": 256, "zstd": 2**16}
#: A buffer begins with its uncompressed size, or with this value if it is not compressed.
SIZE = struct.Struct("<q")
NOT_COMPRESSED = -1


def check_compression(compression: Any) -> Codec | None:
    """Return the codec of the argument ``compression=`` of a caller; None for no compression."""
    check_option("compression", compression, tuple(CODECS))
    return CODECS[compression]


def compress(body: IpcBody, name: Codec) -> IpcBody:
    """Return a body in host memory with compressed buffers."""
    codec = pa.Codec(name)
    return body.with_buffers([_compressed(codec, buffer) for buffer in body.buffers()])


def _compressed(codec: pa.Codec, buffer: BodyBuffer) -> bytes:
    if buffer.size == 0:
        return b""
    data: pa.Buffer = codec.compress(pa.py_buffer(buffer))
    if len(data) < buffer.size:
        return b"".join((SIZE.pack(buffer.size), data))
    return b"".join((SIZE.pack(NOT_COMPRESSED), buffer))


def decompress(
    header: Header, buffers: list[Any], check_size: Callable[[int], object]
) -> tuple[list[Any], int]:
    """Decompress the buffers of a message, or of its packed body; return also their size in bytes.

    The size is at least that of the body. `check_size` is called with it before memory is
    allocated. Raise TypeError for other than host memory; ValueError if a buffer lies outside the
    body, or does not match its size or its codec.
    """
    assert header.codec is not None
    pairs = pairs_of(header.buffers)
    if len(buffers) not in (1, len(pairs)):
        raise ValueError(
            f"expected {len(pairs)} buffers or a packed body, got {len(buffers)} buffers"
        )
    views = [_bytes_of(buffer) for buffer in buffers]
    if len(views) == 1:
        _check_apart(pairs)
    found = []
    for i, (offset, size) in enumerate(pairs.tolist()):
        view, first = (views[0], offset) if len(views) == 1 else (views[i], 0)
        if first < 0 or size < 0 or first + size > len(view):
            raise ValueError(
                f"buffer {i}: expected bytes within the body of {len(view):,}, got "
                f"{first:,} to {first + size:,}"
            )
        try:
            found.append(_data_and_size(header.codec, view[first : first + size]))
        except ValueError as error:
            raise ValueError(f"buffer {i}: {error}") from error
    total = max(header.body_length, sum(size for _, size, _ in found))
    check_size(total)
    result: list[Any] = []
    for i, (data, size, is_compressed) in enumerate(found):
        if not size or not is_compressed:
            result.append(data if size else None)
            continue
        try:
            result.append(_decompressed(header.codec, data, size))
        except MemoryError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"buffer {i}: {header.codec}: {error}") from error
    return result, total


def _decompressed(name: Codec, data: memoryview, size: int) -> pa.Buffer:
    """Decompress a buffer of `size` bytes; raise OSError if it has another number of bytes."""
    result = pa.allocate_buffer(size)
    # `pa.Codec.decompress` accepts less data in lz4 frames, and leaves the rest uninitialized.
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), name) as stream:
        count = stream.readinto(result)
        has_more = bool(stream.read(1))
    if count != size or has_more:
        found = "more" if has_more else f"{count:,}"
        raise OSError(f"expected {size:,} bytes, got {found}")
    return result


def _check_apart(pairs: Pairs) -> None:
    """Raise ValueError if buffers of a body overlap, each of which would be decompressed."""
    order = np.argsort(pairs[:, 0], kind="stable")
    order = order[pairs[order, 1] > 0]
    starts, sizes = pairs[order].T
    overlapping = np.flatnonzero(np.diff(starts) < sizes[:-1])
    if len(overlapping):
        one, other = order[overlapping[0]], order[overlapping[0] + 1]
        raise ValueError(f"buffers {one} and {other} overlap")


def _bytes_of(buffer: Any) -> memoryview:
    if buffer is None:
        return memoryview(b"")
    try:
        return memoryview(buffer).cast("B")
    except (BufferError, TypeError):
        raise TypeError(
            f"a compressed body must be in host memory, and this one is a {type(buffer).__name__}"
        ) from None


def _data_and_size(name: Codec, data: memoryview) -> tuple[memoryview, int, bool]:
    """Return the data of a buffer, its decompressed size, and whether it is compressed."""
    if not data:
        return data, 0, False
    if len(data) < SIZE.size:
        raise ValueError(f"expected at least {SIZE.size} bytes, got {len(data)}")
    (size,) = SIZE.unpack_from(data)
    rest = data[SIZE.size :]
    if size == NOT_COMPRESSED:
        return rest, len(rest), False
    most = len(rest) * MOST_BYTES[name]
    if not 0 <= size <= most:
        raise ValueError(f"expected an uncompressed size of 0 to {most:,} bytes, got {size:,}")
    return rest, size, True
