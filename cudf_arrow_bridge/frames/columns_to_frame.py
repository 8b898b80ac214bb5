# SPDX-License-Identifier: Apache-2.0
"""Construction of cuDF frames and series from columns and an Arrow schema."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import cudf
import pyarrow as pa
import pylibcudf as plc

from ..arrow.errors import CopyRefusedError, copy_error
from ..arrow.schemas import as_field, as_schema
from .cudf_private import ColumnBase, FrameLabels, make_index, make_series
from .from_pylibcudf import ColumnConverter
from .host_frames import enable_host_frames
from .labels import RowIndex, column_positions
from .layout import decode_field, decode_schema

if TYPE_CHECKING:
    from .._core.import_.array_importer import ArrayImporter
    from ..arrow.options import Kind


def frame_maker_of(parsed: ArrayImporter, kind: Kind, labels: tuple[Any, ...]) -> FrameMaker:
    """Return the maker of frames for arrays of one schema, cached on the importer of the schema."""
    key = ("frame maker", kind)
    maker: FrameMaker | None = parsed.derived.get(key)
    if maker is None or maker.labels is not labels:
        as_pyarrow = as_schema if kind == "table" else as_field
        maker = parsed.derived[key] = FrameMaker(as_pyarrow(parsed.schema), labels)
    return maker


class FrameMaker:
    """Makes frames and series from the columns of arrays of one schema. Thread-safe.

    Parameters
    ----------
    schema
        The schema of record batches, or the field of other arrays. Its metadata specifies the
        index, the labels, and the dtypes that the Arrow types do not determine. Metadata that is
        inconsistent with the fields is ignored.
    labels
        The labels without a JSON form; see `SchemaSpec`.
    """

    def __init__(self, schema: pa.Schema | pa.Field, labels: tuple[Any, ...] = ()) -> None:
        enable_host_frames()
        self.labels = labels
        if isinstance(schema, pa.Schema):
            fields, self._layout = list(schema), decode_schema(schema, labels)
        else:
            fields, self._layout = [schema], decode_field(schema, labels)
        self._frame_labels = FrameLabels(self._layout.labels)
        self._name = next(iter(self._layout.labels), None)
        self._columns = column_positions(self._layout.row_index, len(fields))
        self._converters = list(map(ColumnConverter, fields, self._layout.hints))

    def __call__(
        self,
        columns: Sequence[plc.Column],
        num_rows: int,
        first_row: int | None,
        stream: Any = None,
        copy: bool | None = None,
    ) -> cudf.DataFrame | cudf.Series:
        """Make a frame, or a series from an array or the table of a series with its index.

        `first_row` is the number of rows before a batch of a stream, at which its part of a range
        index starts, or None for a single batch. Columns are converted on `stream`.

        Raises
        ------
        TypeError
            If cuDF does not support the type of a column, or two columns have the same label.
        ValueError
            If `copy` is False and columns have to be converted.
        """
        layout = self._layout
        converted: list[Any] = list(columns)
        refused = []
        for position, (convert, column) in enumerate(zip(self._converters, columns, strict=True)):
            try:
                converted[position] = convert(column, stream, copy is not False)
            except CopyRefusedError as error:
                # A traceback refers to this frame, which would be a cycle.
                refused.append(error.with_traceback(None))
        if refused:
            raise copy_error(refused)
        index = cudf.RangeIndex(num_rows)
        if layout.row_index is not None:
            index = _make_index(layout.row_index, converted, num_rows, first_row)
        data = converted
        if len(self._columns) < len(converted):
            data = [converted[position] for position in self._columns]
        # Users can modify the attrs of their object.
        attrs = deepcopy(layout.attrs) if layout.attrs else {}
        if layout.object_type == "series" and len(data) == 1:
            series = make_series(data[0], self._name, index)
            series.attrs = attrs
            return series
        return self._frame_labels.make_frame(data, index, attrs)


def _make_index(
    row_index: RowIndex, columns: Sequence[ColumnBase], num_rows: int, first_row: int | None
) -> cudf.Index:
    rows = row_index.range
    if rows is None:
        return make_index([columns[position] for position in row_index.levels], row_index.names)
    if first_row is not None:
        # A batch of a stream. The range continues beyond the stop value in the metadata.
        start = rows.start + first_row * rows.step
        rows = range(start, start + num_rows * rows.step, rows.step)
    if len(rows) != num_rows:
        # A peer added or removed rows and kept the metadata.
        return cudf.RangeIndex(num_rows)
    return cudf.RangeIndex(rows, name=row_index.names[0])
