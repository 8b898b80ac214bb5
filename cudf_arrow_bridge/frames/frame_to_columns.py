# SPDX-License-Identifier: Apache-2.0
"""Export of cuDF frames, series and indexes as columns and a schema spec."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import cudf
import numpy as np
import pyarrow as pa
import pylibcudf as plc

from .._core.export.array_exporter import ExportInput
from .._core.export.shared_columns import BufferSharer, share_columns
from .._core.import_.columns import OwningSpan, rebuild_all
from .._core.schema import SchemaSpec, cache_spec, cached_spec
from ..arrow.errors import CopyRefusedError, copy_error
from ..arrow.options import Kind
from ..arrow.schemas import unique_positions
from . import convert, pandas_metadata
from . import real_pandas as pd
from .cudf_private import (
    ColumnBase,
    buffer_describer,
    buffer_sharer,
    columns_of,
    make_column,
    range_of,
)
from .dtypes import dtype_hint
from .host_frames import enable_host_frames
from .labels import RowIndex, stringify
from .layout import FrameLayout, ObjectType, single_label
from .to_pylibcudf import column_to_pylibcudf

if TYPE_CHECKING:
    from .._core.protocols import CopiedBuffer

_NO_RANGES = "Arrow has no ranges: the range index is written out"

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


def frame_to_columns(
    obj: cudf.DataFrame | cudf.Series | cudf.Index,
    preserve_index: bool | None = None,
    stream: Any = None,
    copy: bool | None = None,
    sharer: BufferSharer | None = None,
) -> ExportInput:
    """Return the columns of a cuDF object, without copying data, and their schema spec.

    A frame becomes a table: its columns, then the levels of its index. A series or an index becomes
    an array, a MultiIndex a table of its levels.

    Parameters
    ----------
    obj, preserve_index
        The object, and how to export its index; see `to_arrow_device`.
    stream
        The CUDA stream on which a RangeIndex becomes a column, as a pylibcudf stream argument.
    copy
        False: raise if a RangeIndex has to be converted to a column.
    sharer
        The function that shares buffers. None: the sharer of an export.

    Raises
    ------
    TypeError
        If the object has another type.
    ValueError
        If `copy` is False and a RangeIndex has to be converted to a column.
    """
    if sharer is None:
        sharer = buffer_sharer()
    object_type: ObjectType = "index"
    labels: pd.Index | None = None
    index: cudf.Index | None = None
    attrs: dict[Any, Any] = {}
    copied: Sequence[CopiedBuffer] = ()
    if isinstance(obj, cudf.DataFrame):
        object_type, columns = "frame", columns_of(obj)
        labels, index, attrs = obj.columns, obj.index, obj.attrs
    elif isinstance(obj, cudf.Series):
        object_type, columns = "series", columns_of(obj)
        if preserve_index:
            index, attrs = obj.index, obj.attrs
        elif preserve_index is None and _is_own_range(obj.index):
            index = obj.index
    elif isinstance(obj, cudf.MultiIndex):
        preserve_index, columns = None, columns_of(obj)
        labels, index = level_labels(obj.names), cudf.RangeIndex(len(obj))
    elif isinstance(obj, cudf.Index):
        columns, copied = _index_columns(obj, stream, copy)
    else:
        raise TypeError(f"expected a cuDF DataFrame, Series or Index, got {type(obj).__name__}")
    kind: Kind = "column"
    if labels is not None or (object_type == "series" and preserve_index):
        kind = "table"
    names = [obj.name] if labels is None else list(labels.names)
    index_names: list[Hashable] = []
    rows = None
    levels: Sequence[ColumnBase] = ()
    if index is not None and preserve_index is not False:
        index_names = list(index.names)
        if preserve_index is None and isinstance(index, cudf.RangeIndex):
            rows = range_of(index)
        else:
            levels, copied = _index_columns(index, stream, copy)
    shared = share_columns([*columns, *levels], sharer)
    exported = shared[0]
    key = None
    texts = tuple(pandas_metadata.schema_metadata(attrs).items()) if attrs else ()
    # Other attrs can be any objects, which may not be comparable.
    if len(texts) == len(attrs):
        key = _schema_key(object_type, labels, [*names, *index_names], rows, shared, texts)
    spec = cached_spec(key)
    if spec is None:
        row_index = None
        if index_names:
            row_index = RowIndex(index_names, rows, [*range(len(columns), len(exported))])
        if labels is None:
            labels = single_label(obj.name)
        hints = [dtype_hint(dtype) for dtype in shared[1]]
        layout = FrameLayout(object_type, labels, hints, row_index, attrs)
        exported, spec = _convert(kind, layout, shared, sharer)
        is_uncached = any(isinstance(dtype, _UNCACHED) for dtype in shared[1])
        if not (key is None or spec.labels or is_uncached):
            cache_spec(key, spec, list(shared[3].values()))
    num_rows = columns[0].size if columns else len(obj)
    return ExportInput(kind, exported, num_rows, spec, copied)


def describe_frame(
    obj: cudf.DataFrame | cudf.Series | cudf.Index, preserve_index: bool | None = None
) -> ExportInput | None:
    """Return the schema spec of an export, with columns that have no memory.

    Spilled memory stays spilled. Return None if a RangeIndex has to be converted to a column.
    """
    if isinstance(obj, cudf.RangeIndex):
        return None
    if preserve_index and isinstance(getattr(obj, "index", None), cudf.RangeIndex):
        return None
    return frame_to_columns(obj, preserve_index, sharer=buffer_describer())


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


def _schema_key(
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


def _convert(
    kind: Kind, layout: FrameLayout, shared: SharedColumns, sharer: BufferSharer
) -> tuple[list[plc.Column], SchemaSpec]:
    """Return shared columns as they are exported, and their schema spec."""
    columns, dtypes, _, imported = shared
    if kind == "column":
        (label,) = layout.labels
        names = ["" if label is None else stringify(label)]
    else:
        names = layout.table_names()
    converted = [
        column_to_pylibcudf(column, dtype, name, sharer, imported.get(position))
        for position, (column, dtype, name) in enumerate(zip(columns, dtypes, names, strict=True))
    ]
    columns = [column for column, _ in converted]
    fields = [field for _, field in converted]
    objects: list[Any] = []
    if kind == "column":
        (field,), (name,) = fields, names
        metadata = {**field.metadata, **layout.field_metadata(name, objects)}
        return columns, SchemaSpec([replace(field, metadata=metadata)], {}, tuple(objects))
    entries = [
        pandas_metadata.column_entry(name, dtype, field.timezone)
        for name, dtype, field in zip(names, dtypes, fields, strict=True)
    ]
    metadata = layout.schema_metadata(names, entries, objects)
    return columns, SchemaSpec(fields, metadata, tuple(objects))


def _is_own_range(index: cudf.Index) -> bool:
    """Return whether an index is a range that differs from the default index."""
    if not isinstance(index, cudf.RangeIndex):
        return False
    rows = range_of(index)
    return index.name is not None or rows != range(len(rows))


def _index_columns(
    index: cudf.Index, stream: Any, copy: bool | None
) -> tuple[Sequence[ColumnBase], Sequence[CopiedBuffer]]:
    """Return an index as columns, and the memory allocated for them."""
    if not isinstance(index, cudf.RangeIndex):
        return columns_of(index), ()
    if copy is False and len(index):
        name = "" if index.name is None else stringify(index.name)
        raise copy_error([CopyRefusedError(name, _NO_RANGES)])
    values, dtype = range_of(index), index.dtype
    numbers = (values.start, values.step, *values[-1:])
    if not np.iinfo(dtype).min <= min(numbers) <= max(numbers) <= np.iinfo(dtype).max:
        # cuDF has an option for int32 labels, and would change labels that do not fit.
        dtype = np.dtype("int64")
    enable_host_frames()
    column = convert.sequence(values, dtype, stream)
    copied = [(column.data().ptr, len(index) * dtype.itemsize, _NO_RANGES)] if len(index) else []
    # Not spillable: cuDF spills on its own stream, which does not wait for that of the sequence.
    column = rebuild_all(column, lambda span: OwningSpan(span.ptr, span.size, span))
    return [make_column(column, dtype)], copied


def level_labels(names: Sequence[Hashable]) -> pd.Index:
    """Return labels for the levels of a MultiIndex: names if unique, otherwise numbers.

    The number is the position of the level, or the next number that no other label uses.
    """
    unique = {name for name in unique_positions(names) if name is not None}
    taken = set(map(stringify, unique))
    labels: list[Hashable] = []
    for position, name in enumerate(names):
        if name not in unique:
            name = next(number for number in count(position) if str(number) not in taken)
            taken.add(str(name))
        labels.append(name)
    return pd.Index(labels, tupleize_cols=False)
