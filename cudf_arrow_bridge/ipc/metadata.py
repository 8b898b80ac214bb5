# SPDX-License-Identifier: Apache-2.0
"""The flatbuffers of Arrow IPC: messages of schemas, record batches and dictionaries, and footers.

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
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .._core.ipc.body_decoder import BodyDecoder
from .._core.ipc.metadata import CODECS, V4, V5, Flatbuffer, bytes_of, schema_table
from ..arrow.schemas import with_map_names
from .transport.framing import Block

if TYPE_CHECKING:
    from .._core.ipc.metadata import Header, Table
    from .._core.protocols import BytesLike, Codec

#: Two numbers for each row: offset and size of buffers, or length and null count of nodes.
Pairs = np.ndarray[Any, np.dtype[np.int64]]

#: Slots of the table Schema.
ENDIANNESS, FIELDS, CUSTOM_METADATA = range(3)

#: The prefix of the metadata of a message in a stream, and its length.
PREFIX = struct.Struct("<Ii")
CONTINUATION = 0xFFFFFFFF

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
    message = schema.serialize()
    _, size = PREFIX.unpack_from(message)
    metadata: bytes = message.slice(PREFIX.size, size).to_pybytes()
    return metadata


def read_schema(metadata: BytesLike) -> StoredSchema:
    """Read the untrusted metadata of a schema message; cached for equal bytes if it is small.

    Raises
    ------
    TypeError
        If the data is big-endian.
    ValueError
        If it is not the metadata of a schema.
    """
    metadata = bytes_of(metadata)
    is_small = len(metadata) <= MAX_CACHED_SIZE
    return (_read_schema if is_small else _read_schema.__wrapped__)(metadata)


@lru_cache(maxsize=32)
def _read_schema(metadata: bytes) -> StoredSchema:
    return stored_schema_of(schema_table(metadata), metadata)


def stored_schema_of(table: Table, metadata: bytes) -> StoredSchema:
    """Return the schema in the message `metadata`, whose table is also `table`."""
    if table.number(ENDIANNESS, 2):
        raise TypeError("schema: the data is big-endian, and only little-endian data is supported")
    # Read the ids first, because this limits the memory that pyarrow needs.
    table.key_values(CUSTOM_METADATA)
    map_names: list[tuple[str, ...]] = []
    ids = table.dictionary_ids(FIELDS, map_names)
    message = pa.py_buffer(PREFIX.pack(CONTINUATION, len(metadata)) + metadata)
    try:
        schema = with_map_names(pa.ipc.read_schema(message), map_names)
    except Exception as error:
        # Errors of pyarrow, and of extension types that read their metadata.
        raise ValueError(f"schema: {error}") from error
    return StoredSchema(schema, ids)


def pairs_of(header: Header, first: int, count: int) -> Pairs:
    """Return the pairs of numbers at a position in the metadata of a message."""
    return np.frombuffer(header.metadata, "<i8", 2 * count, first).reshape(-1, 2)


#: All tables of a message, each after its vtable: Message, DictionaryBatch, RecordBatch and
#: BodyCompression.
TABLES = struct.Struct("<I 6H iHBxqI 5H2x iIqB3x 7H2x iq4I 3H2x iB3x")
#: The positions of the tables.
MESSAGE, DICTIONARY, BATCH, COMPRESSION = 16, 48, 84, 120
#: The numbers of the tables that differ between batches, and their positions.
LENGTH = struct.Struct("<q")
DICTIONARY_NUMBERS = struct.Struct("<qB")
BODY_LENGTH_AT, DICTIONARY_NUMBERS_AT, LENGTH_AT = MESSAGE + 8, DICTIONARY + 8, BATCH + 4
#: The bytes before the items of a vector: their count, after padding, because numbers of 64 bits
#: and blocks are at multiples of 8.
VECTOR = struct.Struct("<4xI")
#: The types of messages in flatbuffers.
DICTIONARY_TYPE, BATCH_TYPE = 2, 3


def batch_message(
    length: int,
    nodes: bytes,
    buffers: bytes,
    variadic_counts: bytes,
    body_length: int,
    codec: Codec | None = None,
    dictionary: tuple[int, bool] | None = None,
) -> bytes:
    """Return the metadata of a record batch or dictionary. Its size is a multiple of 8.

    Nodes, buffers and counts consist of numbers of 64 bits; see `IpcBody.numbers`. A dictionary is
    given by its id, and whether it is appended to the previous one.
    """
    start, before_buffers, before_counts = _structure(
        len(nodes) // 16, len(buffers) // 16, len(variadic_counts) // 8, codec, dictionary is None
    )
    tables = bytearray(start)
    LENGTH.pack_into(tables, BODY_LENGTH_AT, body_length)
    LENGTH.pack_into(tables, LENGTH_AT, length)
    if dictionary is not None:
        DICTIONARY_NUMBERS.pack_into(tables, DICTIONARY_NUMBERS_AT, *dictionary)
    return b"".join((tables, nodes, before_buffers, buffers, before_counts, variadic_counts))


@lru_cache(maxsize=64)
def _structure(
    num_nodes: int, num_buffers: int, num_counts: int, codec: Codec | None, is_batch: bool
) -> tuple[bytes, bytes, bytes]:
    """Return the bytes before the nodes, buffers and counts, without the numbers of the batch."""
    # The position of a vector is that of its count.
    first = TABLES.size + 4
    second = first + VECTOR.size + 16 * num_nodes
    third = second + VECTOR.size + 16 * num_buffers
    # Each vtable has its size, the size of its table, and the offset in the table of each slot; 0
    # for a slot that is not stored. A table starts with the distance from its vtable, and refers to
    # another table or a vector by the distance from the reference.
    # fmt: off
    tables = TABLES.pack(
        MESSAGE,
        12, 20, 4, 6, 16, 8,
        12, V5, BATCH_TYPE if is_batch else DICTIONARY_TYPE, 0,
        (BATCH if is_batch else DICTIONARY) - (MESSAGE + 16),
        10, 20, 8, 4, 16,
        12, BATCH - (DICTIONARY + 4), 0, 0,
        14, 28, 4, 12, 16, 20 if codec else 0, 24 if num_counts else 0,
        16, 0, first - (BATCH + 12), second - (BATCH + 16), COMPRESSION - (BATCH + 20),
        third - (BATCH + 24),
        6, 8, 4,
        8, CODECS.index(codec) if codec else 0,
    )
    # fmt: on
    before_counts = VECTOR.pack(num_counts) if num_counts else b""
    return tables + VECTOR.pack(num_nodes), VECTOR.pack(num_buffers), before_counts


#: Slots of the table Footer.
VERSION, SCHEMA, DICTIONARIES, RECORD_BATCHES = range(4)

#: The struct Block.
BLOCK = np.dtype(
    {
        "names": ["offset", "metadata_length", "body_length"],
        "formats": ["<i8", "<i4", "<i8"],
        "offsets": [0, 8, 16],
        "itemsize": 24,
    }
)

#: A message of version 5 with a schema: root, vtable and table, which ends with the reference to
#: the schema.
MESSAGE_START = struct.Struct("<I 4x HHHHH 2x i hBx I")
#: A footer of version 5: root, vtable and table, before the vectors of blocks.
FOOTER_START = struct.Struct("<I 6H i H2x 3I 4x")


@dataclass(frozen=True, slots=True)
class Footer:
    """The footer of a file."""

    schema: StoredSchema
    dictionaries: list[Block]
    batches: list[Block]


def make_footer(
    schema_message: bytes, dictionaries: Sequence[Block], batches: Sequence[Block]
) -> bytes:
    """Return the flatbuffer of a footer. It must be written at a multiple of 8."""
    vectors = _vector_of(dictionaries) + _vector_of(batches)
    # The table is at 16, its vtable of 12 bytes at 4: version at 4 of the table's 20 bytes, the
    # schema at 8, the dictionaries at 12, the batches at 16. A reference is the distance from it.
    table = 16
    first = FOOTER_START.size + 4
    second = first + VECTOR.size + BLOCK.itemsize * len(dictionaries)
    schema = FOOTER_START.size + len(vectors) + schema_table(schema_message).position
    start = FOOTER_START.pack(
        table, 12, 20, 4, 8, 12, 16, table - 4, V5,
        schema - (table + 8), first - (table + 12), second - (table + 16),
    )  # fmt: skip
    return start + vectors + schema_message


def read_footer(footer: BytesLike, file_size: int) -> Footer:
    """Read the untrusted footer of a file whose messages have `file_size` bytes.

    Raise ValueError if it is not a footer of Arrow 0.8 or newer, or refers to positions outside of
    these bytes; TypeError if the data is big-endian.
    """
    buffer = Flatbuffer(footer, "footer")
    table = buffer.root()
    # Arrow 0.14.1 omits the version, which reads as V1; each message has its own version.
    version = table.number(VERSION, 2)
    if version not in (0, V4, V5):
        raise buffer.error(table.position, f"metadata version V{version + 1}", "V4 or V5")
    schema = table.table(SCHEMA)
    if schema is None:
        raise buffer.error(table.position, "no schema", "one")
    message = _message_start(schema.position) + buffer.data
    return Footer(
        stored_schema_of(schema, message),
        _blocks(buffer, *table.vector(DICTIONARIES, BLOCK.itemsize, 8), file_size),
        _blocks(buffer, *table.vector(RECORD_BATCHES, BLOCK.itemsize, 8), file_size),
    )


def _message_start(schema: int) -> bytes:
    """Return the bytes that, placed before a schema table, form a schema message."""
    # Root: the table is at 20, its vtable of 10 bytes at 8: version at 4 of the table's 12 bytes,
    # the header's type at 6, the header at 8.
    vtable, table, header = 8, 20, 8
    to_schema = MESSAGE_START.size + schema - (table + header)
    return MESSAGE_START.pack(table, 10, 12, 4, 6, header, table - vtable, V5, 1, to_schema)


def _vector_of(blocks: Sequence[Block]) -> bytes:
    numbers = np.zeros(len(blocks), BLOCK)
    numbers[:] = list(blocks)
    return VECTOR.pack(len(blocks)) + numbers.tobytes()


def _blocks(buffer: Flatbuffer, first: int, count: int, file_size: int) -> list[Block]:
    """Read blocks that must lie within a file."""
    blocks = np.frombuffer(buffer.data, BLOCK, count, first)
    offsets = blocks["offset"]
    metadata_lengths = blocks["metadata_length"].astype(np.int64)
    body_lengths = blocks["body_length"]
    # Compare differences, because sums may overflow. The values do not matter for a message that is
    # already outside.
    inside = (offsets >= 0) & (offsets <= file_size) & (offsets % 8 == 0)
    rest = file_size - offsets
    inside &= (metadata_lengths > 0) & (metadata_lengths <= rest)
    inside &= (body_lengths >= 0) & (body_lengths <= rest - metadata_lengths)
    if not inside.all():
        wrong = int(inside.argmin())
        offset, metadata_length, body_length = blocks[wrong].tolist()
        found = f"a message of {metadata_length}+{body_length} bytes at {offset}"
        where = first + BLOCK.itemsize * wrong
        raise buffer.error(where, found, f"a message at a multiple of 8 in {file_size} bytes")
    return [Block(*block) for block in blocks.tolist()]
