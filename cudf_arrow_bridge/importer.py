# SPDX-License-Identifier: Apache-2.0
"""The two steps of every import: arrays to columns, columns to what the caller wants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pylibcudf as plc

from ._columns import table_of
from ._frames_loader import load_frames
from ._import import ArrayImporter
from ._schema import Schema
from .device_array import as_field, as_schema
from .sources import ImportOptions, Kind, Source
from .streams import resolve_stream

__all__ = ["Brought", "Importer"]

#: Columns, and their number of rows.
Brought = tuple[list[plc.Column], int]

#: Makes the result of columns, their number of rows, and `Source.first_row`.
Assembler = Callable[[list[plc.Column], int, int | None], Any]


class Importer:
    """What an import was called with; see `from_arrow_device`."""

    def __init__(self, stream: Any, mr: Any, to: str, options: ImportOptions) -> None:
        if to not in ("cudf", "pylibcudf"):
            raise ValueError(f"to={to!r} found, 'cudf' or 'pylibcudf' expected")
        self.stream = resolve_stream(stream)
        self.mr = mr
        self._to = to
        self._options = options

    def bring(self, source: Source, kind: Kind) -> Brought:
        """Import an array: the columns of a table or the one column, and the number of rows."""
        if kind == "table":
            return source.import_table(self.stream, self.mr, self._options)
        return _one(source.import_column(self.stream, self.mr, self._options))

    def bringer(self, schema: Schema, kind: Kind) -> Callable[[object], Brought]:
        """Return a function that does so for the capsules of arrays of one schema."""
        importer = ArrayImporter(self.stream, self.mr, self._options, schema)
        if kind == "table":
            return importer.import_table
        return lambda array: _one(importer.import_column(array))

    def assembler(self, schema: Any, kind: Kind, labels: tuple[Any, ...]) -> Assembler:
        """Return a function that makes the result, for any number of arrays of one schema.

        Parameters
        ----------
        schema
            Anything with ``__arrow_c_schema__``, or a capsule.
        kind, labels
            Of the arrays.
        """
        if self._to == "pylibcudf":
            return _table if kind == "table" else _column
        frames = load_frames()
        made: Assembler = (
            frames.frame_assembler(as_schema(schema), labels, self.stream)
            if kind == "table"
            else frames.series_assembler(as_field(schema), labels, self.stream)
        )
        return made


def _one(column: plc.Column) -> Brought:
    return [column], column.size()


def _table(columns: list[plc.Column], num_rows: int, first_row: int | None) -> plc.Table:
    return table_of(columns, num_rows)


def _column(columns: list[plc.Column], num_rows: int, first_row: int | None) -> plc.Column:
    return columns[0]
