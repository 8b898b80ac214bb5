# SPDX-License-Identifier: Apache-2.0
"""Import of streams of arrays, as one object or batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pylibcudf as plc

from .._core.import_.array_importer import importer_of, length_of
from ..arrow.foreign_streams import SourceStream, concatenate_on_host, empty_array
from ..arrow.options import Kind
from ..arrow.schemas import as_field
from ..arrow.sources import open_array
from ..cuda.residency import has_gpu
from ..frames import convert
from ..frames.concatenate import concatenate_on_gpu
from .importer import Importer

#: The maximum number of rows of a column. Its offsets have one more number, which has to be a
#: `cudf::size_type`.
MAX_COLUMN_ROWS = (1 << 31) - 2


def import_batches(stream: SourceStream, kind: Kind, importer: Importer) -> Iterator[Any]:
    """Import each array of a stream when it is requested; see `iter_arrow_device_stream`."""
    try:
        parsed = importer_of(stream.schema_capsule)
        first_row = stream.first_row or 0
        for array in stream.arrays:
            columns, num_rows = importer.import_array(parsed, array, kind)
            # A suspended generator must not extend the lifetime of memory that the caller dropped.
            del array
            yield importer.make_result(parsed, kind, stream.labels, columns, num_rows, first_row)
            del columns
            first_row += num_rows
    finally:
        stream.release()


def import_concatenated(stream: SourceStream, kind: Kind, importer: Importer) -> Any:
    """Import all arrays of a stream as one object; see `from_arrow_device_stream`."""
    arrays: list[object] = []
    num_rows = 0
    try:
        for array in stream.arrays:
            if arrays and importer.copy is False:
                raise ValueError(
                    "copy=False: the stream has several batches, which have to be "
                    "concatenated: import it with concat=False"
                )
            num_rows += length_of(array)
            if arrays and num_rows > MAX_COLUMN_ROWS:
                raise OverflowError(
                    f"the stream has more than {MAX_COLUMN_ROWS:,} rows, the limit of a cuDF "
                    "column: import several frames with concat=False"
                )
            arrays.append(array)
    finally:
        stream.release()
    parsed = importer_of(stream.schema_capsule)
    if not arrays:
        arrays.append(empty_array(stream.schema_capsule))
    imported = [importer.import_array(parsed, array, kind)[0] for array in arrays]
    columns = imported[0]
    if len(imported) > 1:
        field = as_field(stream.schema_capsule)
        names = [child.name for child in field.type] if kind == "table" else [field.name]
        columns = [
            _concatenate_columns(parts, name, importer)
            for name, *parts in zip(names, *imported, strict=True)
        ]
    first_row = stream.first_row if len(imported) == 1 else None
    return importer.make_result(parsed, kind, stream.labels, columns, num_rows, first_row)


def _concatenate_columns(
    columns: Sequence[plc.Column], path: str, importer: Importer
) -> plc.Column:
    """Concatenate columns with libcudf on a GPU, with pyarrow without a GPU."""
    if has_gpu():
        return concatenate_on_gpu(columns, path, importer.computing, importer.mr)
    arrays = [convert.to_arrow(column) for column in columns]
    array = concatenate_on_host(arrays, path, "import the stream with concat=False")
    source = open_array(array)
    (result,), _ = importer.import_array(source.importer, source.array_capsule, "column")
    return result
