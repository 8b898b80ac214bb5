# SPDX-License-Identifier: Apache-2.0
"""The metadata of Arrow IPC: messages of schemas, record batches and dictionaries, and footers.

Input is untrusted. pyarrow writes and reads schemas, except the ids of dictionaries. References to
tables in a flatbuffer are relative to their position, so a table in the bytes of one flatbuffer can
belong to another: a written footer refers into the schema message, and a read schema message refers
into the footer.

Sources: Arrow columnar format, Schema.fbs, Message.fbs and File.fbs.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from struct import pack
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from .._core.ipc.body_decoder import BodyDecoder
from .._core.ipc.flatbuffer import Flatbuffer, Table, read_fields
from .._core.protocols import BytesLike, Codec
from ..arrow.schemas import with_map_names
from .transport.framing import Block, frame_metadata

#: Two numbers for each row: offset and size of buffers, or length and null count of nodes.
Pairs = np.ndarray[Any, np.dtype[np.int64]]

#: The numbers of a body; see `IpcBody.numbers`.
BodyNumbers = tuple[int, bytes, bytes, bytes, int]
#: The types of messages.
MessageKind = Literal["schema", "dictionary", "batch"]

#: Metadata versions, as numbers in flatbuffers.
V4, V5 = 3, 4
#: The numbers of types, and those of other messages, which cuDF does not support.
KINDS: dict[int, MessageKind] = {1: "schema", 2: "dictionary", 3: "batch"}
TENSORS = {4: "a tensor", 5: "a sparse tensor"}
#: The codecs of compressed bodies, in the order of their numbers.
CODECS: tuple[Codec, ...] = ("lz4_frame", "zstd")
#: The key with which Arrow 0.17 marked compressed bodies, before the format supported them.
EXPERIMENTAL_COMPRESSION = b"ARROW:experimental_compression"

#: The size of the structs FieldNode and Buffer: two numbers of 64 bits.
PAIR_BYTES = 16
#: The struct Block.
BLOCK = struct.Struct("<qi4xq")

#: The maximum size in bytes of a schema message in the cache.
MAX_CACHED_SIZE = 1 << 20


@dataclass(frozen=True, eq=False)
class StoredSchema:
    """A schema with its dictionary ids, compared by identity."""

    schema: pa.Schema
    dictionary_ids: tuple[int, ...]
    """The dictionary ids of the fields, depth first; a field comes before those in its values."""

    @cached_property
    def decoder(self) -> BodyDecoder:
        """The decoder of bodies."""
        return BodyDecoder(self.schema.__arrow_c_schema__())


def schema_message(schema: pa.Schema) -> bytes:
    """Return the metadata of a schema message, with dictionary ids counted from 0."""
    metadata: bytes = pa.ipc.read_message(schema.serialize()).metadata.to_pybytes()
    return metadata


def read_schema(metadata: BytesLike) -> StoredSchema:
    """Read the untrusted metadata of a schema message; cached for equal bytes if it is small.

    Raises
    ------
    TypeError
        If the data is big-endian.
    ValueError
        If it is not the metadata of a schema, or fields are too deep, are shared by several
        parents, or their strings overlap, because a reader would need far more memory than the
        bytes.
    """
    metadata = bytes(memoryview(metadata))
    is_small = len(metadata) <= MAX_CACHED_SIZE
    return (_read_schema if is_small else _read_schema.__wrapped__)(metadata)


@lru_cache(maxsize=32)
def _read_schema(metadata: bytes) -> StoredSchema:
    return _stored_schema(_schema_table(metadata), metadata)


def _schema_table(metadata: bytes) -> Table:
    """Return the table of a schema in the metadata of a message."""
    kind, _, header = _read_message(Flatbuffer(metadata, "metadata"))
    if kind != "schema":
        raise ValueError(f"the message is a {kind}, not a schema")
    return header


def _stored_schema(found: Table, metadata: bytes) -> StoredSchema:
    """Return the schema in the message `metadata`, whose table is also `found`."""
    endianness, fields, custom_metadata = range(3)
    if found.number(endianness, 2):
        raise TypeError("schema: the data is big-endian, and only little-endian data is supported")
    # Read the ids first, because this limits the memory that pyarrow needs.
    found.key_values(custom_metadata)
    ids: list[int] = []
    map_names: list[tuple[str, ...]] = []
    read_fields(found.tables(fields), ids, map_names)
    message = pa.py_buffer(frame_metadata(metadata, 0))
    try:
        schema = with_map_names(pa.ipc.read_schema(message), map_names)
    except Exception as error:
        # Errors of pyarrow, and of extension types that read their metadata.
        raise ValueError(f"schema: {error}") from error
    return StoredSchema(schema, tuple(ids))


class Header(NamedTuple):
    """The contents of a message's metadata."""

    metadata: bytes
    """The flatbuffer without the preceding length."""
    kind: MessageKind
    """The type of the message."""
    body_length: int = 0
    """The size of the body in bytes."""
    length: int = 0
    """The number of rows."""
    nodes: bytes = b""
    """The length and null count of each node, as numbers of 64 bits."""
    buffers: bytes = b""
    """The offset in the body and the length of each buffer, as numbers of 64 bits."""
    variadic_counts: tuple[int, ...] = ()
    """The number of data buffers of each array of views."""
    codec: Codec | None = None
    """The compression codec of the buffers."""
    dictionary_id: int = 0
    """For a dictionary: its id."""
    is_delta: bool = False
    """For a dictionary: whether it is appended to the previous one."""


