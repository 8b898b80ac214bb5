# SPDX-License-Identifier: Apache-2.0
"""What an Arrow field says about a column beyond its libcudf type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

import pyarrow as pa

from .._core.schema import SchemaSpec, metadata_of

__all__ = [
    "BRIDGE_KEY",
    "EXTENSION_METADATA",
    "EXTENSION_NAME",
    "PANDAS_KEY",
    "ColumnMetadata",
    "child_fields",
    "from_field",
    "own_metadata",
    "spec_of_column",
    "spec_of_table",
    "storage_type_of",
]

BRIDGE_KEY = b"cudf_arrow_bridge"
PANDAS_KEY = b"pandas"
EXTENSION_NAME = b"ARROW:extension:name"
EXTENSION_METADATA = b"ARROW:extension:metadata"

_EMPTY: Mapping[bytes, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ColumnMetadata:
    """One Arrow field; ``children`` follow Arrow's children, not libcudf's.

    Attributes
    ----------
    name
        The field name.
    nullable
        Whether the field may hold nulls. It never depends on the data.
    timezone
        The time zone of a timestamp, empty when it has none.
    precision
        The precision of a decimal; 0 for the maximum of its width.
    ordered
        Whether the order of a dictionary's values has a meaning.
    metadata
        The field's own key-value metadata, such as ``ARROW:extension:name``.
    children
        A list's one element, a struct's fields, a dictionary's one values field.
    imported_schema
        The capsule of the schema that the column was imported with; None for other columns. The
        column is exported with that schema again as far as its type allows.
    """

    name: str = ""
    nullable: bool = True
    timezone: str = ""
    precision: int = 0
    ordered: bool = False
    metadata: Mapping[bytes, bytes] = field(default_factory=lambda: _EMPTY)
    children: tuple[ColumnMetadata, ...] = ()
    imported_schema: object | None = field(default=None, compare=False)


def from_field(field: pa.Field) -> ColumnMetadata:
    """Return the metadata to export a column again that was imported with a field.

    Parameters
    ----------
    field
        The field. Of an extension type, the storage type, the name and the parameters are kept.
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

    Parameters
    ----------
    field
        The field. pyarrow need not know its extension type.
    """
    if isinstance(field.type, pa.BaseExtensionType):
        # pyarrow hides the parameters of extension types that it implements in C++; the C schema
        # has them.
        return metadata_of(field.__arrow_c_schema__())
    return field.metadata or _EMPTY


def child_fields(arrow_type: pa.DataType) -> list[pa.Field]:
    """Return the fields of the child columns that libcudf has for an Arrow type.

    For a dictionary that is its values, for a run-end encoded type the children of its values.

    Parameters
    ----------
    arrow_type
        The type.
    """
    arrow_type = storage_type_of(arrow_type)
    if pa.types.is_dictionary(arrow_type):
        value_type = arrow_type.value_type
        while pa.types.is_dictionary(value_type):
            # libcudf has no dictionaries of dictionaries: the inner ones are decoded.
            value_type = value_type.value_type
        return [pa.field("", value_type)]
    return [arrow_type.field(i) for i in range(arrow_type.num_fields)]


def storage_type_of(arrow_type: pa.DataType) -> pa.DataType:
    """Return an Arrow type without extension types and run-end encoding, as libcudf stores it."""
    while True:
        if isinstance(arrow_type, pa.BaseExtensionType):
            arrow_type = arrow_type.storage_type
        elif pa.types.is_run_end_encoded(arrow_type):
            arrow_type = arrow_type.value_type
        else:
            return arrow_type


@lru_cache(maxsize=16)
def spec_of_column(types: bytes) -> SchemaSpec:
    """Return the spec of pylibcudf columns of one type, see `types_of`: they have no names."""
    return SchemaSpec([ColumnMetadata()], {})


@lru_cache(maxsize=16)
def spec_of_table(types: bytes) -> SchemaSpec:
    """Return the spec of pylibcudf tables of these types: their fields are named by position."""
    return SchemaSpec([], {})
