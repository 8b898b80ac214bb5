# SPDX-License-Identifier: Apache-2.0
"""Selection of the columns of tables by ``columns=``, including the index of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from .._core.export.array_exporter import ExportInput, InputExporter
from .._core.import_.array_importer import select_children, to_capsule
from .._core.schema import SchemaSpec, is_struct
from ..arrow.foreign_streams import SourceStream
from ..arrow.metadata import from_field
from ..arrow.options import Kind
from ..arrow.schemas import as_schema
from ..frames.selected_columns import selected_positions


def select_columns(stream: SourceStream, columns: Any, kind: Kind, keeps_index: bool) -> None:
    """Select columns of each array of a stream; the other columns are not accessed.

    `columns` is the argument of the caller. If `keeps_index`, the fields of the index that the
    metadata of a frame specifies are kept.
    """
    capsule = stream.schema_capsule
    if not is_struct(capsule):
        raise ValueError("columns: the data is a column that has no fields")
    if kind != "table":
        raise ValueError('columns: the data is a column: kind="table" imports it as a table')
    whole = as_schema(capsule)
    positions = selected_positions(columns, whole, stream.labels, keeps_index)
    schema = pa.schema([whole.field(position) for position in positions], whole.metadata)

    def select(array: object) -> object:
        if isinstance(array, InputExporter) and array.export_input.kind == "table":
            return _select_of_columns(array, schema, positions)
        array = to_capsule(array)
        select_children(capsule, array, positions)
        return array

    stream.map(schema.__arrow_c_schema__(), select)


def _select_of_columns(
    array: InputExporter, schema: pa.Schema, positions: Sequence[int]
) -> InputExporter:
    """Select columns of an object of this process; `schema` is that of the selected columns."""
    source = array.export_input
    fields = [from_field(field) for field in schema]
    spec = SchemaSpec(fields, schema.metadata or {}, source.schema_spec.labels)
    columns = [source.columns[position] for position in positions]
    selected = ExportInput("table", columns, source.num_rows, spec, source.copied)
    return InputExporter(selected, array.arguments)
