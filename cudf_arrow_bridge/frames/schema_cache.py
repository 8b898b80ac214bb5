# SPDX-License-Identifier: Apache-2.0
"""The keys of cached schema specs, which exports with the same labels and dtypes share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import cudf
import pyarrow as pa
import pylibcudf as plc

from .._core.schema import SchemaSpec, cache_spec
from . import real_pandas as pd
from .layout import ObjectType

#: Dtypes for which the key is not sufficient: the schema also depends on the types of
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


class _Labels:
    """The labels of columns, compared without the names of the pandas Index, which can change."""

    def __init__(self, labels: pd.Index | None) -> None:
        self._labels = labels

    def __eq__(self, other: object) -> bool:
        one: Any = self._labels
        two: Any = other._labels if isinstance(other, _Labels) else None
        if one is two or one is None or type(one) is not type(two):
            return one is two
        # Other labels can be equal but have different JSON forms, such as 1, 1.0 and True.
        is_comparable = isinstance(one, pd.RangeIndex) or isinstance(one.dtype, pd.StringDtype)
        return is_comparable and one.dtype == two.dtype and bool(one.equals(two))


def schema_key(
    object_type: ObjectType,
    labels: pd.Index | None,
    names: Sequence[Hashable],
    rows: range | None,
    shared: SharedColumns,
    texts: Hashable = (),
) -> object:
    """Return the key of the spec of an object, or None if its schema has other inputs.

    `labels` are those of the columns of a frame. `names` are the names of the labels, or the name
    of a series or index; then the names of the row index, unless it is dropped. `rows` is the range
    of a row index that is kept. `shared` has all columns, including those of the row index. `texts`
    are the ``attrs`` of a frame.
    """
    for name in names:
        # Other labels can be equal but have different JSON forms, such as 1, 1.0 and True.
        if name is not None and type(name) is not str:
            return None
    columns, dtypes, types, fields = shared
    # Do not compare ranges: all empty ranges are equal.
    bounds = None if rows is None else (rows.start, rows.stop, rows.step)
    imported = fields and [
        (position, id(field), field.nullable or nulls > 0, nulls == columns[position].size())
        for position, field in fields.items()
        for nulls in (columns[position].null_count(),)
    ]
    return object_type, *names, bounds, types, texts, imported, dtypes, _Labels(labels)


def cache_frame_spec(key: object, spec: SchemaSpec, shared: SharedColumns) -> None:
    """Cache a spec for a key, unless it has inputs that are not in the key."""
    _, dtypes, _, fields = shared
    if key is None or spec.labels or any(isinstance(dtype, _UNCACHED) for dtype in dtypes):
        return
    cache_spec(key, spec, list(fields.values()))
