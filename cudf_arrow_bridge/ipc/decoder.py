# SPDX-License-Identifier: Apache-2.0
"""Decoding of messages to arrays over their buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from .._core.export.array_exporter import ExportArguments
from .._core.ipc.body_decoder import BatchParts, BodyDecoder
from .._core.ipc.body_transfer import DeviceMemory
from ..arrow.device_array import DeviceArray
from ..export.exporter import ArrayExporter
from .adopt import adopt_device_memory
from .compression import decompress
from .incoming import IncomingMessage, ReadOptions
from .metadata.schema_messages import StoredSchema, read_schema
from .read_dictionaries import ReadDictionaries

if TYPE_CHECKING:
    from .._core.export.exported_array import ExportedArray
    from .._core.schema import Schema


class MessageDecoder:
    """Decodes the messages of one stream or file."""

    def __init__(self, stored: StoredSchema, options: ReadOptions) -> None:
        self._options = options
        self._decoder = _decoder_of(stored)
        count = self._decoder.num_dictionaries
        if len(stored.dictionary_ids) != count:
            # For fields whose children do not match their types.
            found = len(stored.dictionary_ids)
            raise ValueError(f"schema: expected {count} dictionary ids, got {found}")
        self._dictionaries = ReadDictionaries(
            self._decoder, stored.dictionary_ids, options.checks, options.stream
        )
        self._arguments = ExportArguments(options.stream, mr=options.mr)
        self._adopt = partial(adopt_device_memory, options.stream)

    @classmethod
    def begin(cls, received: Iterator[IncomingMessage], options: ReadOptions) -> MessageDecoder:
        """Read the first message of a stream, which contains the schema."""
        first = next(received, None)
        if first is None:
            raise ValueError("expected a message with the schema, got none")
        return cls(read_schema(first.header.metadata), options)

    @property
    def schema(self) -> Schema:
        """The schema of all batches."""
        return self._decoder.schema

    def batches(self, received: Iterable[IncomingMessage]) -> Iterator[DeviceArray]:
        """Yield the record batches of messages, each decoded when it is requested."""
        first_row = 0
        for message in received:
            batch = self.read(message, first_row)
            # A suspended generator must not keep buffers alive that its consumer has released.
            del message
            if batch is not None:
                first_row += len(batch)
                yield batch
                del batch

    def read(self, message: IncomingMessage, first_row: int = 0) -> DeviceArray | None:
        """Read one message; return a record batch if it is one; see `read_array`."""
        array = self.read_array(message)
        if array is None:
            return None
        exporter = ArrayExporter(self._arguments, array, self.schema, "table")
        return DeviceArray(array, self.schema, "table", (), first_row, exporter)

    def read_array(self, message: IncomingMessage) -> ExportedArray | None:
        """Read one message; return a record batch as a struct array if it is one."""
        header = message.header
        if header.kind == "schema":
            raise ValueError("expected record batches and dictionaries, got a second schema")
        parts = self._parts_of(message)
        if header.kind == "dictionary":
            self._dictionaries.add(header.dictionary_id, parts, header.is_delta)
            return None
        options = self._options
        return self._decoder.batch(
            parts, self._dictionaries.values(), options.checks, options.stream
        )

    def _parts_of(self, message: IncomingMessage) -> BatchParts:
        header, buffers, is_decompressed = message
        if header.codec is not None and not is_decompressed:
            buffers, is_decompressed = decompress(header, buffers), True
        on_device, frees = self._options.on_device, self._frees(buffers)
        return BatchParts(header, buffers, self._adopt, on_device, is_decompressed, frees)

    def _frees(self, buffers: list[Any]) -> bool:
        """Return whether all memory is freed in the order of the decoding stream."""
        stream = self._options.stream
        return not stream.is_freed_by_thread and all(
            isinstance(buffer, DeviceMemory) and buffer.stream is stream
            for buffer in buffers
            if buffer is not None
        )


@lru_cache(maxsize=32)
def _decoder_of(stored: StoredSchema) -> BodyDecoder:
    return BodyDecoder(stored.schema.__arrow_c_schema__())
