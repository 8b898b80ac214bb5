# SPDX-License-Identifier: Apache-2.0
"""The metadata of messages with record batches and dictionaries.

Source: Arrow columnar format, Message.fbs.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING

from ..._core.ipc.metadata import CODECS, V5

if TYPE_CHECKING:
    from ..._core.ipc.metadata import Codec

#: All tables of a message, each after its vtable: Message, DictionaryBatch, RecordBatch and
#: BodyCompression.
TABLES = struct.Struct("<I 6H iHBxqI 5H2x iIqB3x 7H2x iq4I 3H2x iB3x")
#: The positions of the tables.
MESSAGE, DICTIONARY, BATCH, COMPRESSION = 16, 48, 84, 120
#: The numbers of the tables that differ between batches, and their positions.
LENGTH = struct.Struct("<q")
DICTIONARY_NUMBERS = struct.Struct("<qB")
BODY_LENGTH_AT, DICTIONARY_NUMBERS_AT, LENGTH_AT = MESSAGE + 8, DICTIONARY + 8, BATCH + 4
#: The bytes before the numbers of a vector: their count, after padding, because numbers of 64 bits
#: are at multiples of 8.
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
