# SPDX-License-Identifier: Apache-2.0
"""cuDF's frames, series and indexes, taken apart into columns and what is said of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import cudf
import pandas as pd
import pylibcudf as plc

from .._core.columns import rebuild_all
from ..arrow.metadata import BRIDGE_KEY, PANDAS_KEY, ColumnMetadata
from ..arrow.parts import Description, Parts
from ..cuda.residency import Place, place_of
from . import convert, pandas_metadata
from .cudf_private import ColumnBase, columns_of, make_column, sharer
from .dtypes import hint
from .labels import index_level_name, stringify
from .layout import Index, Kind, Layout, encode_field
from .origins import recall
from .outgoing import Share, outgoing
from .shapes import Shape, described, remember

__all__ = ["disassemble"]


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
    return pandas_metadata.column_entry(name, field, *pandas_metadata.pandas_type(column.dtype))


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
