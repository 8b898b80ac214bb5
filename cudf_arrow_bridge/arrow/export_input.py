# SPDX-License-Identifier: Apache-2.0
"""What an export takes: pylibcudf columns, and what the Arrow schema says beyond their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pylibcudf as plc

from .._core.columns import types_of
from .._core.export import ExportInput, export_array
from .._core.schema import Schema
from .device_array import DeviceArray, Exporter
from .metadata import ColumnMetadata
from .options import ExportOptions

__all__ = ["ExportInput", "SchemaSpec", "column_input", "export"]


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


def column_input(column: plc.Column) -> ExportInput:
    """Return the input for a column without a name or metadata."""
    return ExportInput("column", [column], column.size(), _spec_of_column(types_of([column])))


@lru_cache(maxsize=16)
def _spec_of_column(types: bytes) -> SchemaSpec:
    """Return the spec of columns of one type, see `types_of`, without a name or metadata."""
    return SchemaSpec([ColumnMetadata()], {})


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
    return export_array(export_input, options, requested_schema, exporter, DeviceArray)
