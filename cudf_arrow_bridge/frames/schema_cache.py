# SPDX-License-Identifier: Apache-2.0
"""A cache of schema specs: frames with the same labels and dtypes are exported with one schema."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cudf
import pandas as pd

from .._core.columns import types_of
from ..arrow.bounded_cache import BoundedCache
from ..arrow.export_input import SchemaSpec
from .cudf_private import ColumnBase
from .imported_fields import imported_fields
from .layout import ObjectType, RowIndex

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SchemaKey", "cache_spec", "cached_spec"]

#: Dtypes for which the schema depends on more than `SchemaKey` has: on the types of categories, or
#: on the fields that children were imported with.
_UNCACHED = (
    cudf.CategoricalDtype,
    cudf.IntervalDtype,
    cudf.ListDtype,
    cudf.StructDtype,
    pd.ArrowDtype,
)


@dataclass(frozen=True, eq=False)
class SchemaKey:
    """All that the schema of a frame depends on.

    Attributes
    ----------
    object_type
        What is exported.
    labels
        The labels of the columns.
    names
        The names of the labels, since those of a pandas Index can change.
    row_index
        The names of the row index, and start, stop and step if it is a range.
    dtypes, types
        The cuDF dtypes and the libcudf types of all columns, those of the row index included.
    fields
        The fields that columns were imported with, by position.
    nullable
        For each of these fields, whether it must be nullable.
    """

    object_type: ObjectType
    labels: pd.Index
    names: tuple[Hashable, ...]
    row_index: tuple[Any, ...] | None
    dtypes: tuple[Any, ...]
    types: bytes
    fields: dict[int, pa.Field]
    nullable: list[bool]

    @classmethod
    def of(
        cls,
        object_type: ObjectType,
        labels: pd.Index,
        row_index: RowIndex | None,
        columns: Sequence[ColumnBase],
    ) -> SchemaKey | None:
        """Return the key of a frame, None if its schema depends on more than the key holds.

        Parameters
        ----------
        object_type
            What is exported.
        labels
            The labels of the columns, without those of the row index.
        row_index
            The row index; None if it is dropped.
        columns
            All columns, those of the row index included.
        """
        names = tuple(labels.names)
        if not all(map(_is_comparable, names if row_index is None else (*names, *row_index.names))):
            return None
        dtypes = tuple([column.dtype for column in columns])
        if any(issubclass(dtype_class, _UNCACHED) for dtype_class in set(map(type, dtypes))):
            return None
        fields = imported_fields(columns)
        nullable = [
            field.nullable or columns[position].null_count > 0 for position, field in fields.items()
        ]
        types = types_of([column.plc_column for column in columns])
        index = None if row_index is None else (*row_index.names, _bounds(row_index.range))
        return cls(object_type, labels, names, index, dtypes, types, fields, nullable)

    def equals(self, other: SchemaKey) -> bool:
        """Say whether two frames are exported with the same schema."""
        return (
            self.types == other.types
            and self.dtypes == other.dtypes
            and self.nullable == other.nullable
            and (self.object_type, self.names, self.row_index)
            == (other.object_type, other.names, other.row_index)
            and _same_labels(self.labels, other.labels)
            and self.fields.keys() == other.fields.keys()
            and all(map(_same_field, self.fields.values(), other.fields.values()))
        )


_specs: BoundedCache[SchemaKey, SchemaSpec] = BoundedCache()


def cached_spec(key: SchemaKey) -> SchemaSpec | None:
    """Return the spec of an earlier frame with this key, or None."""
    return _specs.find(key.equals)


def cache_spec(key: SchemaKey, spec: SchemaSpec) -> None:
    """Keep a spec for later frames with this key."""
    _specs.add(key, spec)


def _is_comparable(label: Hashable) -> bool:
    # Other labels can be equal and yet have different JSON forms: 1, 1.0 and True.
    return label is None or type(label) is str


def _bounds(rows: range | None) -> tuple[int, int, int] | None:
    # Not the range itself: all empty ranges are equal.
    return None if rows is None else (rows.start, rows.stop, rows.step)


def _same_labels(one: pd.Index, other: pd.Index) -> bool:
    if one is other:
        return True
    is_comparable = isinstance(one, pd.RangeIndex) or isinstance(one.dtype, pd.StringDtype)
    return (
        is_comparable
        and type(one) is type(other)
        and one.dtype == other.dtype
        and one.equals(other)
    )


def _same_field(one: pa.Field, other: pa.Field) -> bool:
    return one is other or one.equals(other, check_metadata=True)
