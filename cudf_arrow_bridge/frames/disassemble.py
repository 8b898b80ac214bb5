# SPDX-License-Identifier: Apache-2.0
"""cuDF frames, series and indexes as the columns and the schema spec of an export."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import cudf
import pylibcudf as plc

from .._core.columns import rebuild_all
from .._core.export import ExportInput
from .._core.schema import SchemaSpec
from .._core.shared_columns import BufferSharer, share_columns
from ..arrow.copies import CopyRefusedError, refusal
from ..arrow.metadata import BRIDGE_KEY, PANDAS_KEY, ColumnMetadata
from ..cuda.residency import ComputeLocation, compute_location
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
from .imported_fields import imported_field
from .labels import index_level_name, stringify
from .layout import FrameLayout, ObjectType, RowIndex, encode_field
from .schema_cache import UNCACHED, SchemaKey, cache_spec, cached_spec
from .to_pylibcudf import ShareBuffer, column_to_pylibcudf

if TYPE_CHECKING:
    from .._core.export import MadeMemory

__all__ = ["describe", "disassemble", "level_labels"]

_MULTI_INDEXES = (cudf.MultiIndex, pd.MultiIndex)

_NO_RANGES = "Arrow has no ranges: the range index is written out"
_INDEX_BYTES = 8


@dataclass(slots=True)
class _Frame:
    """What becomes a table: the columns of a frame, series or MultiIndex.

    Attributes
    ----------
    object_type
        What it is.
    columns
        Its columns, without those of the row index.
    labels
        Their labels.
    index
        The index of its rows.
    attrs
        Its ``attrs``.
    """

    object_type: ObjectType
    columns: Sequence[ColumnBase]
    labels: pd.Index
    index: cudf.Index
    attrs: dict[Any, Any]


def disassemble(
    obj: cudf.DataFrame | cudf.Series | cudf.Index,
    preserve_index: bool | None = None,
    stream: Any = None,
    copy: bool | None = None,
    sharer: BufferSharer | None = None,
) -> ExportInput:
    """Return the columns of a cuDF object, without copying data, and their schema spec.

    Parameters
    ----------
    obj
        A frame becomes a table: its columns, then the levels of its index. A series or an index
        becomes an array, a MultiIndex a table of its levels.
    preserve_index
        What becomes of the index of a frame or series. None: a RangeIndex goes into the metadata,
        any other becomes columns of the table, or is dropped where a series becomes an array.
        True: always columns, for which a series becomes a table. False: dropped.
    stream
        The CUDA stream on which a column is made of a RangeIndex, as pylibcudf takes it.
    copy
        False: a RangeIndex that becomes a column is an error.
    sharer
        Shares their buffers; None for that of an export.

    Raises
    ------
    TypeError
        If the object is none of these.
    ValueError
        If a RangeIndex becomes a column, which `copy` forbids.
    """
    if sharer is None:
        sharer = buffer_sharer()
    if isinstance(obj, cudf.DataFrame):
        frame = _Frame("frame", columns_of(obj), obj.columns, obj.index, obj.attrs)
        return _disassemble_frame(frame, preserve_index, stream, copy, sharer)
    if isinstance(obj, cudf.Series):
        (column,) = columns_of(obj)
        if preserve_index:
            labels = pd.Index([obj.name], dtype=object, tupleize_cols=False)
            frame = _Frame("series", [column], labels, obj.index, obj.attrs)
            return _disassemble_frame(frame, True, stream, copy, sharer)
        keep = preserve_index is None and isinstance(obj.index, cudf.RangeIndex)
        return _disassemble_column("series", column, obj.name, obj.index if keep else None, sharer)
    if isinstance(obj, cudf.MultiIndex):
        labels = level_labels(obj.names)
        frame = _Frame("index", columns_of(obj), labels, cudf.RangeIndex(len(obj)), {})
        return _disassemble_frame(frame, None, stream, copy, sharer)
    if isinstance(obj, cudf.RangeIndex):
        column, made = _write_out(obj, compute_location(stream=stream), copy)
        return _disassemble_column("index", column, obj.name, None, sharer, made)
    if isinstance(obj, cudf.Index):
        (column,) = columns_of(obj)
        return _disassemble_column("index", column, obj.name, None, sharer)
    raise TypeError(f"expected a cuDF DataFrame, Series or Index, found {type(obj).__name__}")


def describe(
    obj: cudf.DataFrame | cudf.Series | cudf.Index, preserve_index: bool | None = None
) -> ExportInput | None:
    """Return what `disassemble` does, for its schema alone: the columns have no memory.

    Nothing is brought back that was spilled. None where a column has to be made of a RangeIndex.
    """
    if isinstance(obj, cudf.RangeIndex):
        return None
    if preserve_index and isinstance(getattr(obj, "index", None), cudf.RangeIndex):
        return None
    return disassemble(obj, preserve_index, sharer=buffer_describer())


def _disassemble_column(
    object_type: ObjectType,
    column: ColumnBase,
    label: Hashable,
    index: cudf.RangeIndex | None,
    sharer: BufferSharer,
    made: Sequence[MadeMemory] = (),
) -> ExportInput:
    row_index = None
    names = [label]
    rows = None
    if index is not None and not (index.name is None and range_of(index) == range(column.size)):
        rows = range_of(index)
        row_index = RowIndex([index.name], rows)
        names.append(index.name)

    def convert(share_buffer: ShareBuffer) -> tuple[list[plc.Column], SchemaSpec]:
        return _convert_column(object_type, column, label, row_index, share_buffer)

    converted, spec = _share(object_type, [column], None, names, rows, sharer, convert)
    return ExportInput("column", converted, column.size, spec, made)


def _convert_column(
    object_type: ObjectType,
    column: ColumnBase,
    label: Hashable,
    row_index: RowIndex | None,
    share_buffer: ShareBuffer,
) -> tuple[list[plc.Column], SchemaSpec]:
    """Return the column of a series or index, and its schema spec."""
    name = "" if label is None else stringify(label)
    objects: list[Any] = []
    converted, field = _convert(column, name, share_buffer)
    metadata = encode_field(object_type, name, label, dtype_hint(column.dtype), row_index, objects)
    field = replace(field, metadata={**field.metadata, **metadata})
    return [converted], SchemaSpec([field], {}, tuple(objects))


def _disassemble_frame(
    frame: _Frame,
    preserve_index: bool | None,
    stream: Any,
    copy: bool | None,
    sharer: BufferSharer,
) -> ExportInput:
    index = frame.index
    rows = None
    levels: Sequence[ColumnBase] = ()
    made: Sequence[MadeMemory] = ()
    columns = frame.columns
    index_names: list[Hashable] | None = None
    if preserve_index is not False:
        index_names = _names_of(index)
        if preserve_index is None and isinstance(index, cudf.RangeIndex):
            rows = range_of(index)
        else:
            levels, made = _index_columns(frame, sharer, stream, copy)
            columns = [*columns, *levels]

    def convert(share_buffer: ShareBuffer) -> tuple[list[plc.Column], SchemaSpec]:
        row_index = None
        if index_names is not None:
            positions = range(len(frame.columns), len(columns))
            row_index = RowIndex(index_names, rows, list(positions))
        return _convert_frame(frame, row_index, levels, share_buffer)

    texts = tuple(pandas_metadata.schema_metadata(frame.attrs).items())
    if len(texts) < len(frame.attrs):
        # The others can hold anything and need not be comparable.
        converted, spec = convert(sharer)
    else:
        names = [*_names_of(frame.labels), *(index_names or ())]
        converted, spec = _share(
            frame.object_type, columns, frame.labels, names, rows, sharer, convert, texts
        )
    return ExportInput("table", converted, len(index), spec, made)


def _share(
    object_type: ObjectType,
    columns: Sequence[ColumnBase],
    labels: pd.Index | None,
    names: list[Hashable],
    rows: range | None,
    sharer: BufferSharer,
    convert: Callable[[ShareBuffer], tuple[list[plc.Column], SchemaSpec]],
    texts: Hashable = (),
) -> tuple[list[plc.Column], SchemaSpec]:
    """Return the columns of an object and their schema spec, that of an object alike if possible.

    Parameters
    ----------
    object_type, columns, labels, names, rows
        What the spec depends on; see `SchemaKey.of`.
    sharer
        Shares their buffers.
    convert
        Returns the same, but always with a new spec.
    texts
        The ``attrs`` of a frame, if all are text.
    """
    shared = share_columns(columns, sharer, UNCACHED)
    if shared is None:
        return convert(sharer)
    converted, dtypes, types, fields = shared
    key = SchemaKey.of(object_type, labels, names, rows, columns, dtypes, types, fields, texts)
    if key is None:
        return convert(sharer)
    spec = cached_spec(key)
    if spec is None:
        converted, spec = convert(sharer)
        if not spec.labels:
            cache_spec(key, spec)
    return converted, spec


def _convert_frame(
    frame: _Frame,
    row_index: RowIndex | None,
    levels: Sequence[ColumnBase],
    share_buffer: ShareBuffer,
) -> tuple[list[plc.Column], SchemaSpec]:
    """Return the columns of a frame and of the levels of its index, and their schema spec."""
    names = [stringify(label) for label in frame.labels]
    entries = [
        _column_entry(label, name, column)
        for label, name, column in zip(
            pandas_metadata.column_names(frame.labels), names, frame.columns, strict=True
        )
    ]
    index_columns: list[Any] = []
    if row_index is not None and row_index.range is not None:
        index_columns = [pandas_metadata.range_entry(row_index.range, row_index.names[0])]
    elif row_index is not None:
        for position, (label, level) in enumerate(zip(row_index.names, levels, strict=True)):
            name = index_level_name(label, position, names)
            index_columns.append(name)
            names.append(name)
            entries.append(_column_entry(None if label is None else stringify(label), name, level))
    columns = [*frame.columns, *levels]
    converted = [
        _convert(column, name, share_buffer) for column, name in zip(columns, names, strict=True)
    ]
    hints = [dtype_hint(column.dtype) for column in columns]
    objects: list[Any] = []
    layout = FrameLayout(
        frame.object_type, list(range(len(frame.columns))), frame.labels, hints, row_index
    )
    metadata = {
        **pandas_metadata.schema_metadata(frame.attrs),
        PANDAS_KEY: pandas_metadata.encode(frame.labels, entries, index_columns, frame.attrs),
        BRIDGE_KEY: layout.encode(names, objects),
    }
    spec = SchemaSpec([field for _, field in converted], metadata, tuple(objects))
    return [column for column, _ in converted], spec


def _convert(
    column: ColumnBase, name: str, share_buffer: ShareBuffer
) -> tuple[plc.Column, ColumnMetadata]:
    return column_to_pylibcudf(
        column.plc_column, column.dtype, name, share_buffer, imported_field(column)
    )


def _column_entry(name: Any, field: str, column: ColumnBase) -> dict[str, Any]:
    return pandas_metadata.column_entry(name, field, *pandas_metadata.pandas_type(column.dtype))


def _index_columns(
    frame: _Frame, share_buffer: ShareBuffer, stream: Any, copy: bool | None
) -> tuple[Sequence[ColumnBase], Sequence[MadeMemory]]:
    """Return the levels of a frame's index as columns, and what memory was made for them."""
    if isinstance(frame.index, cudf.RangeIndex):
        # Made where the columns are. Their addresses may be read only under the spill lock.
        locked = [rebuild_all(column.plc_column, share_buffer) for column in frame.columns]
        column, made = _write_out(frame.index, compute_location(*locked, stream=stream), copy)
        return [column], made
    return list(columns_of(frame.index)), ()


