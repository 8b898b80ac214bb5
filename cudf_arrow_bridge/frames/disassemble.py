# SPDX-License-Identifier: Apache-2.0
"""Export of cuDF frames, series and indexes as columns and a schema spec."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import cudf
import numpy as np
import pylibcudf as plc

from .._core.export.array_exporter import ExportInput
from .._core.export.shared_columns import BufferSharer, share_columns
from .._core.import_.columns import OwningSpan, rebuild_all
from .._core.schema import SchemaSpec, cached_spec
from ..arrow.errors import CopyRefusedError, copy_error
from ..arrow.metadata import ColumnMetadata
from ..arrow.schemas import unique_positions
from ..cuda.residency import ComputeLocation, compute_location
from . import convert, pandas_metadata
from . import unproxied_pandas as pd
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
from .layout import FrameLayout, ObjectType, encode_field, table_names
from .schema_cache import SharedColumns, cache_frame_spec, schema_key
from .to_pylibcudf import column_to_pylibcudf

if TYPE_CHECKING:
    from .._core.export.array_exporter import MadeMemory

_MULTI_INDEXES = (cudf.MultiIndex, pd.MultiIndex)

_NO_RANGES = "Arrow has no ranges: the range index is written out"


def disassemble(
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
    if isinstance(obj, cudf.DataFrame):
        return _disassemble_table(
            "frame",
            columns_of(obj),
            obj.columns,
            obj.index,
            obj.attrs,
            preserve_index,
            stream,
            copy,
            sharer,
        )
    if isinstance(obj, cudf.Series):
        index = obj.index
        if preserve_index:
            labels = pd.Index([obj.name], dtype=object, tupleize_cols=False)
            return _disassemble_table(
                "series", columns_of(obj), labels, index, obj.attrs, True, stream, copy, sharer
            )
        (column,) = columns_of(obj)
        keep = preserve_index is None and isinstance(index, cudf.RangeIndex)
        return _disassemble_column("series", column, obj.name, index if keep else None, sharer)
    if isinstance(obj, cudf.MultiIndex):
        labels, index = level_labels(obj.names), cudf.RangeIndex(len(obj))
        return _disassemble_table(
            "index", columns_of(obj), labels, index, {}, None, stream, copy, sharer
        )
    if isinstance(obj, cudf.RangeIndex):
        column, made = _write_out(obj, compute_location(stream=stream), copy)
        return _disassemble_column("index", column, obj.name, None, sharer, made)
    if isinstance(obj, cudf.Index):
        (column,) = columns_of(obj)
        return _disassemble_column("index", column, obj.name, None, sharer)
    raise TypeError(f"expected a cuDF DataFrame, Series or Index, got {type(obj).__name__}")


def describe(
    obj: cudf.DataFrame | cudf.Series | cudf.Index, preserve_index: bool | None = None
) -> ExportInput | None:
    """Return the schema spec of an export, with columns that have no memory.

    Spilled memory stays spilled. Return None if a RangeIndex has to be converted to a column.
    """
    if isinstance(obj, cudf.RangeIndex):
        return None
    if preserve_index and isinstance(getattr(obj, "index", None), cudf.RangeIndex):
        return None
    return disassemble(obj, preserve_index, sharer=buffer_describer())


def first_buffer(obj: cudf.DataFrame | cudf.Series | cudf.Index) -> Any:
    """Share the first buffer of an object, for its address. Other buffers stay spilled.

    Return None for a RangeIndex, and for an object without memory.
    """
    if isinstance(obj, cudf.RangeIndex):
        return None
    buffer = next(_buffers(column.plc_column for column in columns_of(obj)), None)
    return None if buffer is None else buffer_sharer()(buffer)


def _buffers(columns: Iterable[plc.Column]) -> Iterator[Any]:
    for column in columns:
        for buffer in (column.data(), column.null_mask()):
            if buffer is not None and buffer.size:
                yield buffer
        yield from _buffers(column.children())


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
    shared = share_columns([column], sharer)
    key = schema_key(object_type, None, names, rows, shared)
    spec = cached_spec(key)
    columns = shared[0]
    if spec is None:
        name = "" if label is None else stringify(label)
        objects: list[Any] = []
        columns, (field,) = _convert(shared, [name], sharer)
        hint = dtype_hint(column.dtype)
        metadata = encode_field(object_type, name, label, hint, row_index, objects)
        field = replace(field, metadata={**field.metadata, **metadata})
        spec = SchemaSpec([field], {}, tuple(objects))
        cache_frame_spec(key, spec, shared)
    return ExportInput("column", columns, column.size, spec, made)


def _disassemble_table(
    object_type: ObjectType,
    columns: Sequence[ColumnBase],
    labels: pd.Index,
    index: cudf.Index,
    attrs: dict[Any, Any],
    preserve_index: bool | None,
    stream: Any,
    copy: bool | None,
    sharer: BufferSharer,
) -> ExportInput:
    """Return columns and a row index as a table."""
    rows = None
    levels: Sequence[ColumnBase] = ()
    made: Sequence[MadeMemory] = ()
    kept = () if preserve_index is False else (index,)
    if preserve_index is None and isinstance(index, cudf.RangeIndex):
        rows = range_of(index)
    elif kept:
        levels, made = _index_columns(index, columns, sharer, stream, copy)
    shared = share_columns([*columns, *levels], sharer)
    exported = shared[0]
    key = None
    texts = tuple(pandas_metadata.schema_metadata(attrs).items()) if attrs else ()
    # Other attrs can be any objects, which may not be comparable.
    if len(texts) == len(attrs):
        key = schema_key(object_type, labels, _names_of(labels, *kept), rows, shared, texts)
    spec = cached_spec(key)
    if spec is None:
        exported, spec = _convert_table(
            object_type, labels, attrs, shared, _names_of(*kept), rows, sharer
        )
        cache_frame_spec(key, spec, shared)
    return ExportInput("table", exported, len(index), spec, made)


def _convert_table(
    object_type: ObjectType,
    labels: pd.Index,
    attrs: dict[Any, Any],
    shared: SharedColumns,
    index_names: list[Hashable],
    rows: range | None,
    sharer: BufferSharer,
) -> tuple[list[plc.Column], SchemaSpec]:
    """Return the columns of a table and its index levels, and their schema spec.

    Without a row index there are no `index_names`.
    """
    _, dtypes, _, _ = shared
    names, shown_names = table_names(labels, index_names, rows)
    row_index = None
    if index_names:
        row_index = RowIndex(index_names, rows, list(range(len(labels), len(dtypes))))
    columns, fields = _convert(shared, names, sharer)
    entries = [
        pandas_metadata.column_entry(shown_name, name, dtype, field.timezone)
        for shown_name, name, dtype, field in zip(shown_names, names, dtypes, fields, strict=True)
    ]
    hints = [dtype_hint(dtype) for dtype in dtypes]
    objects: list[Any] = []
    layout = FrameLayout(object_type, labels, hints, row_index, attrs)
    metadata = layout.schema_metadata(names, entries, objects)
    return columns, SchemaSpec(fields, metadata, tuple(objects))


def _convert(
    shared: SharedColumns, names: Sequence[str], sharer: BufferSharer
) -> tuple[list[plc.Column], list[ColumnMetadata]]:
    """Return shared columns as they are exported, and their metadata."""
    columns, dtypes, _, fields = shared
    converted = [
        column_to_pylibcudf(column, dtype, name, sharer, fields.get(position))
        for position, (column, dtype, name) in enumerate(zip(columns, dtypes, names, strict=True))
    ]
    return [column for column, _ in converted], [metadata for _, metadata in converted]


def _index_columns(
    index: cudf.Index,
    columns: Sequence[ColumnBase],
    sharer: BufferSharer,
    stream: Any,
    copy: bool | None,
) -> tuple[Sequence[ColumnBase], Sequence[MadeMemory]]:
    """Return the levels of a row index as columns, and the memory allocated for them."""
    if not isinstance(index, cudf.RangeIndex):
        return columns_of(index), ()
    # Allocate in the same memory as the columns. Reading addresses requires the spill lock.
    locked, *_ = share_columns(columns, sharer)
    column, made = _write_out(index, compute_location(*locked, stream=stream), copy)
    return [column], made


def _write_out(
    index: cudf.RangeIndex, location: ComputeLocation, copy: bool | None
) -> tuple[ColumnBase, list[MadeMemory]]:
    """Return a range index as a column, and the memory allocated for it."""
    if copy is False and len(index):
        raise copy_error(
            [CopyRefusedError("" if index.name is None else stringify(index.name), _NO_RANGES)]
        )
    values, dtype = range_of(index), index.dtype
    numbers = (values.start, values.step, *values[-1:])
    if not np.iinfo(dtype).min <= min(numbers) <= max(numbers) <= np.iinfo(dtype).max:
        # cuDF has an option for int32 labels, and would change labels that do not fit.
        dtype = np.dtype("int64")
    enable_host_frames()
    column = convert.sequence(values, dtype, location)
    made = [(column.data().ptr, len(index) * dtype.itemsize, _NO_RANGES)] if len(index) else []
    # Not spillable: cuDF spills on its own stream, which does not wait for that of the sequence.
    column = rebuild_all(column, lambda span: OwningSpan(span.ptr, span.size, span))
    return make_column(column, dtype), made


def _names_of(*indexes: cudf.Index | pd.Index) -> list[Hashable]:
    names: list[Hashable] = []
    for index in indexes:
        # For a single name, both libraries return a pandas FrozenList, which is slower.
        names += index.names if isinstance(index, _MULTI_INDEXES) else (index.name,)
    return names


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
