# SPDX-License-Identifier: Apache-2.0
"""cuDF's frames, series and indexes: apart into pylibcudf columns, and together again.

Nothing here knows about capsules or memory: columns in, columns out, and the metadata that makes
them a frame again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cudf
import pandas as pd
import pylibcudf as plc

from .._core.columns import rebuild_all
from ..arrow.metadata import BRIDGE_KEY, PANDAS_KEY, ColumnMetadata
from ..arrow.parts import Description, Parts
from ..cuda.residency import Place, place_of
from . import convert, pandas_metadata
from .cudf_private import (
    columns_of,
    make_column,
    make_frame,
    make_index,
    make_series,
    sharer,
)
from .dtypes import hint
from .incoming import incoming
from .labels import index_level_name, stringify
from .layout import Index, Kind, Layout, decode_field, decode_schema, encode_field
from .origins import recall
from .outgoing import Share, outgoing
from .pandas_types import pandas_type
from .shapes import Shape, described, remember

if TYPE_CHECKING:
    import pyarrow as pa
    from cudf.core.column import ColumnBase

__all__ = [
    "assemble_frame",
    "assemble_series",
    "disassemble",
    "frame_assembler",
    "series_assembler",
]


def disassemble(
    obj: cudf.DataFrame | cudf.Series | cudf.Index,
    preserve_index: bool | None = None,
    stream: Any = None,
) -> Parts:
    """Take a cuDF object apart, without copying its data.

    Parameters
    ----------
    obj
        A frame becomes a table: its columns, then the levels of its index. A series becomes an
        array, an index too; a MultiIndex becomes a table of its levels.
    preserve_index
        What becomes of the index of a frame or series. None: a RangeIndex goes into the metadata,
        any other becomes columns of the table, or is dropped where a series becomes an array.
        True: always columns, for which a series becomes a table. False: dropped.
    stream
        Where an index that is made for the occasion is made, as pylibcudf takes streams.

    Raises
    ------
    TypeError
        If the object is none of these.
    """
    if isinstance(obj, cudf.DataFrame):
        return _table(
            "frame", columns_of(obj), obj.columns, obj.index, preserve_index, obj.attrs, stream
        )
    if isinstance(obj, cudf.Series):
        (column,) = columns_of(obj)
        if preserve_index:
            labels = pd.Index([obj.name], dtype=object, tupleize_cols=False)
            return _table("series", [column], labels, obj.index, True, obj.attrs, stream)
        keep = preserve_index is None and isinstance(obj.index, cudf.RangeIndex)
        rows = Index([obj.index.name], range=_range(obj.index)) if keep else None
        return _array("series", column, obj.name, rows)
    if isinstance(obj, cudf.MultiIndex):
        labels = _level_labels(obj.names)
        rows = cudf.RangeIndex(len(obj))
        return _table("index", columns_of(obj), labels, rows, None, {}, stream)
    if isinstance(obj, cudf.RangeIndex):
        return _array("index", _sequence(obj, place_of(stream=stream)), obj.name, None)
    if isinstance(obj, cudf.Index):
        (column,) = columns_of(obj)
        return _array("index", column, obj.name, None)
    raise TypeError(f"expected a cuDF DataFrame, Series or Index, found {type(obj).__name__}")


def _array(kind: Kind, column: ColumnBase, label: Hashable, rows: Index | None) -> Parts:
    name = "" if label is None else stringify(label)
    objects: list[Any] = []
    made, field = _outgoing(column, name, sharer())
    if rows is not None and rows.names == [None] and rows.range == range(column.size):
        rows = None
    ours = encode_field(kind, name, label, hint(column.dtype), rows, objects)
    field = replace(field, metadata={**field.metadata, **ours})
    description = Description([field], {}, tuple(objects))
    return Parts("column", [made], column.size, description, (made,))


def _table(
    kind: Kind,
    columns: Sequence[ColumnBase],
    labels: pd.Index,
    index: cudf.Index,
    preserve_index: bool | None,
    attrs: dict[Any, Any],
    stream: Any,
) -> Parts:
    share = sharer()
    rows: Index | None = None
    levels: list[ColumnBase] = []
    if isinstance(index, cudf.RangeIndex) and preserve_index is None:
        rows = Index([index.name], range=_range(index))
    elif preserve_index is not False:
        levels = _levels(index, columns, share, stream)
        first = len(columns)
        rows = Index(list(index.names), levels=list(range(first, first + len(levels))))
    together = [*columns, *levels]
    shape = None if attrs else Shape.of(kind, labels, rows, together)
    known = None if shape is None else described(shape)
    if known is not None:
        made = [rebuild_all(column.plc_column, share) for column in together]
    else:
        made, known = _describe(kind, labels, rows, columns, levels, attrs, share)
        if shape is not None and not known.labels:
            remember(shape, known)
    return Parts("table", made, len(index), known, tuple(made))


def _describe(
    kind: Kind,
    labels: pd.Index,
    rows: Index | None,
    columns: Sequence[ColumnBase],
    levels: Sequence[ColumnBase],
    attrs: dict[Any, Any],
    share: Share,
) -> tuple[list[plc.Column], Description]:
    """Return columns and the levels of their index as Arrow sees them, and what describes them."""
    names = [stringify(label) for label in labels]
    entries = [
        _entry(label, name, column)
        for label, name, column in zip(
            pandas_metadata.column_names(labels), names, columns, strict=True
        )
    ]
    index: list[Any] = []
    if rows is not None and rows.range is not None:
        index = [pandas_metadata.range_entry(rows.range, rows.names[0])]
    elif rows is not None:
        for position, (label, level) in enumerate(zip(rows.names, levels, strict=True)):
            name = index_level_name(label, position, names)
            index.append(name)
            names.append(name)
            entries.append(_entry(None if label is None else stringify(label), name, level))
    together = [*columns, *levels]
    pairs = [_outgoing(*named, share) for named in zip(together, names, strict=True)]
    hints = [hint(column.dtype) for column in together]
    objects: list[Any] = []
    layout = Layout(kind, list(range(len(columns))), labels, hints, rows)
    metadata = {
        PANDAS_KEY: pandas_metadata.encode(labels, entries, index, attrs),
        BRIDGE_KEY: layout.encode(names, objects),
    }
    fields = [field for _, field in pairs]
    return [column for column, _ in pairs], Description(fields, metadata, tuple(objects))


def _outgoing(column: ColumnBase, name: str, share: Share) -> tuple[plc.Column, ColumnMetadata]:
    return outgoing(column.plc_column, column.dtype, name, share, recall(column))


def _entry(name: Any, field: str, column: ColumnBase) -> dict[str, Any]:
    return pandas_metadata.column_entry(name, field, *pandas_type(column.dtype))


def _levels(
    index: cudf.Index, columns: Sequence[ColumnBase], share: Share, stream: Any
) -> list[ColumnBase]:
    if isinstance(index, cudf.RangeIndex):
        # The address that tells where a column is must not be had without a lock.
        held = [rebuild_all(column.plc_column, share) for column in columns]
        place = place_of(*held, stream=stream)
        return [_sequence(index, place)]
    return list(columns_of(index))


def _sequence(index: cudf.RangeIndex, place: Place) -> ColumnBase:
    return make_column(convert.sequence(_range(index), place), index.dtype)


def _range(index: cudf.RangeIndex) -> range:
    return range(index.start, index.stop, index.step)


def _level_labels(names: Sequence[Hashable]) -> pd.Index:
    """Label the levels of a MultiIndex by name, or by position where that isn't theirs alone."""
    labels = [
        position if name is None or names.count(name) > 1 else name
        for position, name in enumerate(names)
    ]
    return pd.Index(labels, tupleize_cols=False)


