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
from typing import Any

import flatbuffers
import numpy as np

from ..transport.framing import Block
from .flatbuffer_tables import INT16, UINT32, Flatbuffer, key_values
from .headers import HEADER, V4, V5, BytesLike, bytes_of, message_table
from .schema_messages import StoredSchema, stored_schema_of

__all__ = ["Footer", "make_footer", "read_footer"]

#: Slots of the table Footer.
VERSION, SCHEMA, DICTIONARIES, RECORD_BATCHES, CUSTOM_METADATA = range(5)

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


@dataclass(frozen=True, slots=True)
class Footer:
    """The footer of a file."""

    schema: StoredSchema
    dictionaries: list[Block]
    batches: list[Block]
    custom_metadata: dict[bytes, bytes]


def make_footer(
    schema_message: bytes, dictionaries: Sequence[Block], batches: Sequence[Block]
) -> bytes:
    """Return the flatbuffer of a footer. It must be written at a multiple of 8.

    Parameters
    ----------
    schema_message : bytes
        The metadata of the schema message.
    dictionaries, batches : sequence of Block
        The positions of the messages.
    """
    builder = flatbuffers.Builder(1024 + BLOCK.itemsize * (len(dictionaries) + len(batches)))
    vectors = [(_add_blocks(builder, blocks), len(blocks)) for blocks in (batches, dictionaries)]
    builder.StartObject(RECORD_BATCHES + 1)
    builder.PrependUOffsetTRelativeSlot(RECORD_BATCHES, vectors[0][0], 0)
    builder.PrependUOffsetTRelativeSlot(DICTIONARIES, vectors[1][0], 0)
    builder.PrependUint32Slot(SCHEMA, 1, 0)
    builder.PrependInt16Slot(VERSION, V5, 0)
    builder.Finish(builder.EndObject())
    footer = builder.Output()
    for vector, count in vectors:
        # The builder handled each block as three numbers.
        UINT32.pack_into(footer, len(footer) - vector, count)

    message, _, _ = message_table(Flatbuffer(schema_message, "metadata"))
    schema = message.buffer.target(message.slot(HEADER, 4))
    # The following data stays aligned: this ends at a multiple of 8, because blocks have numbers of
    # 64 bits.
    slot = Flatbuffer(bytes(footer), "footer").root().slot(SCHEMA, 4)
    UINT32.pack_into(footer, slot, len(footer) + schema - slot)
    return bytes(footer + schema_message)


def read_footer(footer: BytesLike, file_size: int) -> Footer:
    """Read the footer of a file.

    Parameters
    ----------
    footer : bytes-like
        The flatbuffer, which is untrusted.
    file_size : int
        The size of the file part that may contain messages.

    Raises
    ------
    TypeError
        If the data is big-endian.
    ValueError
        If it is not a footer of Arrow 0.8 or newer, or refers to positions outside of the file.
    """
    data = bytes_of(footer)
    buffer = Flatbuffer(data, "footer")
    table = buffer.root()
    # Arrow 0.14.1 omits the version, which reads as V1; each message has its own version.
    version = table.number(VERSION, INT16)
    if version not in (0, V4, V5):
        raise buffer.error(table.position, f"metadata version V{version + 1}", "V4 or V5")
    schema = table.table(SCHEMA)
    if schema is None:
        raise buffer.error(table.position, "no schema", "one")
    message = _message_start(schema.position) + data
    return Footer(
        stored_schema_of(schema, message),
        _blocks(buffer, *table.vector(DICTIONARIES, BLOCK.itemsize, 8), file_size),
        _blocks(buffer, *table.vector(RECORD_BATCHES, BLOCK.itemsize, 8), file_size),
        key_values(table, CUSTOM_METADATA),
    )


def _message_start(schema: int) -> bytes:
    """Return the bytes that, placed before a schema table, form a schema message."""
    # Root: the table is at 20, its vtable of 10 bytes at 8: version at 4 of the table's 12 bytes,
    # the header's type at 6, the header at 8.
    vtable, table, header = 8, 20, 8
    to_schema = MESSAGE_START.size + schema - (table + header)
    return MESSAGE_START.pack(table, 10, 12, 4, 6, header, table - vtable, V5, 1, to_schema)


def _add_blocks(builder: Any, blocks: Sequence[Block]) -> int:
    numbers = np.zeros(len(blocks), BLOCK)
    numbers[:] = list(blocks)
    offset: int = builder.CreateNumpyVector(numbers.view(np.int64))
    return offset


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
