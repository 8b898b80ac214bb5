# SPDX-License-Identifier: Apache-2.0
"""The schema specs of pylibcudf columns, with the Arrow fields of imported columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pylibcudf as plc

from .._core.export.array_exporter import pylibcudf_input
from .._core.import_.imported_fields import (
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


@lru_cache(maxsize=16)
def _spec_of_column(types: bytes) -> SchemaSpec:
    """Return the spec of pylibcudf columns of one type, which have no names; see `types_of`."""
    return SchemaSpec([ColumnMetadata()], {})


@lru_cache(maxsize=16)
def _spec_of_table(types: bytes) -> SchemaSpec:
    """Return the spec of pylibcudf tables of these types, with fields named by position."""
    return SchemaSpec([], {})


def _spec_of_fields(kind: Kind, columns: Sequence[plc.Column]) -> tuple[SchemaSpec, list[object]]:
    """Return the spec of columns of which some were imported, and the owners of their fields.

    pylibcudf tables have no names. If every column has a field, the names are those of the fields,
    which may be empty or equal. Otherwise the fields are named by position.
    """
    fields = tuple(_describe(column, "", None) for column in columns)
    if kind == "table":
        fields = _named(fields, columns)
    return SchemaSpec(fields, {}), [imported_fields(level) for level in _levels(columns)]


def input_of_pylibcudf(obj: Any) -> Any:
    """Return the `ExportInput` of a pylibcudf column or table, or None for any other object."""
    return pylibcudf_input(obj, _spec_of_column, _spec_of_table, _spec_of_fields)


def _describe(column: plc.Column, default_name: str, parent: plc.Column | None) -> ColumnMetadata:
    """Return the metadata of a column, at each level from its field if it has one."""
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
    # A column imported as not nullable may have gained nulls since.
    nullable = field.nullable or has_own_nulls(column, parent)
    return replace(from_field(field), nullable=nullable, children=children)


def _named(
    fields: tuple[ColumnMetadata, ...], columns: Sequence[plc.Column]
) -> tuple[ColumnMetadata, ...]:
    # A column that was imported alone can have no name.
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
