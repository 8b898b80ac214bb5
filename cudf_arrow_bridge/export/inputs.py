# SPDX-License-Identifier: Apache-2.0
"""The columns to export of each kind of object, and what their schema says beyond their types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import pylibcudf as plc

from .._core.columns import types_of
from .._core.export import ExportInput, pylibcudf_input
from .._core.import_ import ImportArguments
from .._core.schema import SchemaSpec
from ..arrow.imported_columns import spec_of_fields
from ..arrow.metadata import from_field, spec_of_column, spec_of_table
from ..arrow.options import Kind
from ..arrow.schemas import as_field, as_schema
from ..arrow.sources import SourceArray, are_same, open_array

if TYPE_CHECKING:
    from .._core.protocols import Stream

__all__ = ["export_input_of", "export_input_of_source", "is_cudf"]


def export_input_of(obj: Any, preserve_index: bool | None, stream: Stream) -> ExportInput:
    """Return the columns of any object that can be exported.

    Parameters
    ----------
    obj
        An object of cuDF or pylibcudf; or an array of another library, which is imported.
    preserve_index
        Whether the index of a frame or series becomes columns; see `to_arrow_device`.
    stream
        The stream on which arrays are imported, and columns are made of range indexes.
    """
    export_input: ExportInput | None = pylibcudf_input(
        obj, spec_of_column, spec_of_table, spec_of_fields
    )
    if export_input is not None:
        return export_input
    if is_cudf(obj):
        return _disassemble()(obj, preserve_index, stream)
    source = obj if isinstance(obj, SourceArray) else open_array(obj)
    return export_input_of_source(source, stream)


def is_cudf(obj: Any) -> bool:
    """Say whether this is a frame, series or index of cuDF, without importing cuDF."""
    cudf = sys.modules.get("cudf")
    return cudf is not None and isinstance(obj, (cudf.DataFrame, cudf.Series, cudf.Index))


@cache
def _disassemble() -> Callable[[Any, bool | None, Stream], ExportInput]:
    # Importing cuDF takes a second; here somebody has imported it already.
    from ..frames.disassemble import disassemble

    return disassemble


def export_input_of_source(
    source: SourceArray, stream: Stream, kind: Kind | None = None
) -> ExportInput:
    """Import an array of another library, to export it with the schema it came with.

    Parameters
    ----------
    source
        The array.
    stream
        The stream on which it is imported.
    kind
        Whether it is a table or a column; None to decide by the source.
    """
    # libcudf computes nothing with these columns, and Arrow allows nested nulls as they are.
    arguments = ImportArguments(stream, None, None, copy=False, validate="minimal", sanitize=False)
    kind = kind or source.kind
    columns, num_rows = source.importer.import_array(
        source.array_capsule, kind == "table", arguments
    )
    return ExportInput(kind, columns, num_rows, _spec_of_source(source, kind, columns))


def _spec_of_source(source: SourceArray, kind: Kind, columns: Sequence[plc.Column]) -> SchemaSpec:
    # Kept with the importer of the schema: the batches of one stream share a spec, each with a
    # schema of its own, equal to the others. The types can depend on the sizes of dictionaries.
    derived = source.importer.derived
    key = ("spec", kind, types_of(columns))
    spec: SchemaSpec | None = derived.get(key)
    if spec is None or not are_same(spec.labels, source.labels):
        if kind == "table":
            schema = as_schema(source.schema_capsule)
            fields = [from_field(field) for field in schema]
            spec = SchemaSpec(fields, schema.metadata or {}, source.labels)
        else:
            spec = SchemaSpec([from_field(as_field(source.schema_capsule))], {}, source.labels)
        derived[key] = spec
    return spec
