# SPDX-License-Identifier: Apache-2.0
"""What an Arrow field says about a column beyond what libcudf's type says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import pyarrow as pa

from ._schema import metadata_of

__all__ = [
    "BRIDGE_KEY",
    "EXTENSION_METADATA",
    "EXTENSION_NAME",
    "PANDAS_KEY",
    "ColumnMetadata",
    "from_field",
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
    """

    name: str = ""
    nullable: bool = True
    timezone: str = ""
    precision: int = 0
    ordered: bool = False
    metadata: Mapping[bytes, bytes] = field(default_factory=lambda: _EMPTY)
    children: tuple[ColumnMetadata, ...] = ()


def from_field(field: pa.Field) -> ColumnMetadata:
    """Describe a field that came from elsewhere, for exporting its column again.

    Parameters
    ----------
    field
        The field. An extension type is described by its storage, its name and metadata kept.
    """
    arrow_type = field.type
    metadata = dict(field.metadata or {})
    if isinstance(arrow_type, pa.BaseExtensionType):
        # Of the extension types that pyarrow has in C++, only the C schema tells the parameters.
        metadata = metadata_of(field.__arrow_c_schema__())
        arrow_type = arrow_type.storage_type
    if pa.types.is_run_end_encoded(arrow_type):
        # The column has the values, each as often as it counts, under the field's name.
        values = pa.field(field.name, arrow_type.value_type, field.nullable)
        return replace(from_field(values), metadata=metadata)
    if pa.types.is_dictionary(arrow_type):
        value_type = arrow_type.value_type
        while pa.types.is_dictionary(value_type):
            # libcudf has no dictionaries of dictionaries: their values are looked up.
            value_type = value_type.value_type
        children = [pa.field("", value_type)]
    else:
        children = [arrow_type.field(i) for i in range(arrow_type.num_fields)]
    zoned = pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None
    return ColumnMetadata(
        name=field.name,
        nullable=field.nullable,
        timezone=arrow_type.tz if zoned else "",
        precision=arrow_type.precision if pa.types.is_decimal(arrow_type) else 0,
        ordered=pa.types.is_dictionary(arrow_type) and arrow_type.ordered,
        metadata=metadata,
        children=tuple(from_field(child) for child in children),
    )
