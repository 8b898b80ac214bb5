# SPDX-License-Identifier: Apache-2.0
"""What an export takes: pylibcudf columns, and what the Arrow schema says beyond their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pylibcudf as plc

from .._core.export import export_array
from .._core.schema import Schema
from .device_array import DeviceArray, Exporter
from .metadata import ColumnMetadata
from .options import ExportOptions, Kind

__all__ = ["ExportInput", "SchemaSpec", "export"]


@dataclass(slots=True)
class SchemaSpec:
    """What an Arrow schema is made of, apart from the types of the columns.

    Exports that would describe their columns alike share one spec, and with it the schema.

    Attributes
    ----------
    fields
        The Arrow fields of the columns; empty for a table whose fields are named by position.
    metadata
        The schema's metadata; empty for an array.
    labels
        Labels that have no JSON form, so that the metadata holds only their strings. They stay with
        the array in this process, where ``assemble_*`` takes them.
    schema
        The Arrow schema, once an export has made it.
    """

    fields: Sequence[ColumnMetadata]
    metadata: Mapping[bytes, bytes]
    labels: tuple[Any, ...] = ()
    schema: Schema | None = None


@dataclass(slots=True)
class ExportInput:
    """The columns of one object to export.

    Attributes
    ----------
    kind
        ``"table"`` for a record batch, ``"column"`` for an array.
    columns
        The columns, which stay alive while the memory is in use. These references also make cuDF
        copy the memory before it writes there.
    num_rows
        The number of rows; a frame without columns can have some.
    schema_spec
        What their schema says beyond their types.
    """

    kind: Kind
    columns: Sequence[plc.Column]
    num_rows: int
    schema_spec: SchemaSpec

    @classmethod
    def of_column(cls, column: plc.Column) -> ExportInput:
        """Return the input for a column without a name or metadata."""
        return cls("column", [column], column.size(), SchemaSpec([ColumnMetadata()], {}))


def export(
    export_input: ExportInput,
    options: ExportOptions,
    requested_schema: object | None = None,
    exporter: Exporter | None = None,
) -> DeviceArray:
    """Export columns.

    Parameters
    ----------
    export_input
        The columns and their schema spec.
    options
        The stream, and what the array may look like.
    requested_schema
        The capsule of the schema that a consumer asks for, or None.
    exporter
        Exports the same columns again when another consumer asks for another schema.
    """
    schema, array = export_array(export_input, options, requested_schema)
    labels = export_input.schema_spec.labels
    return DeviceArray(array, schema, export_input.kind, labels, exporter=exporter)
