# SPDX-License-Identifier: Apache-2.0
"""A cache of schema specs: objects with the same labels and dtypes are exported with one schema."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cudf

from .._core.schema import SchemaSpec
from ..arrow.bounded_cache import BoundedCache
from . import real_pandas as pd
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
    """All that the schema of a frame, series or index depends on.

    Attributes
    ----------
    values
        What is compared by value: what is exported, the names, the row index, the libcudf types,
        the ``attrs``.
    labels
        The labels of a frame's columns.
    dtypes
        The cuDF dtypes of all columns, those of the row index included.
    fields
        The fields that columns were imported with, by position.
    nullable
        For each of these fields, whether it must be nullable.
    """

    values: tuple[Hashable, ...]
    labels: pd.Index | None
    dtypes: list[Any]
    fields: dict[int, pa.Field]
    nullable: list[bool]

    @classmethod
    def of(
        cls,
        object_type: ObjectType,
        labels: pd.Index | None,
        names: Sequence[Hashable],
        rows: range | None,
        columns: Sequence[ColumnBase],
        dtypes: list[Any],
        types: bytes,
        fields: dict[int, pa.Field],
        texts: Hashable,
    ) -> SchemaKey | None:
        """Return the key of an object, None if its schema depends on more than the key holds.

        Parameters
        ----------
        object_type
            What is exported.
        labels
            The labels of a frame's columns, without those of the row index; else None.
        names
            The names of these labels, since those of a pandas Index can change, or the name of a
            series or index; then those of the row index, unless it is dropped.
        rows
            The labels of the rows if the row index is a range that is kept.
        columns
            All columns, those of the row index included.
        dtypes, types, fields
            What `share_columns` says of them; none of the dtypes is `UNCACHED`.
        texts
            The ``attrs`` of a frame, which are text.
        """
        for name in names:
            # Other labels can be equal and yet have different JSON forms: 1, 1.0 and True.
            if name is not None and type(name) is not str:
                return None
        # Not the range itself: all empty ranges are equal.
        bounds = None if rows is None else (rows.start, rows.stop, rows.step)
        nullable = []
        if fields:
            nullable = [
                field.nullable or columns[position].null_count > 0
                for position, field in fields.items()
            ]
        values = (object_type, *names, bounds, types, texts)
        return cls(values, labels, dtypes, fields, nullable)

    def equals(self, other: SchemaKey) -> bool:
        """Say whether two objects are exported with the same schema."""
        return (
            self.values == other.values
            and self.dtypes == other.dtypes
            and self.nullable == other.nullable
            and _same_labels(self.labels, other.labels)
            and _same_fields(self.fields, other.fields)
        )


_specs: BoundedCache[SchemaKey, SchemaSpec] = BoundedCache()


def cached_spec(key: SchemaKey) -> SchemaSpec | None:
    """Return the spec of an earlier object with this key, or None."""
    return _specs.find(key.equals)


def cache_spec(key: SchemaKey, spec: SchemaSpec) -> None:
    """Keep a spec for later objects with this key."""
    _specs.add(key, spec)


def _same_labels(one: pd.Index | None, other: pd.Index | None) -> bool:
    if one is other or one is None or other is None:
        return one is other
    is_comparable = isinstance(one, pd.RangeIndex) or isinstance(one.dtype, pd.StringDtype)
    return (
        is_comparable
        and type(one) is type(other)
        and one.dtype == other.dtype
        and one.equals(other)
    )


def _same_fields(ones: dict[int, pa.Field], others: dict[int, pa.Field]) -> bool:
    if not ones:
        return not others
    return ones.keys() == others.keys() and all(
        one is other or one.equals(other, check_metadata=True)
        for one, other in zip(ones.values(), others.values(), strict=True)
    )
