# SPDX-License-Identifier: Apache-2.0
"""cuDF frames and series made from columns and their Arrow schema."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import cudf
import pyarrow as pa
import pylibcudf as plc

from ..arrow.schemas import as_field, as_schema
from ..arrow.sources import are_same
from .cudf_private import ColumnBase, FrameLabels, make_frame, make_index, make_series
from .from_pylibcudf import ColumnConverter, check_sharing
from .host_frames import enable_host_frames
from .layout import RowIndex, decode_field, decode_schema

if TYPE_CHECKING:
    from .._core.import_ import ArrayImporter
    from ..arrow.options import Kind

__all__ = [
    "FrameAssembler",
    "SeriesAssembler",
    "assemble_frame",
    "assemble_series",
    "assembler_of",
]


def assemble_frame(
    columns: Sequence[plc.Column],
    schema: pa.Schema,
    num_rows: int,
    labels: tuple[Any, ...] = (),
    stream: Any = None,
) -> cudf.DataFrame | cudf.Series:
    """Make a frame from the columns of one record batch; see `FrameAssembler`."""
    return FrameAssembler(schema, labels)(columns, num_rows, None, stream)


def assemble_series(
    column: plc.Column, field: pa.Field, labels: tuple[Any, ...] = (), stream: Any = None
) -> cudf.Series:
    """Make a series from one array; see `SeriesAssembler`."""
    return SeriesAssembler(field, labels)([column], column.size(), None, stream)


def assembler_of(
    parsed: ArrayImporter, kind: Kind, labels: tuple[Any, ...]
) -> FrameAssembler | SeriesAssembler:
    """Return the assembler for arrays of one schema, which is kept with the schema's importer.

    Parameters
    ----------
    parsed
        The importer of the schema.
    kind
        Whether the arrays are record batches.
    labels
        The labels without a JSON form; see `SchemaSpec`.
    """
    key = ("assembler", kind)
    assembler: FrameAssembler | SeriesAssembler | None = parsed.derived.get(key)
    if assembler is None or not are_same(assembler.labels, labels):
        schema = parsed.schema
        assembler = (
            FrameAssembler(as_schema(schema), labels)
            if kind == "table"
            else SeriesAssembler(as_field(schema), labels)
        )
        parsed.derived[key] = assembler
    return assembler


class FrameAssembler:
    """Makes frames from the columns of record batches of one schema; for any number of threads.

    Parameters
    ----------
    schema
        The schema of the batches. Its metadata says what the index and the labels are, and the
        dtypes that do not follow from the Arrow types; what does not fit the fields is ignored.
    labels
        The labels without a JSON form; see `SchemaSpec`.
    """

    def __init__(self, schema: pa.Schema, labels: tuple[Any, ...] = ()) -> None:
        enable_host_frames()
        self.labels = labels
        self._layout = decode_schema(schema, labels)
        self._frame_labels = FrameLabels(self._layout.labels)
        self._converters = [
            ColumnConverter(field, hint)
            for field, hint in zip(schema, self._layout.hints, strict=True)
        ]

    def __call__(
        self,
        columns: Sequence[plc.Column],
        num_rows: int,
        first_row: int | None,
        stream: Any = None,
        copy: bool | None = None,
    ) -> cudf.DataFrame | cudf.Series:
        """Make a frame, or a series if the schema says that one was exported with its index.

        Parameters
        ----------
        columns
            The columns, one for each field.
        num_rows
            The number of rows.
        first_row
            For a batch of a stream, the number of rows before it: where its part of a range index
            begins. None for a single batch.
        stream
            The CUDA stream of conversions, as pylibcudf takes it.
        copy
            False: columns that have to be converted are an error.

        Raises
        ------
        TypeError
            If no cuDF frame can hold a column, or two columns have the same label.
        ValueError
            If columns have to be converted, which `copy` forbids.
        """
        layout = self._layout
        if copy is False:
            check_sharing(zip(self._converters, columns, strict=True), stream)
        converted = [
            convert(column, stream)
            for convert, column in zip(self._converters, columns, strict=True)
        ]
        index = _make_index(layout.row_index, converted, num_rows, first_row)
        data = [converted[position] for position in layout.columns]
        # Users may change those of their frame.
        attrs = deepcopy(layout.attrs) if layout.attrs else {}
        if layout.object_type == "series" and len(data) == 1:
            series = make_series(data[0], layout.labels[0], index)
            series.attrs = attrs
            return series
        try:
            return make_frame(data, self._frame_labels, index, attrs)
        except ValueError as error:
            duplicates = layout.labels[layout.labels.duplicated()].tolist()
            raise TypeError(
                f"{duplicates}: found several columns of this name, expected one of each in a cuDF "
                'frame; import with to="pylibcudf" instead'
            ) from error


class SeriesAssembler:
    """Makes series from arrays of one schema; any number of threads may use it.

    Parameters
    ----------
    field
        The field of the arrays. Its name becomes that of the series, unless its metadata has one.
    labels
        The labels without a JSON form; see `SchemaSpec`.
    """

    def __init__(self, field: pa.Field, labels: tuple[Any, ...] = ()) -> None:
        enable_host_frames()
        self.labels = labels
        self._name, hint, self._row_index = decode_field(field, labels)
        self._convert = ColumnConverter(field, hint)

    def __call__(
        self,
        columns: Sequence[plc.Column],
        num_rows: int,
        first_row: int | None,
        stream: Any = None,
        copy: bool | None = None,
    ) -> cudf.Series:
        """Make a series from a sequence of the one column; see `FrameAssembler`.

        Raises
        ------
        TypeError
            If no cuDF series can hold the column.
        ValueError
            If it has to be converted, which `copy` forbids.
        """
        (column,) = columns
        if copy is False:
            check_sharing([(self._convert, column)], stream)
        converted = self._convert(column, stream)
        index = _make_index(self._row_index, [converted], num_rows, first_row)
        return make_series(converted, self._name, index)


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