def _write_out(
    index: cudf.RangeIndex, location: ComputeLocation, copy: bool | None
) -> tuple[ColumnBase, list[MadeMemory]]:
    """Return a range index as a column, and what memory was made for it."""
    if len(index) == 0:
        return make_column(convert.sequence(range_of(index), location), index.dtype), []
    if copy is False:
        raise refusal(
            [CopyRefusedError("" if index.name is None else stringify(index.name), _NO_RANGES)]
        )
    column = convert.sequence(range_of(index), location)
    made = (column.data().ptr, len(index) * _INDEX_BYTES, _NO_RANGES)
    return make_column(column, index.dtype), [made]


def _names_of(index: cudf.Index | pd.Index) -> list[Hashable]:
    # Of a single name, both libraries would make a list of pandas' own, which takes longer.
    if isinstance(index, _MULTI_INDEXES):
        return list(index.names)
    return [index.name]


def level_labels(names: Sequence[Hashable]) -> pd.Index:
    """Label the levels of a MultiIndex by name, or by a number if they have no unique name.

    The number is their position, unless something else has that as its name.
    """
    is_unique = [name is not None and names.count(name) == 1 for name in names]
    taken = {stringify(name) for name, unique in zip(names, is_unique, strict=True) if unique}
    labels: list[Hashable] = []
    for position, (name, unique) in enumerate(zip(names, is_unique, strict=True)):
        label = name
        if not unique:
            label = next(number for number in count(position) if str(number) not in taken)
            taken.add(str(label))
        labels.append(label)
    return pd.Index(labels, tupleize_cols=False)
