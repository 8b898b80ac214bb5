# SPDX-License-Identifier: Apache-2.0
"""Schema messages. pyarrow writes and reads them, except the ids of dictionaries.

Source: Arrow columnar format, Schema.fbs.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from ..._core.ipc.metadata import bytes_of, schema_table

if TYPE_CHECKING:
    from ..._core.ipc.metadata import BytesLike, Table

#: Slots of the table Schema.
ENDIANNESS, FIELDS, CUSTOM_METADATA = range(3)

#: The prefix of the metadata of a message in a stream, and its length.
PREFIX = struct.Struct("<Ii")
CONTINUATION = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, eq=False)
class StoredSchema:
    """A schema with its dictionary ids, compared by identity."""

    schema: pa.Schema
    dictionary_ids: tuple[int, ...]
    """The dictionary ids of the fields, depth first; a field comes before those in its values."""


def schema_message(schema: pa.Schema) -> bytes:
    """Return the metadata of a schema message, with dictionary ids counted from 0."""
    message = schema.serialize()
    _, size = PREFIX.unpack_from(message)
    metadata: bytes = message.slice(PREFIX.size, size).to_pybytes()
    return metadata


def read_schema(metadata: BytesLike) -> StoredSchema:
    """Read the untrusted metadata of a schema message; cached for equal bytes.

    Raises
    ------
    TypeError
        If the data is big-endian.
    ValueError
        If it is not the metadata of a schema.
    """
    return _read_schema(bytes_of(metadata))


@lru_cache(maxsize=32)
def _read_schema(metadata: bytes) -> StoredSchema:
    return stored_schema_of(schema_table(metadata), metadata)


def stored_schema_of(table: Table, metadata: bytes) -> StoredSchema:
    """Return the schema in the message `metadata`, whose table is also `table`."""
    if table.number(ENDIANNESS, 2):
        raise TypeError("schema: expected little-endian data, got big-endian")
    # Read the ids first, because this limits the memory that pyarrow needs.
    table.key_values(CUSTOM_METADATA)
    ids = table.dictionary_ids(FIELDS)
    message = pa.py_buffer(PREFIX.pack(CONTINUATION, len(metadata)) + metadata)
    try:
        schema = pa.ipc.read_schema(message)
    except Exception as error:
        # Errors of pyarrow, and of extension types that read their metadata.
        raise ValueError(f"schema: {error}") from error
    return StoredSchema(schema, ids)
