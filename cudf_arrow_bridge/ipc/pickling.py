# SPDX-License-Identifier: Apache-2.0
"""Packing of arrays into a header and buffers, for pickle, Dask and Ray.

The header has the metadata of Arrow IPC messages: the schema, the dictionaries, and one record
batch. Absent buffers are not sent.
"""

from __future__ import annotations

from collections.abc import Callable
from pickle import PickleBuffer
from typing import Any

import pyarrow as pa

from .._core.ipc.body import IpcBody
from .._core.ipc.body_transfer import download_to, upload_memory
from .._core.schema import Schema
from ..arrow.device_array import DeviceArray
from ..cuda.residency import DeviceType, has_gpu
from ..cuda.streams import resolve_stream
from .decoder import MessageDecoder, ReadOptions
from .encoder import MessageEncoder
from .metadata import pairs_of, read_header, read_schema
from .transport.framing import CHUNK_SIZE

#: The first pickle protocol with out-of-band buffers.
WITH_BUFFERS = 5

#: Device types whose memory is copied back to a device if the reader has one.
ON_DEVICE = (DeviceType.CUDA, DeviceType.CUDA_MANAGED)


def pack(array: DeviceArray, *, to_host: bool = True) -> tuple[tuple[Any, ...], list[Any]]:
    """Pack an array into a header and the buffers that are not empty.

    The header has the kind, the device type, whether each buffer is the packed body of a message,
    the rows before the array in its stream, and the metadata of the messages.

    Buffers are not copied, except those of slices that start within a byte or whose offsets do not
    start with 0. With `to_host`, device memory is copied to the host, one copy for each body,
    through pinned memory. Otherwise the buffers stay, and this function waits until they are ready.
    Raises a ValueError if the array is released, or is a record batch with null rows.
    """
    stream: Any = array._array.stream or resolve_stream(None)
    device_type = array._array.device_type
    is_packed = to_host and device_type != DeviceType.CPU
    encoder = MessageEncoder(array._arrow_schema, array._kind, stream, is_downloaded=is_packed)
    encoded = encoder.encode(array._array)
    buffers: list[Any]
    if is_packed:
        buffers = [_download(batch.body) for batch in encoded if batch.body.packed_size]
    else:
        buffers = []
        for batch in encoded:
            batch.body.wait()
            buffers += batch.body.buffers(with_absent=False)
    messages = (encoder.schema_metadata, *(batch.metadata() for batch in encoded))
    return (array._kind, device_type, is_packed, array._first_row, *messages), buffers


def unpack(
    header: tuple[Any, ...], buffers: list[Any], labels: tuple[Any, ...] = ()
) -> DeviceArray:
    """Create an array from a header and buffers, the result of `pack`.

    The array shares the buffers and keeps them alive. Host buffers whose address is not a multiple
    of 8 are copied. Packed device memory is copied to the current device if this process has one,
    otherwise it stays on the host. Buffers have the buffer protocol, ``__cuda_array_interface__``
    or ``__dlpack__``. All sizes and the ends of offsets and runs are checked before they are used.

    Raises
    ------
    TypeError
        For unsupported types, and buffers without any of the protocols.
    ValueError
        If header and buffers do not match.
    BufferError
        For memory that is not contiguous.
    """
    kind, device_type, is_packed, first_row, schema_message, *messages = header
    if kind not in ("table", "column"):
        raise ValueError(f"header: expected the kind 'table' or 'column', got {kind!r}")
    stored = read_schema(schema_message)
    on_device = device_type in ON_DEVICE and has_gpu()
    target = DeviceType.CUDA if on_device else DeviceType.CPU
    options = ReadOptions(None, "minimal", device_type=target)
    if is_packed and on_device:
        buffers = [upload_memory(buffer, options.stream, None, CHUNK_SIZE) for buffer in buffers]
    decoder = MessageDecoder(stored, options)
    headers = list(map(read_header, messages))
    sizes = [
        [header.body_length] if is_packed else pairs_of(header.buffers)[:, 1].tolist()
        for header in headers
    ]
    # Absent buffers, and packed bodies without bytes, are not sent.
    expected = sum(size != 0 for of_body in sizes for size in of_body)
    if expected != len(buffers):
        raise ValueError(f"expected {expected} buffers, got {len(buffers)}")
    aligned = map(_aligned, buffers)
    array = None
    for message, of_body in zip(headers, sizes, strict=True):
        body = [next(aligned) if size else None for size in of_body]
        array = decoder.read_array(message, body)
    if array is None:
        raise ValueError("header: the last message is not a record batch")
    schema = decoder.schema
    if kind == "column":
        if len(stored.schema) != 1:
            raise ValueError(f"header: expected 1 column, got {len(stored.schema)}")
        array = array.children[0]
        schema = Schema.copy_of(stored.schema.field(0).__arrow_c_schema__())
    return DeviceArray(array, schema, kind, labels, first_row, options.arguments)


def reduce(array: DeviceArray, protocol: int) -> tuple[Callable[..., Any], Any]:
    """Return the result of `DeviceArray.__reduce_ex__`: buffers are out of band in protocol 5."""
    header, buffers = pack(array)
    as_pickled = PickleBuffer if protocol >= WITH_BUFFERS else bytes
    return unpack, (header, list(map(as_pickled, buffers)), array._labels)


def _aligned(buffer: Any) -> Any:
    """Return a buffer, or a copy of host memory whose address is not a multiple of 8."""
    try:
        memory = pa.py_buffer(buffer)
    except (BufferError, TypeError):  # in device memory
        return buffer
    return memory if memory.address % 8 == 0 else memory.to_pybytes()


def _download(body: IpcBody) -> memoryview:
    """Copy a packed body to host memory."""
    memory = pa.allocate_buffer(body.packed_size)
    with pa.FixedSizeBufferWriter(memory) as writer:
        download_to(writer.write, body, CHUNK_SIZE)
    return memoryview(memory).cast("B").toreadonly()
