# SPDX-License-Identifier: Apache-2.0
"""Import of streams of arrays, as one object or batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pylibcudf as plc

from .._core.capsules import length_of
from .._core.export.array_exporter import ExportArguments, InputExporter
from .._core.import_.array_importer import ArrayImporter
from ..arrow.device_array import DeviceArray
from ..arrow.imported_columns import input_of_pylibcudf
from ..arrow.options import Kind
from ..arrow.schemas import as_field
from ..arrow.source_streams import SourceStream, concatenate_on_host, empty_array
from ..arrow.sources import open_array
from ..cuda.residency import has_gpu
from ..frames.concatenate import concatenate_on_gpu
from .importer import ImportedColumns, Importer

__all__ = ["MAX_COLUMN_ROWS", "import_batches", "import_concatenated"]

#: The maximum number of rows of a column. Its offsets have one more number, which has to be a
#: `cudf::size_type`.
MAX_COLUMN_ROWS = (1 << 31) - 2


def import_batches(stream: SourceStream, kind: Kind, importer: Importer) -> Iterator[Any]:
    """Import each array of a stream when it is requested; see `iter_arrow_device_stream`."""
    try:
        parsed = stream.importer
        assemble = importer.assembler(parsed, kind, stream.labels)
        first_row = 0
        for capsule in stream.arrays:
            columns, num_rows = importer.import_array(parsed, capsule, kind)
            # A suspended generator must not extend the lifetime of memory that the caller dropped.
            del capsule
            yield assemble(columns, num_rows, first_row)
            del columns
            first_row += num_rows
    finally:
        stream.release()


def import_concatenated(stream: SourceStream, requested: Kind | None, importer: Importer) -> Any:
    """Import all arrays of a stream as one object; see `from_arrow_device_stream`."""
    kind = stream.kind(requested)
    capsules: list[object] = []
    num_rows = 0
    try:
        for capsule in stream.arrays:
            if capsules and importer.copy is False:
                raise ValueError(
                    "copy=False: expected a stream of one batch, got several, which have "
                    "to be concatenated: import it with concat=False"
                )
            num_rows += length_of(capsule)
            if num_rows > MAX_COLUMN_ROWS:
                raise OverflowError(
                    f"expected a stream of at most {MAX_COLUMN_ROWS:,} rows, the limit of a cuDF "
                    "column, got more: import several frames with concat=False"
                )
            capsules.append(capsule)
    finally:
        stream.release()
    parsed = stream.importer
    assemble = importer.assembler(parsed, kind, stream.labels)
    return assemble(*_concatenate(capsules, parsed, kind, importer), None)


def _concatenate(
    capsules: Sequence[object], parsed: ArrayImporter, kind: Kind, importer: Importer
) -> ImportedColumns:
    """Import the arrays in capsules as the columns of one table, or as one column.

    A single array is imported without a copy. Without arrays, the result has no rows. Each column
    is concatenated in one pass.

    Raises
    ------
    OverflowError
        If the result exceeds the limits of a column.
    """
    capsules = capsules or [empty_array(parsed.schema)]
    imported = [importer.import_array(parsed, capsule, kind) for capsule in capsules]
    if len(imported) == 1:
        return imported[0]
    field = as_field(parsed.schema)
    names = [child.name for child in field.type] if kind == "table" else [field.name]
    columns_by_position = zip(*(columns for columns, _ in imported), strict=True)
    result = [
        _concatenate_columns(columns, name, importer)
        for name, columns in zip(names, columns_by_position, strict=True)
    ]
    return result, sum(num_rows for _, num_rows in imported)


def _concatenate_columns(
    columns: Sequence[plc.Column], path: str, importer: Importer
) -> plc.Column:
    """Concatenate columns with libcudf on a GPU, with pyarrow without a GPU."""
    if has_gpu():
        return concatenate_on_gpu(columns, path, importer.streams.computing, importer.mr)
    arguments = ExportArguments(importer.streams.computing)
    inputs = [input_of_pylibcudf(column) for column in columns]
    exporters = [InputExporter(one, arguments) for one in inputs]
    arrays = [pa.array(exporter.export(None, DeviceArray)) for exporter in exporters]
    array = concatenate_on_host(arrays, path, "import the stream with concat=False")
    source = open_array(array)
    (result,), _ = importer.import_array(source.importer, source.array_capsule, "column")
    return result
