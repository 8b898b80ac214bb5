# SPDX-License-Identifier: Apache-2.0
"""A cache of schema specs, shared by exports of objects with the same labels and dtypes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import cudf
import pyarrow as pa
import pylibcudf as plc

from .._core.schema import SchemaSpec
from ..arrow.bounded_cache import BoundedCache
from . import unproxied_pandas as pd
from .layout import ObjectType

#: Dtypes for which `SchemaKey` is not sufficient: the schema also depends on the types of
#: categories, or on the imported fields of children.
_UNCACHED = (
    cudf.CategoricalDtype,
    cudf.IntervalDtype,
    cudf.ListDtype,
    cudf.StructDtype,
    pd.ArrowDtype,
)

#: The result of `share_columns`: the columns, their dtypes, their libcudf types, and by position
#: their imported fields.
SharedColumns = tuple[list[plc.Column], list[Any], bytes, dict[int, pa.Field]]


#: All inputs of the schema of a frame, series or index: those compared by value, the labels of the
#: columns of a frame, the cuDF dtypes of all columns with those of the row index, and the imported
#: fields.
SchemaKey = tuple[tuple[Hashable, ...], pd.Index | None, list[Any], list[pa.Field]]


def schema_key(
    object_type: ObjectType,
    labels: pd.Index | None,
    names: Sequence[Hashable],
    rows: range | None,
    shared: SharedColumns,
    texts: Hashable = (),
) -> SchemaKey | None:
    """Return the key of an object, or None if its schema has other inputs.

    `names` are the names of `labels`, since the names of a pandas Index can change, or the name of
    a series or index; then the names of the row index, unless it is dropped. `rows` is the range of
    a row index that is kept. `shared` has all columns, including those of the row index. `texts`
    are the ``attrs`` of a frame.
    """
    for name in names:
        # Other labels can be equal but have different JSON forms, such as 1, 1.0 and True.
        if name is not None and type(name) is not str:
            return None
    columns, dtypes, types, fields = shared
    # Do not compare ranges: all empty ranges are equal.
    bounds = None if rows is None else (rows.start, rows.stop, rows.step)
    values = (object_type, *names, bounds, types, texts)
    if fields:
        values += tuple(
            (position, field.nullable or nulls > 0, nulls == columns[position].size())
            for position, field in fields.items()
            for nulls in (columns[position].null_count(),)
        )
    return values, labels, dtypes, list(fields.values())


_specs: BoundedCache[SchemaKey, SchemaSpec] = BoundedCache()


def cached_spec(key: SchemaKey | None) -> SchemaSpec | None:
    """Return the cached spec for a key, or None."""
    if key is None:
        return None

    values, labels, dtypes, fields = key

    def matches(other: SchemaKey) -> bool:
        other_values, other_labels, other_dtypes, other_fields = other
        return (
            values == other_values
            and dtypes == other_dtypes
            and (labels is other_labels or _same_labels(labels, other_labels))
            and (not fields or all(map(_same_field, fields, other_fields)))
        )

    return _specs.find(matches)


def cache_spec(key: SchemaKey | None, spec: SchemaSpec) -> None:
    """Cache a spec for a key, unless the spec is large or has inputs that are not in the key."""
    if key is None or spec.labels or any(isinstance(dtype, _UNCACHED) for dtype in key[2]):
        return
    if not spec.is_large():
        _specs.add(key, spec)


def _same_labels(one: pd.Index | None, other: pd.Index | None) -> bool:
    if one is None or other is None:
        return False
    is_comparable = isinstance(one, pd.RangeIndex) or isinstance(one.dtype, pd.StringDtype)
    # Index.identical compares names as well, which are in the key and can change.
    return (
        is_comparable
        and type(one) is type(other)
        and one.dtype == other.dtype
        and one.equals(other)
    )


def _same_field(one: pa.Field, other: pa.Field) -> bool:
    return one is other or one.equals(other, check_metadata=True)
