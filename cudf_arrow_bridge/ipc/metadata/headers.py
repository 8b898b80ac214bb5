# SPDX-License-Identifier: Apache-2.0
"""Headers of messages: the type, and the numbers of a batch.

Source: Arrow columnar format, Message.fbs. The structure of a batch message (the positions of
tables and vectors) is a `MessageLayout`; messages of one stream differ only in numbers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from .flatbuffer_tables import INT8, INT16, INT64, UINT8, Flatbuffer, Table, key_values

__all__ = [
    "BytesLike",
    "Codec",
    "Header",
    "HeaderReader",
    "MessageLayout",
    "bytes_of",
    "message_table",
    "read_header",
]

BytesLike = bytes | bytearray | memoryview

#: Slots of the tables Message, RecordBatch, DictionaryBatch and BodyCompression.
VERSION, HEADER_TYPE, HEADER, BODY_LENGTH, CUSTOM_METADATA = range(5)
LENGTH, NODES, BUFFERS, COMPRESSION, VARIADIC_COUNTS = range(5)
ID, DATA, IS_DELTA = range(3)
CODEC, METHOD = range(2)

#: The size of the structs FieldNode and Buffer: two numbers of 64 bits.
PAIR_BYTES = 16

V4, V5 = 3, 4

Kind = Literal["schema", "dictionary", "batch"]
KINDS: dict[int, Kind] = {1: "schema", 2: "dictionary", 3: "batch"}
#: Other message types, which cuDF does not support.
TENSORS = {4: "a tensor", 5: "a sparse tensor"}

Codec = Literal["lz4_frame", "zstd"]
CODECS: tuple[Codec, ...] = ("lz4_frame", "zstd")
#: The key with which Arrow 0.17 marked compressed bodies, before the format supported them.
EXPERIMENTAL_COMPRESSION = b"ARROW:experimental_compression"


@dataclass(frozen=True, slots=True)
class MessageLayout:
    """The positions of the numbers of a message in its metadata; 0 for numbers that are not stored.

    Numbers that are not stored are 0. All numbers have 64 bits, except `is_delta` with 8, and are
    aligned to their size.
    """

    kind: Kind
    version: int
    """3 for V4, 4 for V5."""
    body_length: int
    custom_metadata: bool
    """Whether the message has custom metadata."""
    length: int = 0
    nodes: int = 0
    """The position of the first of `num_nodes` pairs (length, null count)."""
    num_nodes: int = 0
    buffers: int = 0
    """The position of the first of `num_buffers` pairs (offset in the body, length)."""
    num_buffers: int = 0
    variadic_counts: int = 0
    num_variadic: int = 0
    codec: Codec | None = None
    """The compression codec of the buffers; None if they are not compressed."""
    dictionary_id: int = 0
    is_delta: int = 0

    def numbers(self) -> list[tuple[int, int]]:
        """Return the first and last position of each stored run of numbers, in order."""
        scalars = (self.body_length, self.length, self.dictionary_id)
        runs = [
            *((position, 8) for position in scalars),
            (self.is_delta, 1),
            (self.nodes, PAIR_BYTES * self.num_nodes),
            (self.buffers, PAIR_BYTES * self.num_buffers),
            (self.variadic_counts, 8 * self.num_variadic),
        ]
        return sorted((first, first + size) for first, size in runs if first)


@dataclass(slots=True)
class Header:
    """The contents of a message's metadata."""

    layout: MessageLayout
    metadata: bytes
    body_length: int
    length: int
    variadic_counts: tuple[int, ...]
    dictionary_id: int
    is_delta: bool

    @property
    def kind(self) -> Kind:
        """The kind of the message."""
        return self.layout.kind

    @property
    def custom_metadata(self) -> dict[bytes, bytes]:
        """The custom metadata of the message, not of the schema.

        Raises
        ------
        ValueError
            If it does not lie within the metadata.
        """
        if not self.layout.custom_metadata:
            return {}
        return key_values(Flatbuffer(self.metadata, "metadata").root(), CUSTOM_METADATA)


def read_header(metadata: BytesLike) -> Header:
    """Read the metadata of a message.

    Parameters
    ----------
    metadata : bytes-like
        The flatbuffer without the preceding length. It is untrusted.

    Returns
    -------
    Header
        All positions in its layout lie within the metadata.

    Raises
    ------
    ValueError
        If it is not the metadata of a schema, dictionary or record batch in the format of Arrow 0.8
        or newer, with the position.
    """
    data = bytes_of(metadata)
    return _read_numbers(_layout_of(Flatbuffer(data, "metadata")), data)


def message_table(buffer: Flatbuffer) -> tuple[Table, Kind, int]:
    """Return the table of a message, the type of its header, and its version."""
    table = buffer.root()
    version = table.number(VERSION, INT16)
    if version not in (V4, V5):
        raise buffer.error(table.position, f"metadata version V{version + 1}", "V4 or V5")
    code = table.number(HEADER_TYPE, UINT8)
    kind = KINDS.get(code)
    if kind is None:
        found = TENSORS.get(code, f"a message of type {code}")
        raise buffer.error(table.position, found, "a schema, dictionary or record batch")
    return table, kind, version


