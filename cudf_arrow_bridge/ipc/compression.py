# SPDX-License-Identifier: Apache-2.0
"""Compressed bodies: pyarrow compresses each buffer on the host.

Source: Arrow columnar format, "Compression".
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from .._core.ipc.body import BodyBuffer, IpcBody
from .._core.ipc.body_decoder import BatchParts
from .._core.protocols import Codec
from ..arrow.options import check_option
from ..cuda.residency import DeviceType
from .metadata import Header

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
    header: Header, parts: BatchParts, is_packed: bool, check_size: Callable[[int], object]
) -> tuple[Header, list[Any]]:
    """Decompress the buffers of a message; return them, and the metadata of a body of them.

    The size of this body is at least that of the compressed one. `check_size` is called with it
    before memory is allocated. `is_packed` says that `parts` has one buffer with the whole body.
    Raise TypeError for other than host memory; ValueError if buffers overlap, or one does not match
    its size or its codec.
    """
    assert header.codec is not None
    if parts.has_bytes and parts.location[0] != DeviceType.CPU:
        raise TypeError("a compressed body must be in host memory, and this one is not")
    places = parts.places
    stored = sorted(place for place in places if place[1])
    if is_packed and any(one + size > other for (one, size), (other, _) in pairwise(stored)):
        raise ValueError("compressed buffers overlap")  # each would be decompressed
    found = []
    for i, (address, size) in enumerate(places):
        try:
            found.append(_data_and_size(header.codec, pa.foreign_buffer(address, size, parts)))
        except ValueError as error:
            raise ValueError(f"buffer {i}: {error}") from error
    sizes = [size for _, size, _ in found]
    total = max(header.body_length, sum(sizes))
    check_size(total)
    result: list[Any] = []
    for i, (data, size, is_compressed) in enumerate(found):
        try:
            result.append(_decompressed(header.codec, data, size) if is_compressed else data)
        except MemoryError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"buffer {i}: {header.codec}: {error}") from error
    pairs = np.array([(0, size) for size in sizes], "<i8").tobytes()
    return header._replace(body_length=total, buffers=pairs), result


def _decompressed(name: Codec, data: pa.Buffer, size: int) -> pa.Buffer:
    """Decompress a buffer of `size` bytes; raise OSError if it has another number of bytes."""
    result = pa.allocate_buffer(size)
    # `pa.Codec.decompress` accepts less data in lz4 frames, and leaves the rest uninitialized.
    with pa.CompressedInputStream(pa.BufferReader(data), name) as stream:
        count = stream.readinto(result)
        has_more = bool(stream.read(1))
    if count != size or has_more:
        found = "more" if has_more else f"{count:,}"
        raise OSError(f"expected {size:,} bytes, got {found}")
    return result


def _data_and_size(name: Codec, data: pa.Buffer) -> tuple[pa.Buffer | None, int, bool]:
    """Return the data of a buffer, its decompressed size, and whether it is compressed."""
    if not data:
        return None, 0, False
    if len(data) < SIZE.size:
        raise ValueError(f"expected at least {SIZE.size} bytes, got {len(data)}")
    (size,) = SIZE.unpack_from(data)
    rest = data.slice(SIZE.size)
    if size == NOT_COMPRESSED:
        return rest or None, len(rest), False
    most = len(rest) * MOST_BYTES[name]
    if not 0 <= size <= most:
        raise ValueError(f"expected an uncompressed size of 0 to {most:,} bytes, got {size:,}")
    return (rest, size, True) if size else (None, 0, False)
