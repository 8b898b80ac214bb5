# SPDX-License-Identifier: Apache-2.0
"""The footer of an Arrow file: its schema and the positions of its messages.

Source: Arrow columnar format, File.fbs. References to tables in a flatbuffer are relative to their
position, so a table in the bytes of one flatbuffer can belong to another: a written footer refers
into the schema message, and a read schema message refers into the footer.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._core.ipc.metadata import V4, V5, Flatbuffer, schema_table
from ..transport.framing import Block
from .schema_messages import StoredSchema, stored_schema_of

if TYPE_CHECKING:
    from ..._core.ipc.metadata import BytesLike

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
#: The bytes before the blocks of a vector: their count, after padding, because blocks are at
#: multiples of 8.
VECTOR = struct.Struct("<4xI")


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