def pairs_of(numbers: bytes) -> Pairs:
    """Return the pairs of numbers of nodes or buffers."""
    return np.frombuffer(numbers, "<i8").reshape(-1, 2)


def read_header(metadata: BytesLike) -> Header:
    """Read the metadata of a message.

    Parameters
    ----------
    metadata : bytes-like
        The flatbuffer without the preceding length. It is untrusted.

    Raises
    ------
    ValueError
        If it is not the metadata of a schema, dictionary or record batch in the format of Arrow 0.8
        or newer, with the position.
    """
    buffer = Flatbuffer(metadata, "metadata")
    kind, body_length, batch = _read_message(buffer)
    if kind == "schema":
        return Header(buffer.data, kind, body_length)
    dictionary_id, is_delta = 0, False
    if kind == "dictionary":
        dictionary = batch
        dictionary_id, is_delta = dictionary.number(0, 8), dictionary.number(2, 1) != 0
        found = dictionary.table(1)
        if found is None:
            raise buffer.error(dictionary.position, "a dictionary without data", "a record batch")
        batch = found
    length, nodes, buffers, compression, variadic_counts = range(5)
    _, pairs = batch.items(buffers, PAIR_BYTES)
    first, numbers = batch.items(variadic_counts, 8)
    counts = struct.unpack(f"<{len(numbers) // 8}q", numbers)
    most = len(pairs) // PAIR_BYTES
    if not all(0 <= count <= most for count in counts):
        found_range = f"{min(counts)} to {max(counts)}"
        raise buffer.error(first, found_range, f"counts of view buffers from 0 to {most}")
    rows = _size_in(batch, length, "length")
    _, node_pairs = batch.items(nodes, PAIR_BYTES)
    codec = _codec_of(batch.table(compression))
    of_batch = (rows, node_pairs, pairs, counts, codec)
    return Header(buffer.data, kind, body_length, *of_batch, dictionary_id, is_delta)


def _read_message(buffer: Flatbuffer) -> tuple[MessageKind, int, Table]:
    """Return the type of a message, the size of its body, and its header."""
    version_slot, header_type, header_slot, body_length, custom_metadata = range(5)
    message = buffer.root()
    version = _checked_version(message, version_slot)
    code = message.number(header_type, 1)
    kind = KINDS.get(code)
    if kind is None:
        found = TENSORS.get(code, f"a message of type {code}")
        raise buffer.error(message.position, found, "a schema, dictionary or record batch")
    if version == V4 and EXPERIMENTAL_COMPRESSION in message.key_values(custom_metadata):
        found = "a body compressed by Arrow 0.17"
        raise buffer.error(message.position, found, "a body that names its codec")
    header = message.table(header_slot)
    if header is None:
        raise buffer.error(message.position, "no header", f"a {kind}")
    return kind, _size_in(message, body_length, "body length"), header


def _checked_version(found: Table, slot: int, *others: int) -> int:
    """Return the metadata version in a slot, which must be V4, V5 or one of the others."""
    version = found.number(slot, 2)
    if version not in (V4, V5, *others):
        found_version = f"metadata version V{version + 1}"
        raise found.buffer.error(found.position, found_version, "V4 or V5")
    return version


def _size_in(found: Table, slot: int, what: str) -> int:
    """Return the number in a slot, which must not be negative."""
    number = found.number(slot, 8)
    if number < 0:
        raise found.buffer.error(found.place(slot), str(number), f"a {what} of at least 0")
    return number


def _codec_of(compression: Table | None) -> Codec | None:
    if compression is None:
        return None
    codec, method = compression.number(0, 1), compression.number(1, 1)
    if method or not 0 <= codec < len(CODECS):
        found = f"codec {codec} by method {method}"
        raise compression.buffer.error(compression.position, found, "LZ4 or ZSTD by buffer")
    return CODECS[codec]


