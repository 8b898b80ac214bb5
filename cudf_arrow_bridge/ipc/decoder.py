# SPDX-License-Identifier: Apache-2.0
"""Decoding of messages to arrays over their buffers, which are adopted without a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from .._core.export.array_exporter import BatchSource, ExportArguments, single_batch
from .._core.export.exported_array import ExportedArray
from .._core.ipc.body import BodyBuffer
from .._core.ipc.body_decoder import BatchParts
from .._core.ipc.body_transfer import DeviceMemory, upload_memory
from .._core.stream.stream_export import StreamState
from .._core.tensor import memory_of_dlpack
from ..arrow.device_array import DeviceArray
from ..arrow.options import check_max_bytes, check_option
from ..arrow.tensor_protocols import row_major
from ..cuda.ordering import order
from ..cuda.residency import DeviceType, has_gpu
from ..cuda.streams import Stream, resolve_stream
from ..export.streams import StreamExporter
from ..import_.tensors import producing_handle, request_capsule
from .compression import decompress
from .metadata import Header, StoredSchema, read_header
from .transport.framing import CHUNK_SIZE, check_chunk_size
from .transport.sources import Source

#: The checks of a batch before it is used; see `from_messages`.
Checks = Literal["sizes", "minimal", "full"]
#: A message: its metadata, and the buffers of its body, one with the packed body, or the source at
#: whose position the body is.
Received = tuple[Header, list[Any] | Source]
#: Arrow's device type, and the device id.
Location = tuple[int, int]
CPU: Location = (DeviceType.CPU, -1)


class ReadOptions:
    """Options for reading and decoding messages.

    Attributes
    ----------
    stream
        The CUDA stream for copies to a device, and that waits for received buffers.
    checks
        The checks.
    mr
        The memory resource for device memory, and for conversions if a consumer requests another
        schema.
    on_device
        Whether the first body counts as memory of the current device if it has no bytes.
    chunk_size
        The number of bytes that are copied to a device at a time.
    max_bytes
        The limit of the bytes of a record batch and of the dictionaries that were read before it.
    uploads
        Whether bodies of sources are read to the current device, if the arrays are to be on it.
    arguments
        The arguments of the exports of the arrays.
    """

    def __init__(
        self,
        stream: Any,
        checks: Checks,
        mr: Any = None,
        device_type: Any = None,
        chunk_size: int = CHUNK_SIZE,
        max_bytes: int | None = None,
        uploads: bool = False,
    ) -> None:
        """Validate and resolve the arguments of a caller."""
        known = (DeviceType.CPU, DeviceType.CUDA)
        wanted = known[has_gpu()] if device_type is None else DeviceType(device_type)
        if wanted not in known:
            raise ValueError(f"device_type: expected None, 'cpu' or 'cuda', got {device_type!r}")
        if wanted == DeviceType.CUDA and not has_gpu():
            raise ValueError("device_type='cuda': this process has no CUDA device")
        check_option("validate", checks, ("sizes", "minimal", "full"))
        self.stream = resolve_stream(stream)
        self.checks, self.mr = checks, mr
        self.on_device = wanted == DeviceType.CUDA
        self.uploads = uploads and self.on_device
        self.chunk_size = check_chunk_size(chunk_size)
        self.max_bytes = check_max_bytes(max_bytes)
        self.arguments = ExportArguments(self.stream, mr=mr)


def parts_of(values: pa.Array, stream: Stream, to_device: Any = None) -> BatchParts:
    """Return values as a batch of one column with their own types.

    An import would convert the types that cuDF does not have. `to_device` has the arguments of
    `upload_memory`, or is None for a body in host memory.
    """
    message = pa.ipc.read_message(pa.record_batch([values], [""]).serialize())
    body = message.body
    if to_device is not None and body:
        body = upload_memory(body, *to_device)
    return BatchParts(read_header(message.metadata), [body], partial(_adopt, stream))


class MessageDecoder:
    """Decodes the messages of one stream or file."""

    def __init__(self, stored: StoredSchema, options: ReadOptions) -> None:
        self._options = options
        self._decoder = stored.decoder
        #: The schema of all batches.
        self.schema = self._decoder.schema
        self._ids = stored.dictionary_ids
        count = self._decoder.num_dictionaries
        if len(self._ids) != count:
            # For fields whose children do not match their types.
            raise ValueError(f"schema: expected {count} dictionary ids, got {len(self._ids)}")
        #: The parts of the dictionary with each id: the first message, and the deltas to append.
        self._parts: dict[int, list[BatchParts]] = {}
        #: The values of the dictionary with each index, after the number of their parts, and their
        #: location and the dictionaries within them.
        self._joined: dict[int, tuple[int, list[Any], ExportedArray]] = {}
        self._adopt = partial(_adopt, options.stream)
        #: The location of the memory so far; without bytes so far, that of the first message.
        self._location: Location | None = None
        #: The bytes of the dictionary with each id, and of its deltas.
        self._dictionary_bytes: dict[int, int] = {}

    def batch_sources(
        self, received: Iterable[Received], state: StreamState
    ) -> Iterator[BatchSource]:
        """Yield the record batches of messages for a stream, each decoded when it is requested."""
        schema = self.schema
        state.stream, first_row = self._options.stream, 0
        for message in received:
            array = self.read_array(*message)
            # A suspended generator must not keep buffers alive that its consumer has released.
            del message
            if array is None:
                continue
            if state.requested_schema is None:
                state.started, state.first_row = True, first_row
                source = single_batch(schema, array)
            else:
                batch = self.wrap(array, first_row)
                exporter = StreamExporter(self._options.arguments, state, None, None)
                (source,) = exporter.batch_sources(iter((batch,)))
                del batch
            first_row += array.length
            del array
            yield source
            del source

    def wrap(self, array: ExportedArray, first_row: int = 0) -> DeviceArray:
        """Return a record batch as a table that begins at a row of its stream."""
        return DeviceArray(array, self.schema, "table", (), first_row, self._options.arguments)

    def read_array(self, header: Header, body: list[Any] | Source) -> ExportedArray | None:
        """Read one message; return a record batch as a struct array if it is one."""
        if header.kind == "schema":
            raise ValueError("the stream has a second schema")
        options = self._options
        buffers = body if isinstance(body, list) else self.read_body(header, body)
        parts = self._parts_of(header, buffers)
        if parts.has_bytes or self._location is None:
            self._location = parts.location
        if header.kind == "dictionary":
            self._add_dictionary(header.dictionary_id, parts, header.is_delta)
            return None
        return self._decoder.decode(
            parts,
            self._dictionaries(self._location),
            options.checks,
            options.stream,
            self._location,
        )

    def read_body(self, header: Header, source: Source) -> list[Any]:
        """Read the body of a message at the position of a source, without decompressing it."""
        size, options = header.body_length, self._options
        if size == 0:
            return [None]
        self._check_size(header, size)
        if options.uploads and header.codec is None:
            return [source.upload(size, options.stream, options.mr, options.chunk_size)]
        return [source.take(size)]

    def _parts_of(self, header: Header, buffers: list[Any]) -> BatchParts:
        options = self._options
        if header.codec is not None:
            stored = BatchParts(header, buffers, self._adopt)
            check_size = partial(self._check_size, header)
            header, buffers = decompress(header, stored, len(buffers) == 1, check_size)
            if options.uploads:
                target = options.stream, options.mr, options.chunk_size
                buffers = [buffer and upload_memory(buffer, *target) for buffer in buffers]
        self._check_size(header, header.body_length)
        if header.kind == "dictionary":
            before = self._dictionary_bytes.get(header.dictionary_id, 0) if header.is_delta else 0
            self._dictionary_bytes[header.dictionary_id] = before + header.body_length
        for stream in {buffer.stream for buffer in buffers if isinstance(buffer, BodyBuffer)}:
            order(options.stream.handle, stream.handle)
        # Whether all memory is freed in the order of the decoding stream.
        frees = (
            options.on_device
            and not options.stream.is_freed_by_thread
            and all(
                isinstance(buffer, DeviceMemory) and buffer.stream is options.stream
                for buffer in buffers
                if buffer is not None
            )
        )
        return BatchParts(header, buffers, self._adopt, options.on_device, frees)

    def _add_dictionary(self, dictionary_id: int, parts: BatchParts, is_delta: bool) -> None:
        """Add a dictionary message, which replaces the previous one or is appended to it."""
        if dictionary_id not in self._ids:
            known = ", ".join(map(str, self._ids)) or "none"
            raise ValueError(f"expected a dictionary with id {known}, got id {dictionary_id}")
        if not (is_delta and dictionary_id in self._parts):
            self._parts[dictionary_id] = []
            for index, known_id in enumerate(self._ids):
                if known_id == dictionary_id:
                    self._joined.pop(index, None)
        self._parts[dictionary_id].append(parts)

    def _dictionaries(self, location: Location) -> list[ExportedArray | None]:
        """Return the values of each dictionary; None for a dictionary without a message.

        Values without bytes count as memory of `location`.
        """
        values: list[ExportedArray | None] = [None] * len(self._ids)
        # Dictionaries within the values of others have greater indices.
        for index in reversed(range(len(self._ids))):
            if self._ids[index] in self._parts:
                values[index] = self._join_dictionary(index, values, location)
        return values

    def _join_dictionary(
        self, index: int, values: list[ExportedArray | None], location: Location
    ) -> ExportedArray:
        parts, options = self._parts[self._ids[index]], self._options
        within = values[index + 1 : self._decoder.end_of_dictionary(index)]
        # Values are read when they are concatenated, so they must be valid.
        checks = options.checks if len(parts) == 1 else "full"
        made_of = [location, *within]
        known = self._joined.get(index)
        arrays = []
        count = 0
        if known is not None and known[1] == made_of and (known[0] > 1 or checks == options.checks):
            count = known[0]
            arrays.append(known[2])
        # A dictionary without others needs no list.
        dictionaries = values if within else []
        arrays += [
            self._decoder.decode(part, dictionaries, checks, options.stream, location, index)
            for part in parts[count:]
        ]
        joined = arrays[0] if len(arrays) == 1 else self._concatenate(index, arrays, dictionaries)
        self._joined[index] = len(parts), made_of, joined
        return joined

    def _concatenate(
        self, index: int, arrays: list[ExportedArray], within: list[ExportedArray | None]
    ) -> ExportedArray:
        schema, options = self._decoder.dictionary_schema(index), self._options
        stream = options.stream
        on_host = [DeviceArray(array.to_host(stream), schema, "column") for array in arrays]
        location = arrays[0].device_type, arrays[0].device_id
        to_device = None if location == CPU else (stream, options.mr, options.chunk_size)
        parts = parts_of(pa.concat_arrays(map(pa.array, on_host)), stream, to_device)
        return self._decoder.decode(parts, within, "sizes", stream, location, index)

    def _check_size(self, header: Header, size: int) -> None:
        """Raise ValueError if a message of `size` bytes would exceed `max_bytes`."""
        max_bytes = self._options.max_bytes
        if max_bytes is None:
            return
        is_batch = header.kind == "batch"
        total = size + sum(self._dictionary_bytes.values())
        if not (is_batch or header.is_delta):
            total -= self._dictionary_bytes.get(header.dictionary_id, 0)
        if total > max_bytes:
            subject = "the record batch takes" if is_batch else "the dictionaries take"
            raise ValueError(f"{subject} {total:,} bytes, more than max_bytes={max_bytes}")


def _adopt(stream: Stream, obj: Any) -> tuple[int, int, Any, bool]:
    """Return the address, size and owner of memory, and whether it has the buffer protocol.

    `stream` waits for the work that writes device memory.
    """
    with suppress(TypeError):
        memory = pa.py_buffer(obj)
        return memory.address, memory.size, memory, True
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is not None:
        owner, address = obj, interface["data"][0] or 0
        shape, strides = tuple(interface["shape"]), interface.get("strides")
        itemsize = np.dtype(interface["typestr"]).itemsize
        made_on = producing_handle(interface)
        if made_on is not None:
            order(stream.handle, made_on)
    elif hasattr(obj, "__dlpack__"):
        capsule = request_capsule(obj, stream, copy=False)
        address, shape, strides, itemsize, owner = memory_of_dlpack(capsule)
    else:
        raise TypeError(
            "expected a buffer with the buffer protocol, __cuda_array_interface__ or "
            f"__dlpack__, got an object of type {type(obj).__name__}"
        )
    size = prod(shape) * itemsize
    if size and strides is not None and tuple(strides) != row_major(shape, itemsize):
        raise ValueError(f"expected a contiguous buffer, got strides {strides}")
    return address, size, owner, False
