# SPDX-License-Identifier: Apache-2.0
"""Packing of arrays into a header and buffers, for pickle, Dask and Ray.

The header has `HEAD`, the schema as the metadata of an IPC message, zeros up to a multiple of 8,
and the numbers of `_core.ipc.packed`. Absent buffers are not sent.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from .._core.export.array_exporter import ExportArguments
from .._core.ipc.body_decoder import BodyDecoder
from .._core.ipc.body_transfer import BodyDownload
from .._core.ipc.packed import bodies_of, buffers_of, numbers_of, read_parts
from .._core.schema import Schema
from ..arrow.bounded_cache import BoundedCache
from ..arrow.device_array import DeviceArray
from ..arrow.schemas import as_field, as_schema
from ..cuda.residency import DeviceType, has_gpu
from ..cuda.streams import resolve_stream
from ..export.exporter import ArrayExporter
from ..ipc.adopt import DeviceAdopter
from ..ipc.metadata.headers import BytesLike, bytes_of
from ..ipc.metadata.schema_messages import read_schema, schema_message
from ..ipc.transport.framing import CHUNK_SIZE
from ..ipc.transport.sources import open_source

if TYPE_CHECKING:
    from .._core.export.exported_array import ExportedArray
    from .._core.ipc.body import IpcBody
    from ..arrow.options import Kind
    from ..cuda.streams import Stream

__all__ = ["Packed", "pack", "unpack"]

#: Magic and version, kind, whether buffers are packed bodies, device type, size of the schema, rows
#: before the array in the object that it is a batch of.
HEAD = struct.Struct("<4sBBHqq")
MAGIC = b"CAB\x01"
KINDS: tuple[Kind, ...] = ("column", "table")

#: The checks, see `BodyDecoder.batch`: reject buffers whose size does not match the header.
CHECKS = "minimal"

#: Device types whose memory is copied back to a device if the reader has one.
ON_DEVICE = (DeviceType.CUDA, DeviceType.CUDA_MANAGED)


class Packed(NamedTuple):
    """A packed array.

    Attributes
    ----------
    header
        The description of the array and its buffers.
    buffers
        The buffers that are not empty, in place.
    """

    header: bytes
    buffers: list[Any]


def pack(array: DeviceArray, *, to_host: bool = True) -> Packed:
    """Pack an array into a header and buffers.

    Buffers are not copied, except those of slices that start within a byte or whose offsets do not
    start with 0.

    Parameters
    ----------
    array
        The array.
    to_host
        Whether to copy device memory to the host, one copy for each body, through pinned memory.
        Otherwise the buffers stay, and this function waits until they are ready.

    Raises
    ------
    ValueError
        If the array is released, or is a record batch with null rows.
    """
    kind: Kind = array._kind
    stream = array._array.stream or resolve_stream(None)
    bodies = bodies_of(array._array, kind == "table", stream)
    device_type = array._array.device_type
    is_packed = to_host and device_type != DeviceType.CPU
    buffers: list[Any]
    if is_packed:
        buffers = [_download(body) for body in bodies if body.packed_size]
    else:
        for body in bodies:
            body.wait()
        buffers = buffers_of(bodies)
    first_row = -1 if array._first_row is None else array._first_row
    schema = _metadata_of(array._arrow_schema, kind)
    head = HEAD.pack(MAGIC, kind == "table", is_packed, device_type, len(schema), first_row)
    return Packed(numbers_of(head + schema, bodies), buffers)


def unpack(header: BytesLike, buffers: list[Any], labels: tuple[Any, ...] = ()) -> DeviceArray:
    """Create an array from a header and buffers.

    The array shares the buffers and keeps them alive. Host buffers are copied if their alignment is
    smaller than before, up to 8 bytes. Packed device memory is copied to the current device if this
    process has one, otherwise it stays on the host.

    Parameters
    ----------
    header, buffers
        The result of `pack`. Buffers have the buffer protocol, ``__cuda_array_interface__`` or
        ``__dlpack__``. All sizes and the ends of offsets and runs are checked before they are used.
    labels
        The labels of the array, any objects.

    Raises
    ------
    TypeError
        For unsupported types, and buffers without any of the protocols.
    ValueError
        If header and buffers do not match.
    BufferError
        For memory that is not contiguous.
    """
    header = bytes_of(header)
    if len(header) < HEAD.size:
        raise ValueError(f"header: expected at least {HEAD.size} bytes, got {len(header)}")
    magic, is_table, is_packed, device_type, schema_size, first_row = HEAD.unpack_from(header)
    if magic != MAGIC:
        raise ValueError(f"header: expected {MAGIC!r} at the beginning, got {magic!r}")
    if is_table > 1 or is_packed > 1 or first_row < -1:
        raise ValueError(f"header: expected flags, got {is_table}, {is_packed} and {first_row}")
    end = HEAD.size + schema_size
    if schema_size < 0 or end > len(header):
        raise ValueError(f"header: expected a shorter schema, got {schema_size:,} bytes")
    decoder, schema = _decoder_of(header[HEAD.size : end], KINDS[is_table])
    stream = resolve_stream(None)
    is_on_device = device_type in ON_DEVICE and has_gpu()
    if is_packed and is_on_device:
        buffers = [_upload(buffer, stream) for buffer in buffers]
    batch, *dictionaries = read_parts(
        header,
        end,
        1 + decoder.num_dictionaries,
        buffers,
        is_packed,
        is_on_device,
        DeviceAdopter(stream),
    )
    values: list[ExportedArray | None] = [None] * len(dictionaries)
    # Dictionaries within the values of others have greater indices.
    for index in reversed(range(len(dictionaries))):
        values[index] = decoder.dictionary(index, dictionaries[index], values, CHECKS, stream)
    array = decoder.batch(batch, values, CHECKS, stream)
    kind = KINDS[is_table]
    if kind == "column":
        array = array.children[0]
    exporter = ArrayExporter(ExportArguments(stream), array, schema, kind)
    return DeviceArray(array, schema, kind, labels, None if first_row < 0 else first_row, exporter)


def _download(body: IpcBody) -> memoryview:
    """Copy a packed body to host memory."""
    memory = memoryview(pa.allocate_buffer(body.packed_size)).cast("B")
    position = 0
    for piece in BodyDownload(body, CHUNK_SIZE):
        memory[position : position + len(piece)] = piece
        position += len(piece)
    return memory.toreadonly()


def _upload(buffer: Any, stream: Stream) -> Any:
    return open_source(buffer).upload(memoryview(buffer).nbytes, stream, None, CHUNK_SIZE)


#: The padded metadata of the newest schemas.
_known: BoundedCache[tuple[Schema, Kind], bytes] = BoundedCache()


def _metadata_of(schema: Any, kind: Kind) -> bytes:
    if not isinstance(schema, Schema):
        return _padded_metadata(schema, kind)
    known = _known.find(lambda key: key[1] == kind and key[0].shares(schema))
    if known is None:
        known = _padded_metadata(schema, kind)
        _known.add((schema, kind), known)
    return known


def _padded_metadata(schema: Any, kind: Kind) -> bytes:
    metadata = schema_message(
        as_schema(schema) if kind == "table" else pa.schema([as_field(schema)])
    )
    return metadata + bytes(-len(metadata) % 8)


@lru_cache(maxsize=32)
def _decoder_of(metadata: bytes, kind: Kind) -> tuple[BodyDecoder, Any]:
    """Return the decoder for arrays of a schema, and their schema."""
    stored = read_schema(metadata)
    if kind == "column" and len(stored.schema) != 1:
        raise ValueError(f"header: expected 1 column, got {len(stored.schema)}")
    decoder = BodyDecoder(stored.schema.__arrow_c_schema__())
    if kind == "table":
        return decoder, decoder.schema
    return decoder, Schema.copy_of(stored.schema.field(0).__arrow_c_schema__())