class HeaderReader:
    """Reads the metadata of messages, with a cache of the newest layouts.

    Metadata that differs from an earlier message only in numbers has the same layout. The result is
    the same as that of `read_header`. It is thread-safe.

    Parameters
    ----------
    max_layouts
        The size of the cache. A stream has at most one layout for its schema, one for its batches,
        and one for each of its dictionaries.
    """

    #: Metadata larger than most schemas and batches is not cached.
    MOST_BYTES = 1 << 20

    def __init__(self, max_layouts: int = 32) -> None:
        self._max_layouts = max_layouts
        # Replace the whole tuple on each change, so that threads need no lock.
        self._known: tuple[_KnownLayout, ...] = ()

    def read(self, metadata: BytesLike) -> Header:
        """Read the metadata of a message; see `read_header`."""
        data = metadata if type(metadata) is bytes else bytes_of(metadata)
        size = len(data)
        for layout, known_size, pieces in self._known:
            if known_size != size:
                continue
            for start, piece in pieces:
                if not data.startswith(piece, start):
                    break
            else:
                return _read_numbers(layout, data)
        reads: list[tuple[int, int]] = []
        layout = _layout_of(Flatbuffer(data, "metadata", reads))
        header = _read_numbers(layout, data)
        # Numbers that are also read as positions would change the layout, which only hostile input
        # does.
        if size <= self.MOST_BYTES and not _overlap(layout.numbers(), reads):
            known = (layout, size, _pieces_between(layout.numbers(), data))
            self._known = (known, *self._known[: self._max_layouts - 1])
        return header


#: A layout, the size of its metadata, and the pieces that are not numbers.
_KnownLayout = tuple[MessageLayout, int, list[tuple[int, bytes]]]


#: The reader of all streams, because streams of one schema share layouts.
HEADERS = HeaderReader()


def bytes_of(metadata: BytesLike) -> bytes:
    """Return bytes that cannot change between a check and their use."""
    return metadata if type(metadata) is bytes else memoryview(metadata).tobytes()


def _layout_of(buffer: Flatbuffer) -> MessageLayout:
    message, kind, version = message_table(buffer)
    body_length = message.slot(BODY_LENGTH, 8)
    custom_metadata = message.slot(CUSTOM_METADATA, 4) != 0
    if version == V4 and EXPERIMENTAL_COMPRESSION in key_values(message, CUSTOM_METADATA):
        found = "a body compressed by Arrow 0.17"
        raise buffer.error(message.position, found, "a body that names its codec")
    header = message.table(HEADER)
    if header is None:
        raise buffer.error(message.position, "no header", f"a {kind}")
    if kind == "schema":
        return MessageLayout(kind, version, body_length, custom_metadata)
    is_dictionary = kind == "dictionary"
    batch = header.table(DATA) if is_dictionary else header
    if batch is None:
        raise buffer.error(header.position, "a dictionary without data", "a record batch")
    nodes, num_nodes = batch.vector(NODES, PAIR_BYTES, 8)
    buffers, num_buffers = batch.vector(BUFFERS, PAIR_BYTES, 8)
    variadic_counts, num_variadic = batch.vector(VARIADIC_COUNTS, 8, 8)
    return MessageLayout(
        kind,
        version,
        body_length,
        custom_metadata,
        batch.slot(LENGTH, 8),
        nodes,
        num_nodes,
        buffers,
        num_buffers,
        variadic_counts,
        num_variadic,
        _codec_of(batch),
        header.slot(ID, 8) if is_dictionary else 0,
        header.slot(IS_DELTA, 1) if is_dictionary else 0,
    )


def _codec_of(batch: Table) -> Codec | None:
    compression = batch.table(COMPRESSION)
    if compression is None:
        return None
    codec = compression.number(CODEC, INT8)
    method = compression.number(METHOD, INT8)
    if method or codec not in range(len(CODECS)):
        found = f"codec {codec} by method {method}"
        raise batch.buffer.error(compression.position, found, "LZ4 or ZSTD by buffer")
    return CODECS[codec]


def _read_numbers(layout: MessageLayout, data: bytes) -> Header:
    read = INT64.unpack_from
    body_length = read(data, layout.body_length)[0] if layout.body_length else 0
    if body_length < 0:
        raise _negative(layout.body_length, "body length", body_length)
    if layout.kind == "schema":
        return Header(layout, data, body_length, 0, (), 0, False)
    length = read(data, layout.length)[0] if layout.length else 0
    if length < 0:
        raise _negative(layout.length, "length", length)
    counts: tuple[int, ...] = ()
    if layout.num_variadic:
        counts = struct.unpack_from(f"<{layout.num_variadic}q", data, layout.variadic_counts)
        if min(counts) < 0 or max(counts) > layout.num_buffers:
            where = f"metadata byte {layout.variadic_counts}"
            bounds = f"0 to {layout.num_buffers}, got {min(counts)} to {max(counts)}"
            raise ValueError(f"{where}: expected counts of view buffers from {bounds}")
    dictionary_id = read(data, layout.dictionary_id)[0] if layout.dictionary_id else 0
    is_delta = layout.is_delta != 0 and data[layout.is_delta] != 0
    return Header(layout, data, body_length, length, counts, dictionary_id, is_delta)


def _negative(position: int, what: str, number: int) -> ValueError:
    return ValueError(f"metadata byte {position}: expected a {what} of at least 0, got {number}")


def _overlap(numbers: list[tuple[int, int]], reads: list[tuple[int, int]]) -> bool:
    return any(
        first < read_stop and read_first < stop
        for first, stop in numbers
        for read_first, read_stop in reads
    )


def _pieces_between(runs: list[tuple[int, int]], data: bytes) -> list[tuple[int, bytes]]:
    pieces = []
    end = 0
    for first, stop in runs:
        if first > end:
            pieces.append((end, data[end:first]))
        end = max(end, stop)
    return [*pieces, (end, data[end:])]
