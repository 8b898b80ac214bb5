# SPDX-License-Identifier: Apache-2.0
"""The columns to export of each kind of object, and what their schema says beyond their types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import pylibcudf as plc

from .._core.columns import Span, rebuild_all, types_of
from .._core.export import ExportArguments, ExportInput, pylibcudf_input, schema_of_input
from .._core.import_ import ImportArguments
from .._core.schema import Schema, SchemaSpec
from ..arrow.imported_columns import spec_of_fields
from ..arrow.metadata import from_field, spec_of_column, spec_of_table
from ..arrow.options import Kind
from ..arrow.refusals import ANY_PROTOCOL, refusal
from ..arrow.schemas import as_field, as_schema, empty
from ..arrow.source_streams import has_stream_protocol, join_on_host, open_stream
from ..arrow.sources import SourceArray, are_same, find_array, open_array
from ..cuda.residency import DeviceType
from ..frames.concatenate import concatenate_on_gpu
from ..frames.proxies import is_pandas, is_proxy

if TYPE_CHECKING:
    from .._core.export import MadeMemory
    from .._core.protocols import Stream

__all__ = ["describe", "export_input_of", "export_input_of_source", "is_cudf"]


def export_input_of(
    obj: Any, preserve_index: bool | None, arguments: ExportArguments
) -> ExportInput:
    """Return the columns of any object that can be exported.

    Parameters
    ----------
    obj
        An object of cuDF, pylibcudf, pandas or cudf.pandas; an `ExportInput`; or an array of
        another library, or a stream of arrays, which is imported.
    preserve_index
        Whether the index of a frame or series becomes columns; see `to_arrow_device`.
    arguments
        The arguments of the export. On its stream arrays are imported, and columns are made of
        range indexes.

    Raises
    ------
    TypeError
        If the object is none of these.
    ValueError
        If something has to be copied for that, which the arguments forbid.
    """
    export_input: ExportInput | None = pylibcudf_input(
        obj, spec_of_column, spec_of_table, spec_of_fields
    )
    if export_input is not None:
        return export_input
    if is_cudf(obj):
        return _disassemble()(obj, preserve_index, arguments.stream, arguments.copy)
    if is_proxy(obj):
        return export_input_of(_unwrapped(obj), preserve_index, arguments)
    if isinstance(obj, ExportInput):
        return obj
    source = obj if isinstance(obj, SourceArray) else find_array(obj)
    if source is not None:
        return export_input_of_source(source, arguments)
    if is_pandas(obj):
        source = open_array(_arrow_of_pandas()(obj, preserve_index))
        return export_input_of_source(source, arguments)
    if has_stream_protocol(obj):
        return _input_of_stream(obj, arguments)
    raise refusal(obj, f"cuDF data or an object with {ANY_PROTOCOL}", "to_arrow_device_stream")


def describe(obj: Any, preserve_index: bool | None = None) -> tuple[Kind, Schema] | None:
    """Return what an object of cuDF or pylibcudf is exported as, without touching its memory.

    None for any other object, and where only the export tells: a column is made of a range index.

    Parameters
    ----------
    obj
        The object.
    preserve_index
        As for the export; see `export_input_of`.
    """
    described: ExportInput | None = pylibcudf_input(
        obj, spec_of_column, spec_of_table, spec_of_fields
    )
    if described is None and is_cudf(obj):
        from ..frames.disassemble import describe as describe_frame

        described = describe_frame(obj, preserve_index)
    return None if described is None else (described.kind, schema_of_input(described))


def is_cudf(obj: Any) -> bool:
    """Say whether this is a frame, series or index of cuDF, without importing cuDF."""
    cudf = sys.modules.get("cudf")
    try:
        return cudf is not None and isinstance(obj, (cudf.DataFrame, cudf.Series, cudf.Index))
    except AttributeError:
        return False  # another thread is just importing cuDF, so there is none yet


def _unwrapped(proxy: Any) -> Any:
    """Return the cuDF or pandas object that a proxy stands for."""
    from ..frames.cudf_private import wrapped_by

    return wrapped_by(proxy)


@cache
def _arrow_of_pandas() -> Callable[[Any, bool | None], Any]:
    # Importing it imports cuDF.
    from .pandas_objects import arrow_of_pandas

    return arrow_of_pandas


@cache
def _disassemble() -> Callable[[Any, bool | None, Stream, bool | None], ExportInput]:
    # Importing cuDF takes a second; here somebody has imported it already.
    from ..frames.disassemble import disassemble

    return disassemble


def _input_of_stream(obj: Any, arguments: ExportArguments) -> ExportInput:
    """Import all arrays of a stream, and concatenate several of them."""
    stream = open_stream(obj)
    sources = list(stream.source_arrays()) or [open_array(empty(stream.schema))]
    if len(sources) > 1 and arguments.copy is False:
        raise ValueError(
            f"a stream of {len(sources)} batches found, one expected with copy=False, as "
            "concatenating copies: to_arrow_device_stream hands over one after the other"
        )
    is_joined = len(sources) > 1
    if is_joined and sources[0].device_type == DeviceType.CPU:
        # Before they are uploaded, where there is a GPU.
        sources = [join_on_host(sources)]
    parts = [export_input_of_source(source, arguments) for source in sources]
    first = parts[0]
    if not is_joined:
        return first
    columns: Sequence[plc.Column] = first.columns
    if len(parts) > 1:
        columns = [
            concatenate_on_gpu(columns, field.name, arguments.stream, arguments.mr)
            for field, *columns in zip(
                first.schema_spec.fields, *(part.columns for part in parts), strict=True
            )
        ]
    num_rows = sum(part.num_rows for part in parts)
    return ExportInput(first.kind, columns, num_rows, first.schema_spec, _memory_of(columns))


def _memory_of(columns: Sequence[plc.Column]) -> list[MadeMemory]:
    """List the memory of columns that were made by concatenating others."""
    made: list[MadeMemory] = []

    def note(span: Span) -> Span:
        made.append((span.ptr, span.size, "several batches concatenated"))
        return span

    for column in columns:
        rebuild_all(column, note)
    return made


def export_input_of_source(
    source: SourceArray, arguments: ExportArguments, kind: Kind | None = None
) -> ExportInput:
    """Import an array of another library, to export it with the schema it came with.

    Parameters
    ----------
    source
        The array.
    arguments
        The arguments of the export: the stream on which it is imported, the memory resource of what
        is converted, and whether anything may be.
    kind
        Whether it is a table or a column; None to decide by the source.
    """
    # libcudf at most concatenates these columns, and Arrow allows nested nulls as they are.
    # What copy=True asks for is copied once, by the export.
    copy = False if arguments.copy is False else None
    of_import = ImportArguments(
        arguments.stream, None, arguments.mr, copy=copy, validate="minimal", sanitize=False
    )
    kind = kind or source.kind
    columns, num_rows, made = source.importer.import_and_tell(
        source.array_capsule, kind == "table", of_import
    )
    return ExportInput(kind, columns, num_rows, _spec_of_source(source, kind, columns), made)


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