class Item(NamedTuple):
    """A written table or vector with all that it refers to; its size is a multiple of 8."""

    data: bytes
    target: int
    """The position of the table or vector in the bytes."""


def vector(data: bytes, count: int) -> Item:
    """Write a vector of items, whose size is a multiple of 8."""
    return Item(pack("<4xI", count) + data, 4)


def table(*slots: bytes | Item | None) -> Item:
    """Write a table. A slot is a number as bytes, an item, or not stored."""
    # The table starts with the distance from its vtable; each slot takes 8 bytes.
    offsets = (0 if slot is None else 8 + 8 * i for i, slot in enumerate(slots))
    vtable = pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), 8 + 8 * len(slots), *offsets)
    vtable += bytes(-len(vtable) % 8)
    data, items = pack("<q", len(vtable)), b""
    end = 8 + 8 * len(slots)
    for slot in slots:
        if isinstance(slot, Item):
            # A reference is the distance from itself.
            data += pack("<q", end + len(items) + slot.target - len(data))
            items += slot.data
        else:
            data += (slot or b"").ljust(8, b"\0")
    return Item(vtable + data + items, len(vtable))


def flatbuffer(root: Item) -> bytes:
    """Write a flatbuffer with a root table."""
    return pack("<q", 8 + root.target) + root.data


def _message(code: int, header: Item, body_length: int = 0) -> bytes:
    """Return the metadata of a message of version 5."""
    return flatbuffer(table(pack("<h", V5), pack("<B", code), header, pack("<q", body_length)))


def batch_message(
    numbers: BodyNumbers, codec: Codec | None = None, dictionary: tuple[int, bool] | None = None
) -> bytes:
    """Return the metadata of a record batch or dictionary. Its size is a multiple of 8.

    A dictionary is given by its id, and whether it is appended to the previous one.
    """
    length, nodes, buffers, variadic_counts, body_length = numbers
    header = table(
        pack("<q", length),
        vector(nodes, len(nodes) // PAIR_BYTES),
        vector(buffers, len(buffers) // PAIR_BYTES),
        None if codec is None else table(pack("<b", CODECS.index(codec))),
        vector(variadic_counts, len(variadic_counts) // 8) if variadic_counts else None,
    )
    if dictionary is None:
        return _message(3, header, body_length)
    dictionary_id, is_delta = dictionary
    header = table(pack("<q", dictionary_id), header, pack("<B", is_delta))
    return _message(2, header, body_length)


class Footer(NamedTuple):
    """The footer of a file."""

    schema: StoredSchema
    dictionaries: list[Block]
    batches: list[Block]


def make_footer(
    schema_message: bytes, dictionaries: Sequence[Block], batches: Sequence[Block]
) -> bytes:
    """Return the flatbuffer of a footer. It must be written at a multiple of 8."""
    schema = Item(schema_message, _schema_table(schema_message).position)
    lists = (
        vector(b"".join(BLOCK.pack(*block) for block in blocks), len(blocks))
        for blocks in (dictionaries, batches)
    )
    return flatbuffer(table(pack("<h", V5), schema, *lists))


def read_footer(footer: BytesLike, file_size: int) -> Footer:
    """Read the untrusted footer of a file whose messages have `file_size` bytes.

    Raise ValueError if it is not a footer of Arrow 0.8 or newer, or refers to positions outside of
    these bytes; TypeError if the data is big-endian.
    """
    version, schema_slot, dictionaries, record_batches = range(4)
    root = Flatbuffer(footer, "footer").root()
    # Arrow 0.14.1 omits the version, which reads as V1; each message has its own version.
    _checked_version(root, version, 0)
    schema = root.table(schema_slot)
    if schema is None:
        raise root.buffer.error(root.position, "no schema", "one")
    return Footer(
        _stored_schema(schema, _message(1, Item(root.buffer.data, schema.position))),
        _blocks(root, dictionaries, file_size),
        _blocks(root, record_batches, file_size),
    )


def _blocks(footer: Table, slot: int, file_size: int) -> list[Block]:
    """Read blocks that must lie within a file."""
    first, numbers = footer.items(slot, BLOCK.size)
    blocks = list(map(Block._make, BLOCK.iter_unpack(numbers)))
    for i, (offset, metadata_length, body_length) in enumerate(blocks):
        is_valid = offset >= 0 and offset % 8 == 0 and metadata_length > 0 and body_length >= 0
        if not is_valid or offset + metadata_length + body_length > file_size:
            found = f"a message of {metadata_length}+{body_length} bytes at {offset}"
            expected = f"a message at a multiple of 8 in {file_size} bytes"
            raise footer.buffer.error(first + BLOCK.size * i, found, expected)
    return blocks
