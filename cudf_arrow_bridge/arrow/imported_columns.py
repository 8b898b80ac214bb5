# SPDX-License-Identifier: Apache-2.0
"""pylibcudf columns that were imported, described as the Arrow fields that they came with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pylibcudf as plc

from .._core.imported_fields import (
    arrow_children,
    has_own_nulls,
    imported_fields,
    imported_schema,
    is_field_of_parent,
)
from .._core.schema import SchemaSpec
from .metadata import ColumnMetadata, from_field
from .options import Kind
from .schemas import as_field

__all__ = ["spec_of_fields"]


def spec_of_fields(kind: Kind, columns: Sequence[plc.Column]) -> tuple[SchemaSpec, list[object]]:
    """Return the spec of columns of which some were imported, and what keeps their fields alive.

    pylibcudf's tables have no names. If each column has a field, these have the names, which may be
    empty or the same; else the fields are named by position.

    Parameters
    ----------
    kind
        Whether they are the columns of a table, or a single column.
    columns
        The columns.
    """
    fields = tuple(_describe(column, "", None) for column in columns)
    if kind == "table":
        fields = _named(fields, columns)
    return SchemaSpec(fields, {}), [imported_fields(level) for level in _levels(columns)]


def _describe(column: plc.Column, default_name: str, parent: plc.Column | None) -> ColumnMetadata:
    """Return the metadata of a column: at each level that of its field, if it has one."""
    is_struct = column.type().id() == plc.TypeId.STRUCT
    of_children = arrow_children(column)
    children = tuple(
        _describe(child, str(i) if is_struct else "item", column if is_struct else None)
        for i, child in enumerate(of_children)
    )
    schema = imported_schema(column)
    if schema is None:
        children = _named(children, of_children) if is_struct else children
        return ColumnMetadata(default_name, children=children)
    field = as_field(schema)
    # What was required may have lost values since.
    nullable = field.nullable or has_own_nulls(column, parent)
    return replace(from_field(field), nullable=nullable, children=children)


def _named(
    fields: tuple[ColumnMetadata, ...], columns: Sequence[plc.Column]
) -> tuple[ColumnMetadata, ...]:
    # A column that was imported by itself need not have a name.
    if all(
        field.imported_schema is not None and (field.name or is_field_of_parent(column))
        for field, column in zip(fields, columns, strict=True)
    ):
        return fields
    return tuple(replace(field, name=str(i)) for i, field in enumerate(fields))


def _levels(columns: Sequence[plc.Column]) -> Iterator[plc.Column]:
    for column in columns:
        yield column
        yield from _levels(arrow_children(column))
