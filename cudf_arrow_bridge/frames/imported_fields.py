# SPDX-License-Identifier: Apache-2.0
"""The imported Arrow fields of columns, which a later export uses again.

cuDF has fewer types than Arrow. For example, a date becomes a timestamp, and a map becomes a list
of structs. The field of a column is attached to its memory at each level of nesting. Slices, other
frames and casts that share the memory keep the field. Results that cuDF computes have new memory
without a field, and are exported with the type of their cuDF dtype.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pylibcudf as plc

from .._core.import_.imported_fields import arrow_children
from ..arrow.metadata import (
    BRIDGE_KEY,
    EXTENSION_METADATA,
    EXTENSION_NAME,
    child_fields,
    own_metadata,
    storage_type_of,
)
from .cudf_private import ColumnBase, attach_to_column, attach_to_memory

#: The types that are not nested and that cuDF supports.
_CUDF_TYPES = {
    pa.type_for_alias(alias).id
    for alias in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float", "double", "string", "large_string", "timestamp[s]", "duration[s]"),
    )
}


def attach_field(column: ColumnBase, field: pa.Field) -> None:
    """Attach an imported field to its column, as cuDF stores it, and the children of the column."""
    attach_to_column(column, field)
    _attach_to_levels(column.plc_column, field)


def is_default(field: pa.Field) -> bool:
    """Return whether a cuDF column without an attached field is exported with this field."""
    return (
        field.type.id in _CUDF_TYPES
        and field.nullable
        and field.metadata is None
        and not getattr(field.type, "tz", None)
    )


def _attach_to_levels(column: plc.Column, field: pa.Field) -> None:
    attach_to_memory(column, field)
    if pa.types.is_dictionary(storage_type_of(field.type)):
        # The column holds decoded values, or codes without the categories, which cuDF stores apart.
        (field,) = child_fields(field.type)
    for child, child_field in zip(arrow_children(column), child_fields(field.type), strict=False):
        _attach_to_levels(child, child_field)


def kept_metadata(field: pa.Field) -> Mapping[bytes, bytes]:
    """Return the metadata of an imported field that an export keeps."""
    metadata = dict(own_metadata(field))
    metadata.pop(BRIDGE_KEY, None)
    if metadata.get(EXTENSION_NAME) == b"pandas.interval":
        # The export creates this metadata from the dtype.
        del metadata[EXTENSION_NAME]
        metadata.pop(EXTENSION_METADATA, None)
    return metadata