def assemble_frame(
    columns: Sequence[plc.Column],
    schema: pa.Schema,
    num_rows: int,
    labels: Sequence[Any] | None = None,
    stream: Any = None,
) -> cudf.DataFrame | cudf.Series:
    """Make a frame of the columns of one record batch; see `frame_assembler`."""
    return frame_assembler(schema, labels, stream)(columns, num_rows, None)


def assemble_series(
    column: plc.Column,
    field: pa.Field,
    labels: Sequence[Any] | None = None,
    stream: Any = None,
) -> cudf.Series:
    """Make a series of one array; see `series_assembler`."""
    return series_assembler(field, labels, stream)([column], column.size(), None)


def frame_assembler(
    schema: pa.Schema, labels: Sequence[Any] | None = None, stream: Any = None
) -> Callable[[Sequence[plc.Column], int, int | None], cudf.DataFrame | cudf.Series]:
    """Return a function that makes frames of the columns of record batches.

    It takes the columns, one for each field, the number of rows and, for a batch of a stream, its
    first row, by which its part of a range index is found. The result is a series if that is what
    was exported with its index.

    Parameters
    ----------
    schema
        The schema they come with. Its metadata says what is the index, what the labels are, and
        which dtypes the Arrow types alone don't tell; what no longer fits the fields is ignored.
    labels
        The labels of :class:`Description`, where the array still had them.
    stream
        Where conversions run, as pylibcudf takes streams.

    Raises
    ------
    TypeError
        When called, if no cuDF frame can hold a column, or two columns have the same label.
    """
    layout = decode_schema(schema, labels or ())

    def assemble(
        columns: Sequence[plc.Column], num_rows: int, first_row: int | None
    ) -> cudf.DataFrame | cudf.Series:
        place = place_of(*columns, stream=stream)
        made = [
            incoming(column, field, form, place)
            for column, field, form in zip(columns, schema, layout.hints, strict=True)
        ]
        index = _rows(layout.index, made, num_rows, first_row)
        data = [made[position] for position in layout.columns]
        if layout.kind == "series" and len(data) == 1:
            series = make_series(data[0], layout.labels[0], index)
            series.attrs = layout.attrs
            return series
        try:
            return make_frame(data, layout.labels, index, layout.attrs)
        except ValueError as error:
            twice = layout.labels[layout.labels.duplicated()].tolist()
            raise TypeError(
                f"{twice}: found several columns of this name, expected one of each in a cuDF "
                'frame; import with to="pylibcudf" instead'
            ) from error

    return assemble


