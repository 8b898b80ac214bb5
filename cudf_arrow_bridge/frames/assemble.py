# SPDX-License-Identifier: Apache-2.0
"""cuDF frames and series made from columns and their Arrow schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cudf
import pyarrow as pa
import pylibcudf as plc

from ..cuda.residency import compute_location
from .cudf_private import ColumnBase, make_frame, make_index, make_series
from .from_pylibcudf import column_from_pylibcudf
from .layout import RowIndex, decode_field, decode_schema

__all__ = ["assemble_frame", "assemble_series", "frame_assembler", "series_assembler"]


def assemble_frame(
    columns: Sequence[plc.Column],
    schema: pa.Schema,
    num_rows: int,
    labels: Sequence[Any] | None = None,
    stream: Any = None,
) -> cudf.DataFrame | cudf.Series:
    """Make a frame from the columns of one record batch.

    Parameters
    ----------
    columns
        The columns, one for each field.
    schema, labels, stream
        See `frame_assembler`.
    num_rows
        The number of rows.
    """
    return frame_assembler(schema, labels, stream)(columns, num_rows, None)


def assemble_series(
    column: plc.Column,
    field: pa.Field,
    labels: Sequence[Any] | None = None,
    stream: Any = None,
) -> cudf.Series:
    """Make a series from one array.

    Parameters
    ----------
    column
        The column.
    field, labels, stream
        See `series_assembler`.
    """
    return series_assembler(field, labels, stream)([column], column.size(), None)


def frame_assembler(
    schema: pa.Schema, labels: Sequence[Any] | None = None, stream: Any = None
) -> Callable[[Sequence[plc.Column], int, int | None], cudf.DataFrame | cudf.Series]:
    """Return a function that makes a frame from the columns of a record batch.

    The function takes the columns, one for each field, the number of rows and, for a batch of a
    stream, the number of rows before it: where its part of a range index begins. It returns a
    series if the schema says that a series was exported with its index.

    Parameters
    ----------
    schema
        The schema of the batches. Its metadata says what the index and the labels are, and the
        dtypes that do not follow from the Arrow types; what does not fit the fields is ignored.
    labels
        The labels without a JSON form; see `SchemaSpec`.
    stream
        The stream of conversions, as pylibcudf takes it.

    Raises
    ------
    TypeError
        When called, if no cuDF frame can hold a column, or two columns have the same label.
    """
    layout = decode_schema(schema, labels or ())

    def assemble(
        columns: Sequence[plc.Column], num_rows: int, first_row: int | None
    ) -> cudf.DataFrame | cudf.Series:
        location = compute_location(*columns, stream=stream)
        converted = [
            column_from_pylibcudf(column, field, hint, location)
            for column, field, hint in zip(columns, schema, layout.hints, strict=True)
        ]
        index = _make_index(layout.row_index, converted, num_rows, first_row)
        data = [converted[position] for position in layout.columns]
        if layout.object_type == "series" and len(data) == 1:
            series = make_series(data[0], layout.labels[0], index)
            series.attrs = layout.attrs
            return series
        try:
            return make_frame(data, layout.labels, index, layout.attrs)
        except ValueError as error:
            duplicates = layout.labels[layout.labels.duplicated()].tolist()
            raise TypeError(
                f"{duplicates}: found several columns of this name, expected one of each in a cuDF "
                'frame; import with to="pylibcudf" instead'
            ) from error

    return assemble


def series_assembler(
    field: pa.Field, labels: Sequence[Any] | None = None, stream: Any = None
) -> Callable[[Sequence[plc.Column], int, int | None], cudf.Series]:
    """Return a function that makes a series from an array.

    The function takes a list of the one column, the number of rows and, for a batch of a stream,
    the number of rows before it: where its part of a range index begins.

    Parameters
    ----------
    field
        The field of the arrays. Its name becomes that of the series, unless its metadata has one.
    labels
        The labels without a JSON form; see `SchemaSpec`.
    stream
        The stream of conversions, as pylibcudf takes it.

    Raises
    ------
    TypeError
        When called, if no cuDF series can hold the column.
    """
    name, hint, row_index = decode_field(field, labels or ())

    def assemble(
        columns: Sequence[plc.Column], num_rows: int, first_row: int | None
    ) -> cudf.Series:
        (column,) = columns
        location = compute_location(column, stream=stream)
        converted = column_from_pylibcudf(column, field, hint, location)
        index = _make_index(row_index, [converted], converted.size, first_row)
        return make_series(converted, name, index)

    return assemble


def _make_index(
    row_index: RowIndex | None, columns: Sequence[ColumnBase], num_rows: int, first_row: int | None
) -> cudf.Index:
    if row_index is None:
        return cudf.RangeIndex(num_rows)
    if row_index.range is None:
        return make_index([columns[position] for position in row_index.levels], row_index.names)
    rows = row_index.range
    if first_row is not None:
        # A batch of a stream. With more rows than the metadata says, the range is continued.
        start = rows.start + first_row * rows.step
        rows = range(start, start + num_rows * rows.step, rows.step)
    if len(rows) != num_rows:
        # A peer added or removed rows and kept the metadata.
        return cudf.RangeIndex(num_rows)
    return cudf.RangeIndex(rows.start, rows.stop, rows.step, name=row_index.names[0])
