# SPDX-License-Identifier: Apache-2.0
"""Schemas as messages: pyarrow makes and reads them, all but the ids of dictionaries.

Source: Arrow columnar format, Schema.fbs.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from .field_tables import dictionary_ids_of
from .flatbuffer_tables import INT16, Flatbuffer, Table, key_values
from .headers import HEADER, BytesLike, bytes_of, message_table

__all__ = ["StoredSchema", "read_schema", "schema_message", "stored_schema_of"]

#: Slots of the table Schema.
ENDIANNESS, FIELDS, CUSTOM_METADATA = range(3)

#: What comes before the metadata of a message in a stream, and how long it is.
PREFIX = struct.Struct("<Ii")
CONTINUATION = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, eq=False)
class StoredSchema:
    """A schema, and what Arrow's types do not say of it; equal to itself alone."""

    schema: pa.Schema
    dictionary_ids: tuple[int, ...]
    """Of each field with a dictionary, depth first: its own, then those within its values."""


def schema_message(schema: pa.Schema) -> bytes:
    """Return the metadata of the message that tells a schema; dictionaries are counted from 0."""
    message = schema.serialize()
    _, size = PREFIX.unpack_from(message)
    metadata: bytes = message.slice(PREFIX.size, size).to_pybytes()
    return metadata


def read_schema(metadata: BytesLike) -> StoredSchema:
    """Read the message that tells a schema.

    Parameters
    ----------
    metadata : bytes-like
        The flatbuffer, without a length before it. Nothing in it is believed.

    Returns
    -------
    StoredSchema
        The same object for the same bytes, while it is remembered.

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
    buffer = Flatbuffer(metadata, "metadata")
    message, kind, _ = message_table(buffer)
    if kind != "schema":
        raise ValueError(f"message: a {kind} found, a schema expected")
    schema = message.table(HEADER)
    if schema is None:
        raise buffer.error(message.position, "no header", "a schema")
    return stored_schema_of(schema, metadata)


def stored_schema_of(table: Table, metadata: bytes) -> StoredSchema:
    """Return the schema in the message `metadata`, whose table is also `table`."""
    if table.number(ENDIANNESS, INT16):
        raise TypeError("schema: big-endian data found, little-endian expected")
    # First, as these bound what pyarrow makes of it.
    key_values(table, CUSTOM_METADATA)
    ids = dictionary_ids_of(table, FIELDS)
    message = pa.py_buffer(PREFIX.pack(CONTINUATION, len(metadata)) + metadata)
    try:
        schema = pa.ipc.read_schema(message)
    except Exception as error:
        # pyarrow's own, and whatever an extension type raises that reads its metadata.
        raise ValueError(f"schema: {error}") from error
    return StoredSchema(schema, ids)
