# SPDX-License-Identifier: Apache-2.0
"""The Arrow fields that columns were imported with, so that they are exported with them again.

cuDF has fewer types than Arrow: a date becomes a timestamp, a map a list of structs. The field of a
column is attached to its memory, at each level of nesting, and stays with it in slices and other
frames, and in casts that leave the memory as it is. What cuDF computes is new memory without a
field, and is exported as what cuDF made it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pylibcudf as plc

from ..arrow.metadata import (
    BRIDGE_KEY,
    EXTENSION_METADATA,
    EXTENSION_NAME,
    child_fields,
    own_metadata,
    storage_type_of,
)
from .cudf_private import ColumnBase, attach_to_column, attach_to_memory, attached

__all__ = ["attach_field", "imported_field", "is_default", "kept_metadata"]

_TIMESTAMP = pa.timestamp("s").id
#: The flat types that cuDF has itself.
_CUDF_TYPES = {
    *(make_type().id for make_type in (pa.int8, pa.int16, pa.int32, pa.int64, pa.bool_)),
    *(make_type().id for make_type in (pa.uint8, pa.uint16, pa.uint32, pa.uint64)),
    *(make_type().id for make_type in (pa.float32, pa.float64, pa.string, pa.large_string)),
    *(_TIMESTAMP, pa.duration("s").id),
}


def attach_field(column: ColumnBase, field: pa.Field) -> None:
    """Attach the field that a column was imported with to the column and its children.

    Parameters
    ----------
    column
        The column as cuDF stores it.
    field
        The field.
    """
    attach_to_column(column, field)
    _attach_to_levels(column.plc_column, field)


def is_default(field: pa.Field) -> bool:
    """Say whether a cuDF column without a field is exported with the same one."""
    arrow_type = field.type
    return (
        arrow_type.id in _CUDF_TYPES
        and field.nullable
        and field.metadata is None
        and not (arrow_type.id == _TIMESTAMP and arrow_type.tz)
    )


def _attach_to_levels(column: plc.Column, field: pa.Field) -> None:
    attach_to_memory(column, field)
    if pa.types.is_dictionary(storage_type_of(field.type)):
        # The column is the decoded values, or codes without children: cuDF keeps categories apart.
        (field,) = child_fields(field.type)
    for child, child_field in zip(_arrow_children(column), child_fields(field.type), strict=False):
        _attach_to_levels(child, child_field)


def _arrow_children(column: plc.Column) -> list[plc.Column]:
    """Return the children that Arrow has too; libcudf's lists and strings also have offsets."""
    children: list[plc.Column] = column.children()
    if column.type().id() == plc.TypeId.LIST:
        return children[1:]
    return children if column.type().id() == plc.TypeId.STRUCT else []


def imported_field(column: ColumnBase) -> pa.Field | None:
    """Return the field that a column was imported with, None if there is none."""
    field: pa.Field | None = attached(column)
    return field


def kept_metadata(field: pa.Field) -> Mapping[bytes, bytes]:
    """Return the metadata of a field that its column is exported with again."""
    metadata = dict(own_metadata(field))
    metadata.pop(BRIDGE_KEY, None)
    if metadata.get(EXTENSION_NAME) == b"pandas.interval":
        # The export makes this metadata from the dtype.
        del metadata[EXTENSION_NAME]
        metadata.pop(EXTENSION_METADATA, None)
    return metadata
