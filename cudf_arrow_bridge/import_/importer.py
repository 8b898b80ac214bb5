# SPDX-License-Identifier: Apache-2.0
"""The two steps of every import: arrays to columns, columns to what the caller wants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pylibcudf as plc

from .._core.columns import table_of
from .._core.import_ import ArrayImporter
from .._core.schema import Schema
from ..arrow.options import ImportOptions, Kind
from ..arrow.schemas import as_field, as_schema
from ..arrow.sources import Source
from ..cuda.ordering import ImportStreams

__all__ = ["Brought", "Importer"]

#: Columns, and their number of rows.
Brought = tuple[list[plc.Column], int]

#: Makes the result of columns, their number of rows, and `Source.first_row`.
Assembler = Callable[[list[plc.Column], int, int | None], Any]


class Importer:
    """What an import was called with; see `from_arrow_device`."""

    def __init__(self, stream: Any, mr: Any, to: str, options: ImportOptions) -> None:
        self.streams = ImportStreams.of(stream, to)
        self.mr = mr
        self._to = to
        self._options = replace(options, reader=self.streams.reader)

    def bring(self, source: Source, kind: Kind) -> Brought:
        """Import an array: the columns of a table or the one column, and the number of rows."""
        arrival = self.streams.arrival
        brought = (
            source.import_table(arrival, self.mr, self._options)
            if kind == "table"
            else _one(source.import_column(arrival, self.mr, self._options))
        )
        self.streams.arrived()
        return brought

    def bringer(self, schema: Schema, kind: Kind) -> Callable[[object], Brought]:
        """Return a function that does so for the capsules of arrays of one schema."""
        importer = ArrayImporter(self.streams.arrival, self.mr, self._options, schema)

        def bring(array: object) -> Brought:
            brought = (
                importer.import_table(array)
                if kind == "table"
                else _one(importer.import_column(array))
            )
            self.streams.arrived()
            return brought

        return bring

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
        # cuDF takes a second to import, which those who want none of its frames are spared.
        from ..frames.assemble import frame_assembler, series_assembler

        make: Assembler = (
            frame_assembler(as_schema(schema), labels, self.streams.use)
            if kind == "table"
            else series_assembler(as_field(schema), labels, self.streams.use)
        )

        def assemble(columns: list[plc.Column], num_rows: int, first_row: int | None) -> Any:
            made = make(columns, num_rows, first_row)
            self.streams.made()
            return made

        return assemble


def _one(column: plc.Column) -> Brought:
    return [column], column.size()


def _table(columns: list[plc.Column], num_rows: int, first_row: int | None) -> plc.Table:
    return table_of(columns, num_rows)


def _column(columns: list[plc.Column], num_rows: int, first_row: int | None) -> plc.Column:
    return columns[0]
