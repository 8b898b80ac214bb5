# SPDX-License-Identifier: Apache-2.0
"""Which Arrow field the columns of a frame came from, so that they can leave as it again.

cuDF has fewer types than Arrow: a date is a timestamp there, a map a list of structs. What a column
was goes with its memory, level by level, through slices and into other frames. Whatever cuDF
computes is new memory, and leaves as what cuDF made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pylibcudf as plc

from ..arrow.metadata import (
    BRIDGE_KEY,
    EXTENSION_METADATA,
    EXTENSION_NAME,
    child_fields,
    own_metadata,
    storage,
)
from .cudf_private import ColumnBase, note_on_column, note_on_memory, notes_of

__all__ = ["lasting_metadata", "recall", "recall_all", "remember"]

_TIMESTAMP = pa.timestamp("s").id
#: Types that cuDF has itself, with nothing below them.
_KEPT = {
    *(kind().id for kind in (pa.int8, pa.int16, pa.int32, pa.int64, pa.bool_)),
    *(kind().id for kind in (pa.uint8, pa.uint16, pa.uint32, pa.uint64)),
    *(kind().id for kind in (pa.float32, pa.float64, pa.string, pa.large_string)),
    *(_TIMESTAMP, pa.duration("s").id),
}


def remember(column: ColumnBase, field: pa.Field) -> None:
    """Keep what a column, and all below it, came from.

    Parameters
    ----------
    column
        The column as cuDF stores it.
    field
        The field it came with.
    """
    if not _says_nothing_new(field):
        note_on_column(column, field)
        _remember_memory(column.plc_column, field)


def _says_nothing_new(field: pa.Field) -> bool:
    """Say whether cuDF's own column would leave as the very same field."""
    arrow_type = field.type
    return (
        arrow_type.id in _KEPT
        and field.nullable
        and field.metadata is None
        and not (arrow_type.id == _TIMESTAMP and arrow_type.tz)
    )


def _remember_memory(column: plc.Column, field: pa.Field) -> None:
    note_on_memory(column, field)
    if pa.types.is_dictionary(storage(field.type)):
        # Below its values; what a category's are, cuDF keeps in a column of its own.
        (field,) = child_fields(field.type)
    for child, child_field in zip(_arrow_children(column), child_fields(field.type), strict=False):
        _remember_memory(child, child_field)


def _arrow_children(column: plc.Column) -> list[plc.Column]:
    children: list[plc.Column] = column.children()
    if column.type().id() == plc.TypeId.LIST:
        return children[1:]
    return children if column.type().id() == plc.TypeId.STRUCT else []


def recall(column: ColumnBase) -> pa.Field | None:
    """Return the field that a column came with, if it is still what it was."""
    return recall_all([column]).get(0)


def recall_all(columns: Sequence[ColumnBase]) -> dict[int, pa.Field]:
    """Return, by position, the fields that columns came with; most came with none worth a note."""
    return notes_of(columns)


def lasting_metadata(field: pa.Field) -> Mapping[bytes, bytes]:
    """Return the metadata to export a column with again, its extension type's name included."""
    metadata = dict(own_metadata(field))
    metadata.pop(BRIDGE_KEY, None)
    if metadata.get(EXTENSION_NAME) == b"pandas.interval":
        # An interval says so by its dtype.
        del metadata[EXTENSION_NAME]
        metadata.pop(EXTENSION_METADATA, None)
    return metadata
