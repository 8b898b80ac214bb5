# SPDX-License-Identifier: Apache-2.0
"""A cache of schema specs: frames with the same labels and dtypes are exported with one schema."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cudf
import pandas as pd

from ..arrow.bounded_cache import BoundedCache
from ..arrow.export_input import SchemaSpec
from .cudf_private import ColumnBase
from .layout import ObjectType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["UNCACHED", "SchemaKey", "cache_spec", "cached_spec"]

#: Dtypes for which the schema depends on more than `SchemaKey` has: on the types of categories, or
#: on the fields that children were imported with.
UNCACHED = (
    cudf.CategoricalDtype,
    cudf.IntervalDtype,
    cudf.ListDtype,
    cudf.StructDtype,
    pd.ArrowDtype,
)


@dataclass(slots=True, eq=False)
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
    dtypes: list[Any]
    types: bytes
    fields: dict[int, pa.Field]
    nullable: list[bool]

    @classmethod
    def of(
        cls,
        object_type: ObjectType,
        labels: pd.Index,
        index_names: Sequence[Hashable] | None,
        rows: range | None,
        columns: Sequence[ColumnBase],
        dtypes: list[Any],
        types: bytes,
        fields: dict[int, pa.Field],
    ) -> SchemaKey | None:
        """Return the key of a frame, None if its schema depends on more than the key holds.

        Parameters
        ----------
        object_type
            What is exported.
        labels
            The labels of the columns, without those of the row index.
        index_names
            The names of the row index; None if it is dropped.
        rows
            The labels of the rows if the row index is a range.
        columns
            All columns, those of the row index included.
        dtypes, types, fields
            What `share_columns` says of them; none of the dtypes is `UNCACHED`.
        """
        names = tuple(labels.names) if isinstance(labels, pd.MultiIndex) else (labels.name,)
        row_index = None
        if index_names is not None:
            # Not the range itself: all empty ranges are equal.
            bounds = None if rows is None else (rows.start, rows.stop, rows.step)
            row_index = (*index_names, bounds)
        for name in names if index_names is None else (*names, *index_names):
            # Other labels can be equal and yet have different JSON forms: 1, 1.0 and True.
            if name is not None and type(name) is not str:
                return None
        nullable = [
            field.nullable or columns[position].null_count > 0 for position, field in fields.items()
        ]
        return cls(object_type, labels, names, row_index, dtypes, types, fields, nullable)

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
