# SPDX-License-Identifier: Apache-2.0
"""The two steps of every import: arrays to columns, and columns to the object asked for."""

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
from ..arrow.sources import SourceArray
from ..cuda.ordering import ImportStreams

__all__ = ["ImportedColumns", "Importer"]

#: Columns, and their number of rows.
ImportedColumns = tuple[list[plc.Column], int]

#: Makes the result from columns, their number of rows, and `SourceArray.first_row`.
Assembler = Callable[[list[plc.Column], int, int | None], Any]


class Importer:
    """An import with the arguments of `from_arrow_device`.

    Parameters
    ----------
    stream
        The stream that will use the data.
    mr
        The memory resource of converted buffers; None for rmm's current one.
    to
        What to make, "cudf" or "pylibcudf".
    options
        What to copy, check and sanitize.
    """

    def __init__(self, stream: Any, mr: Any, to: str, options: ImportOptions) -> None:
        self.streams = ImportStreams.of(stream, to)
        self.mr = mr
        self._to = to
        self._options = replace(options, reader=self.streams.reader)

    def import_array(self, source: SourceArray, kind: Kind) -> ImportedColumns:
        """Import an array as the columns of a table, or as one column."""
        stream = self.streams.importing
        imported = (
            source.import_table(stream, self.mr, self._options)
            if kind == "table"
            else _one_column(source.import_column(stream, self.mr, self._options))
        )
        self.streams.compute_after_import()
        return imported

    def array_importer(self, schema: Schema, kind: Kind) -> Callable[[object], ImportedColumns]:
        """Return a function that imports arrays of one schema, given by their capsules."""
        importer = ArrayImporter(self.streams.importing, self.mr, self._options, schema)

        def import_array(capsule: object) -> ImportedColumns:
            imported = (
                importer.import_table(capsule)
                if kind == "table"
                else _one_column(importer.import_column(capsule))
            )
            self.streams.compute_after_import()
            return imported

        return import_array

    def assembler(self, schema: Any, kind: Kind, labels: tuple[Any, ...]) -> Assembler:
        """Return a function that makes the result from the columns of any array of one schema.

        Parameters
        ----------
        schema
            Anything with ``__arrow_c_schema__``, or a capsule.
        kind
            Whether the arrays are tables or columns.
        labels
            Labels without a JSON form, of arrays that this process exported.
        """
        if self._to == "pylibcudf":
            return _table if kind == "table" else _column
        # Importing cuDF takes a second, which callers that want no frames are spared.
        from ..frames.assemble import frame_assembler, series_assembler

        assemble_on_stream: Assembler = (
            frame_assembler(as_schema(schema), labels, self.streams.computing)
            if kind == "table"
            else series_assembler(as_field(schema), labels, self.streams.computing)
        )

        def assemble(columns: list[plc.Column], num_rows: int, first_row: int | None) -> Any:
            result = assemble_on_stream(columns, num_rows, first_row)
            self.streams.import_after_compute()
            return result

        return assemble


def _one_column(column: plc.Column) -> ImportedColumns:
    return [column], column.size()


def _table(columns: list[plc.Column], num_rows: int, first_row: int | None) -> plc.Table:
    return table_of(columns, num_rows)


def _column(columns: list[plc.Column], num_rows: int, first_row: int | None) -> plc.Column:
    return columns[0]
