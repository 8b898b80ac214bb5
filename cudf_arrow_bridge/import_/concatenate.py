# SPDX-License-Identifier: Apache-2.0
"""Arrays of one schema as one: concatenated by libcudf on the GPU, by pyarrow without one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pylibcudf as plc

from .._core.export import ExportArguments, export_array, pylibcudf_input
from .._core.import_ import ArrayImporter
from ..arrow.device_array import DeviceArray
from ..arrow.imported_columns import spec_of_fields
from ..arrow.metadata import spec_of_column, spec_of_table
from ..arrow.options import Kind
from ..arrow.schemas import as_field, empty
from ..arrow.source_streams import concatenate_on_host
from ..arrow.sources import open_array
from ..cuda.residency import has_gpu
from ..frames.concatenate import concatenate_on_gpu
from .importer import ImportedColumns, Importer

__all__ = ["MAX_ROWS", "concatenate"]

#: The largest `cudf::size_type`.
MAX_ROWS = (1 << 31) - 2


def concatenate(
    capsules: Sequence[object], parsed: ArrayImporter, kind: Kind, importer: Importer
) -> ImportedColumns:
    """Import the arrays in capsules as the columns of one table, or as one column.

    A single array is adopted without a copy. Without any array, the result has no rows. Each column
    is concatenated in one pass.

    Raises
    ------
    OverflowError
        If the result does not fit into one column.
    """
    capsules = capsules or [open_array(empty(parsed.schema)).array_capsule]
    imported = [importer.import_array(parsed, capsule, kind) for capsule in capsules]
    if len(imported) == 1:
        return imported[0]
    concatenate_columns = _concatenate_on_gpu if has_gpu() else _concatenate_on_host
    field = as_field(parsed.schema)
    names = [child.name for child in field.type] if kind == "table" else [field.name]
    columns_by_position = zip(*(columns for columns, _ in imported), strict=True)
    result = [
        concatenate_columns(columns, name, importer)
        for name, columns in zip(names, columns_by_position, strict=True)
    ]
    return result, sum(num_rows for _, num_rows in imported)


def _concatenate_on_gpu(columns: Sequence[plc.Column], path: str, importer: Importer) -> plc.Column:
    return concatenate_on_gpu(columns, path, importer.streams.computing, importer.mr)


def _concatenate_on_host(
    columns: Sequence[plc.Column], path: str, importer: Importer
) -> plc.Column:
    arguments = ExportArguments(importer.streams.computing)
    inputs = [
        pylibcudf_input(column, spec_of_column, spec_of_table, spec_of_fields) for column in columns
    ]
    arrays = [pa.array(export_array(one, arguments, None, None, DeviceArray)) for one in inputs]
    array = concatenate_on_host(arrays, path, "import the stream with concat=False")
    source = open_array(array)
    (result,), _ = importer.import_array(source.importer, source.array_capsule, "column")
    return result