def series_assembler(
    field: pa.Field, labels: Sequence[Any] | None = None, stream: Any = None
) -> Callable[[Sequence[plc.Column], int, int | None], cudf.Series]:
    """Return a function that makes series of arrays, likewise of a list of the one column.

    Parameters
    ----------
    field
        The field they come with, whose name becomes the series' unless its metadata knows better.
    labels, stream
        As for `frame_assembler`.

    Raises
    ------
    TypeError
        When called, if no cuDF series can hold the column.
    """
    name, form, rows = decode_field(field, labels or ())

    def assemble(
        columns: Sequence[plc.Column], num_rows: int, first_row: int | None
    ) -> cudf.Series:
        (column,) = columns
        made = incoming(column, field, form, place_of(column, stream=stream))
        return make_series(made, name, _rows(rows, [made], made.size, first_row))

    return assemble


def _rows(
    rows: Index | None, columns: Sequence[ColumnBase], size: int, first_row: int | None
) -> cudf.Index:
    if rows is None:
        return cudf.RangeIndex(size)
    if rows.range is None:
        return make_index([columns[position] for position in rows.levels], rows.names)
    span = rows.range
    if first_row is not None:
        # A batch of a stream. Where there are more rows than the metadata knew of, it goes on.
        start = span.start + first_row * span.step
        span = range(start, start + size * span.step, span.step)
    if len(span) != size:
        # Rows were added or taken away by someone who left the metadata alone.
        return cudf.RangeIndex(size)
    return cudf.RangeIndex(span.start, span.stop, span.step, name=rows.names[0])
