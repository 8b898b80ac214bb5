# SPDX-License-Identifier: Apache-2.0
"""Arrow fields, types and metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress

import pyarrow as pa

from .._core.protocols import ColumnMetadata
from .._core.schema import metadata_of

BRIDGE_KEY = b"cudf_arrow_bridge"
PANDAS_KEY = b"pandas"
EXTENSION_NAME = b"ARROW:extension:name"
EXTENSION_METADATA = b"ARROW:extension:metadata"


def from_field(field: pa.Field) -> ColumnMetadata:
    """Return the metadata to export a column again that was imported with a field.

    For an extension type, the storage type, name and parameters are kept.
    """
    arrow_type = storage_type_of(field.type)
    has_timezone = pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None
    return ColumnMetadata(
        name=field.name,
        nullable=field.nullable,
        timezone=arrow_type.tz if has_timezone else "",
        precision=arrow_type.precision if pa.types.is_decimal(arrow_type) else 0,
        ordered=pa.types.is_dictionary(arrow_type) and arrow_type.ordered,
        metadata=own_metadata(field),
        children=tuple(from_field(child) for child in child_fields(field.type)),
        imported_schema=field.__arrow_c_schema__(),
    )


def own_metadata(field: pa.Field) -> Mapping[bytes, bytes]:
    """Return a field's own metadata, with the name and parameters of an extension type.

    The type does not have to be registered with pyarrow.
    """
    if isinstance(field.type, pa.BaseExtensionType):
        # pyarrow does not expose the parameters of extension types that it implements in C++. The C
        # schema contains them.
        return metadata_of(field.__arrow_c_schema__())
    return field.metadata or {}


def of_rows(
    metadata: Mapping[bytes, bytes], first_row: int, num_rows: int
) -> Mapping[bytes, bytes]:
    """Return the metadata of a batch for some of its rows, with their part of a range index."""
    result = dict(metadata)
    # Metadata with another index, or that a peer damaged, is unchanged.
    damaged = (LookupError, RecursionError, TypeError, ValueError)
    with suppress(*damaged):
        document = json.loads(metadata[PANDAS_KEY])
        (index,) = document["index_columns"]
        rows = _range_of_rows(index["start"], index["step"], first_row, num_rows)
        index |= {"start": rows[0], "stop": rows[1]}
        result[PANDAS_KEY] = json.dumps(document).encode()
    with suppress(*damaged):
        document = json.loads(metadata[BRIDGE_KEY])
        start, _, step = document["index"]["range"]
        document["index"]["range"] = _range_of_rows(start, step, first_row, num_rows)
        result[BRIDGE_KEY] = json.dumps(document).encode()
    return result


def _range_of_rows(start: int, step: int, first_row: int, num_rows: int) -> list[int]:
    start += first_row * step
    return [start, start + num_rows * step, step]


def child_fields(arrow_type: pa.DataType) -> list[pa.Field]:
    """Return the fields of the child columns that libcudf has for an Arrow type.

    The child of a dictionary is its values. The children of a run-end encoded type are those of its
    values.
    """
    arrow_type = storage_type_of(arrow_type)
    if pa.types.is_dictionary(arrow_type):
        value_type = arrow_type.value_type
        while pa.types.is_dictionary(value_type):
            # libcudf does not support dictionaries of dictionaries, so the inner ones are decoded.
            value_type = value_type.value_type
        return [pa.field("", value_type)]
    return [arrow_type.field(i) for i in range(arrow_type.num_fields)]


def without_extension(arrow_type: pa.DataType) -> pa.DataType:
    """Return the storage type of an extension type, and other types unchanged."""
    return arrow_type.storage_type if isinstance(arrow_type, pa.BaseExtensionType) else arrow_type


def storage_type_of(arrow_type: pa.DataType) -> pa.DataType:
    """Return an Arrow type without extension types and run-end encoding, as stored in libcudf."""
    while True:
        if isinstance(arrow_type, pa.BaseExtensionType):
            arrow_type = arrow_type.storage_type
        elif pa.types.is_run_end_encoded(arrow_type):
            arrow_type = arrow_type.value_type
        else:
            return arrow_type


def has_type(arrow_type: pa.DataType, is_type: Callable[[pa.DataType], bool]) -> bool:
    """Return whether the type of a column or one of its children is of a kind.

    For extension types and run-end encoded types, these include the types that they store.
    """
    arrow_type = without_extension(arrow_type)
    return (
        is_type(arrow_type)
        or is_type(storage_type_of(arrow_type))
        or any(has_type(field.type, is_type) for field in child_fields(arrow_type))
    )


def has_dictionary(arrow_type: pa.DataType) -> bool:
    """Return whether a type or one of its children is a dictionary."""
    return has_type(arrow_type, pa.types.is_dictionary)
