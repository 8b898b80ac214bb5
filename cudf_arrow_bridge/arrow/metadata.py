# SPDX-License-Identifier: Apache-2.0
"""What an Arrow field says about a column beyond what libcudf's type says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import pyarrow as pa

from .._core.schema import metadata_of

__all__ = [
    "BRIDGE_KEY",
    "EXTENSION_METADATA",
    "EXTENSION_NAME",
    "PANDAS_KEY",
    "ColumnMetadata",
    "child_fields",
    "from_field",
    "own_metadata",
    "storage",
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
        The precision of a decimal; 0 stands for the most its width holds.
    ordered
        Whether the order of a dictionary's values means something.
    metadata
        The field's own key-value metadata, such as ``ARROW:extension:name``.
    children
        A list's one element, a struct's fields, a dictionary's one values field.
    origin
        The capsule of the schema that the column was imported with, to leave as again as far as its
        type still can; None where nobody knows.
    """

    name: str = ""
    nullable: bool = True
    timezone: str = ""
    precision: int = 0
    ordered: bool = False
    metadata: Mapping[bytes, bytes] = field(default_factory=lambda: _EMPTY)
    children: tuple[ColumnMetadata, ...] = ()
    origin: object | None = field(default=None, compare=False)


def from_field(field: pa.Field) -> ColumnMetadata:
    """Describe a field that came from elsewhere, for exporting its column again.

    Parameters
    ----------
    field
        The field. An extension type is described by its storage, its name and metadata kept.
    """
    arrow_type = storage(field.type)
    zoned = pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None
    return ColumnMetadata(
        name=field.name,
        nullable=field.nullable,
        timezone=arrow_type.tz if zoned else "",
        precision=arrow_type.precision if pa.types.is_decimal(arrow_type) else 0,
        ordered=pa.types.is_dictionary(arrow_type) and arrow_type.ordered,
        metadata=own_metadata(field),
        children=tuple(from_field(child) for child in child_fields(field.type)),
        origin=field.__arrow_c_schema__(),
    )


def own_metadata(field: pa.Field) -> Mapping[bytes, bytes]:
    """Return a field's own metadata, with the name and parameters of an extension type.

    Parameters
    ----------
    field
        The field, whose extension type, if it has one, pyarrow may know or not.
    """
    if isinstance(field.type, pa.BaseExtensionType):
        # Of the extension types that pyarrow has in C++, only the C schema tells the parameters.
        return metadata_of(field.__arrow_c_schema__())
    return field.metadata or _EMPTY


def child_fields(arrow_type: pa.DataType) -> list[pa.Field]:
    """Return the fields below a type: a dictionary's values, a run-end encoded type's values' own.

    Parameters
    ----------
    arrow_type
        The type, of which the columns below are those that libcudf has.
    """
    arrow_type = storage(arrow_type)
    if pa.types.is_dictionary(arrow_type):
        value_type = arrow_type.value_type
        while pa.types.is_dictionary(value_type):
            # libcudf has no dictionaries of dictionaries: their values are looked up.
            value_type = value_type.value_type
        return [pa.field("", value_type)]
    return [arrow_type.field(i) for i in range(arrow_type.num_fields)]


def storage(arrow_type: pa.DataType) -> pa.DataType:
    """Return the type that a column of this type is stored as in libcudf, one layer down."""
    while True:
        if isinstance(arrow_type, pa.BaseExtensionType):
            arrow_type = arrow_type.storage_type
        elif pa.types.is_run_end_encoded(arrow_type):
            arrow_type = arrow_type.value_type
        else:
            return arrow_type
