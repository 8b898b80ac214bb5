# SPDX-License-Identifier: Apache-2.0
"""Columns, and what an Arrow schema says of them, together again as cuDF's frames and series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cudf
import pyarrow as pa
import pylibcudf as plc

from ..cuda.residency import place_of
from .cudf_private import ColumnBase, make_frame, make_index, make_series
from .incoming import incoming
from .layout import Index, decode_field, decode_schema

__all__ = ["assemble_frame", "assemble_series", "frame_assembler", "series_assembler"]


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
