# SPDX-License-Identifier: Apache-2.0
"""Decoding of messages to arrays over their buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .._core.export.array_exporter import ExportArguments
from .._core.ipc.body_decoder import BatchParts, BodyDecoder, BodyMemory
from .._core.ipc.body_transfer import DeviceMemory
from ..arrow.device_array import DeviceArray
from ..arrow.options import check_option
from ..export.exporter import ArrayExporter
from .adopt import DeviceAdopter
from .compression import decompress
from .metadata.headers import Header
from .metadata.schema_messages import StoredSchema, read_schema
from .read_dictionaries import ReadDictionaries

if TYPE_CHECKING:
    from .._core.export.exported_array import ExportedArray
    from .._core.schema import Schema
    from ..cuda.streams import Stream

__all__ = ["Checks", "DecodeOptions", "IncomingMessage", "MessageDecoder"]

#: The checks of a batch before it is used; see `from_messages`.
Checks = Literal["sizes", "minimal", "full"]


class IncomingMessage(NamedTuple):
    """A received message.

    Attributes
    ----------
    header
        The contents of its metadata.
    buffers
        The buffers of its body, or one with the packed body.
    is_decompressed
        Whether the buffers are decompressed buffers of a compressed body.
    """

    header: Header
    buffers: list[Any]
    is_decompressed: bool = False


@dataclass(slots=True)
class DecodeOptions:
    """Options for decoding messages.

    Attributes
    ----------
    stream
        The CUDA stream that waits for the buffers.
    checks
        The checks.
    mr
        The memory resource for later conversions, for consumers that request another schema.
    on_device
        Whether a body without bytes counts as memory of the current device.
    """

    stream: Stream
    checks: Checks
    mr: Any = None
    on_device: bool = False

    def __post_init__(self) -> None:
        check_option("validate", self.checks, ("sizes", "minimal", "full"))


class MessageDecoder:
    """Decodes the messages of one stream or file.

    Parameters
    ----------
    stored
        The schema.
    options
        Options for decoding messages.
    """

    def __init__(self, stored: StoredSchema, options: DecodeOptions) -> None:
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
        self._adopt = DeviceAdopter(options.stream)

    @classmethod
    def begin(cls, received: Iterator[IncomingMessage], options: DecodeOptions) -> MessageDecoder:
        """Read the first message of a stream, which contains the schema.

        Raises
        ------
        ValueError
            If it is another message, or there is none.
        """
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
        """Read one message; return a record batch as a struct array if it is one.

        Raises
        ------
        TypeError, ValueError
            If metadata, buffers and schema do not match.
        """
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
        if header.layout.codec is not None and not is_decompressed:
            buffers, is_decompressed = decompress(header, buffers), True
        is_packed = len(buffers) == 1 and not is_decompressed
        return BatchParts(
            header.metadata,
            header.layout,
            header.length,
            header.variadic_counts,
            BodyMemory(buffers, is_packed, self._adopt, self._options.on_device),
            is_decompressed,
            self._frees(buffers),
        )

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
