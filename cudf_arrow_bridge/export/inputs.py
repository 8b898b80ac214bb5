# SPDX-License-Identifier: Apache-2.0
"""The columns and the schema spec of each kind of object that can be exported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import pylibcudf as plc

from .._core.export.array_exporter import (
    ExportArguments,
    ExportInput,
    InputExporter,
    pylibcudf_input,
    schema_of_input,
)
from .._core.import_.array_importer import ImportArguments
from .._core.import_.columns import types_of
from .._core.import_.imported_fields import (
    arrow_children,
    has_own_nulls,
    imported_field,
)
from .._core.protocols import ColumnMetadata
from .._core.schema import Schema, SchemaSpec
from ..arrow.device_array import DeviceArray
from ..arrow.errors import ANY_PROTOCOL, object_error
from ..arrow.foreign_streams import has_stream_protocol, join_on_host, open_stream
from ..arrow.metadata import from_field
from ..arrow.options import Kind, export_arguments
from ..arrow.schemas import as_field, as_schema
from ..arrow.sources import (
    SourceArray,
    find_array,
    is_of_rapids,
    open_array,
)
from ..cuda.residency import DeviceType
from ..frames.concatenate import concatenate_on_gpu
from ..frames.proxies import is_pandas, unwrapped
from .cudf_polars_private import input_of_container, is_container, is_result, take_partitions

if TYPE_CHECKING:
    from .._core.protocols import CopiedBuffer


def export_input_of(
    obj: Any, preserve_index: bool | None, arguments: ExportArguments
) -> ExportInput:
    """Return the columns of any object that `to_arrow_device` accepts, or of an `ExportInput`.

    Arrays and streams of other libraries are imported. Imports and the conversion of range indexes
    use the stream of the arguments. Raises a ValueError if a copy is required and not allowed.
    """
    obj = unwrapped(obj)
    if is_of_rapids(obj):
        found: ExportInput | None = pylibcudf_input(obj, _spec_of)
        if found is not None:
            return found
        # Imported here because it imports cuDF.
        from ..frames.frame_to_columns import frame_to_columns

        return frame_to_columns(obj, preserve_index, arguments.stream, arguments.copy)
    if isinstance(obj, ExportInput):
        return obj
    if (source := find_array(obj)) is not None:
        return export_input_of_source(source, arguments)
    if is_pandas(obj):
        # Imported here because it imports cuDF.
        from .pandas_objects import arrow_of_pandas

        source = open_array(arrow_of_pandas(obj, preserve_index))
        return export_input_of_source(source, arguments)
    if has_stream_protocol(obj):
        return _input_of_stream(obj, arguments)
    if is_result(obj):
        (obj,) = take_partitions(obj)
    if is_container(obj):
        return input_of_container(obj, arguments.stream)
    raise object_error(obj, f"cuDF data or an object with {ANY_PROTOCOL}", "to_arrow_device_stream")


def array_of_rapids(
    obj: Any, preserve_index: bool | None = None, copy: bool | None = None
) -> SourceArray:
    """Return the array of an object of cuDF or pylibcudf, whose columns an import shares.

    Raise a ValueError if `copy` is False and a range index has to be converted to a column.
    """
    # For copy=True the import makes the copy.
    copy = False if copy is False else None
    arguments = export_arguments(None, None, None, False, copy, None)
    export_input = export_input_of(obj, preserve_index, arguments)
    exporter = InputExporter(export_input, arguments)
    schema = schema_of_input(export_input).__arrow_c_schema__()
    return SourceArray(schema, exporter, export_input.kind, export_input.schema_spec.labels, None)


def kind_and_schema(obj: Any, preserve_index: bool | None = None) -> tuple[Kind, Schema] | None:
    """Return the kind and schema of the export of a cuDF or pylibcudf object, without its memory.

    Return None for other objects, and if a range index becomes a column.
    """
    described: ExportInput | None = pylibcudf_input(obj, _spec_of)
    if described is None and is_of_rapids(obj):
        from ..frames.frame_to_columns import describe_frame

        described = describe_frame(obj, preserve_index)
    return None if described is None else (described.kind, schema_of_input(described))


def _input_of_stream(obj: Any, arguments: ExportArguments) -> ExportInput:
    """Import all arrays of a stream and concatenate them."""
    sources = list(open_stream(obj).source_arrays())
    if len(sources) == 1:
        return export_input_of_source(sources[0], arguments)
    if arguments.copy is False:
        raise ValueError(
            f"copy=False: the stream has {len(sources)} batches, which have to be concatenated: "
            "use to_arrow_device_stream"
        )
    if sources[0].device_type == DeviceType.CPU:
        # Concatenate before the upload to the GPU, if there is one.
        sources = [join_on_host(sources)]
    parts = [export_input_of_source(source, arguments) for source in sources]
    first = parts[0]
    columns: Sequence[plc.Column] = first.columns
    if len(parts) > 1:
        columns = [
            concatenate_on_gpu(columns, field.name, arguments.stream, arguments.mr)
            for field, *columns in zip(
                first.schema_spec.fields, *(part.columns for part in parts), strict=True
            )
        ]
    num_rows = sum(part.num_rows for part in parts)
    converted = first.copied if len(parts) == 1 else ()
    copied = (*converted, *_memory_of(columns))
    return ExportInput(first.kind, columns, num_rows, first.schema_spec, copied)


def _memory_of(columns: Sequence[plc.Column]) -> Iterator[CopiedBuffer]:
    """Yield the memory of concatenated columns, without dictionaries, which may be a batch's."""
    for column in columns:
        for span in (column.data(), column.null_mask()):
            if span is not None:
                yield span.ptr, span.size, "several batches concatenated"
        is_dictionary = column.type().id() == plc.TypeId.DICTIONARY32
        yield from _memory_of(column.children()[:1] if is_dictionary else column.children())


def export_input_of_source(source: SourceArray, arguments: ExportArguments) -> ExportInput:
    """Import an array of another library, to export it with its own schema."""
    # sanitize=False: libcudf at most concatenates these columns, and Arrow allows data under nested
    # nulls. For copy=True, the export makes the copy, so that the data is copied only once.
    copy = False if arguments.copy is False else None
    of_import = ImportArguments(arguments.stream, None, arguments.mr, copy, sanitize=False)
    kind = source.kind
    columns, num_rows, copied = source.importer.import_array(
        source.array_capsule, kind == "table", of_import
    )
    return ExportInput(kind, columns, num_rows, _spec_of_source(source, kind, columns), copied)


def _spec_of_source(source: SourceArray, kind: Kind, columns: Sequence[plc.Column]) -> SchemaSpec:
    # Cached on the importer of the schema, so that the batches of a stream share a spec although
    # each has its own, equal schema. The libcudf types can depend on the sizes of dictionaries.
    derived = source.importer.derived
    key = ("spec", kind, types_of(columns))
    spec: SchemaSpec | None = derived.get(key)
    if spec is None or spec.labels is not source.labels:
        if kind == "table":
            schema = as_schema(source.schema_capsule)
            fields = [from_field(field) for field in schema]
            spec = SchemaSpec(fields, schema.metadata or {}, source.labels)
        else:
            spec = SchemaSpec([from_field(as_field(source.schema_capsule))], {}, source.labels)
        derived[key] = spec
    return spec


def can_reuse_export(
    obj: Any, arguments: ExportArguments, requested_schema: object | None
) -> TypeGuard[DeviceArray]:
    """Return whether an object is an array that already meets the arguments of the export."""
    if not isinstance(obj, DeviceArray) or arguments.compact or arguments.managed_as_cuda:
        return False
    # The array was exported with its own `copy` argument, which a requested schema would use.
    return arguments.copy is None or (arguments.copy is False and requested_schema is None)


def export_again(array: DeviceArray, requested_schema: object) -> DeviceArray:
    """Export the data of an array with the schema in a capsule; see `DeviceArray.as_requested`."""
    source, arguments = array._source, array._arguments
    if isinstance(source, DeviceArray):
        return source.as_requested(requested_schema).to_host(stream=arguments.stream)
    if source is None:
        export_input = export_input_of_source(open_array(array), arguments)
        source = InputExporter(export_input, arguments)
    exported: DeviceArray = source.export(requested_schema, DeviceArray)
    return exported


def _spec_of(kind: Kind, columns: Sequence[plc.Column]) -> SchemaSpec:
    """Return the spec of pylibcudf columns, with the fields they were imported with.

    pylibcudf tables have no names. If every column has a field, the names are those of the fields,
    which may be empty or equal. Otherwise the fields are named by position.
    """
    fields = tuple(_describe(column, "", None) for column in columns)
    return SchemaSpec(_named(fields, columns) if kind == "table" else fields, {})


def _describe(column: plc.Column, default_name: str, parent: plc.Column | None) -> ColumnMetadata:
    """Return the metadata of a column, at each level from its field if it has one."""
    is_struct = column.type().id() == plc.TypeId.STRUCT
    child_name = "item" if column.type().id() == plc.TypeId.LIST else ""
    of_children = arrow_children(column)
    children = tuple(
        _describe(child, str(i) if is_struct else child_name, column if is_struct else None)
        for i, child in enumerate(of_children)
    )
    imported = imported_field(column)
    if imported is None:
        children = _named(children, of_children) if is_struct else children
        return ColumnMetadata(default_name, children=children)
    # A column imported as not nullable may have gained nulls since.
    nullable = imported.is_nullable or has_own_nulls(column, parent)
    return replace(from_field(imported.field), nullable=nullable, children=children)


def _named(
    fields: tuple[ColumnMetadata, ...], columns: Sequence[plc.Column]
) -> tuple[ColumnMetadata, ...]:
    # A column that was imported alone can have no name.
    if all(
        (imported := imported_field(column)) and (field.name or imported.has_parent)
        for field, column in zip(fields, columns, strict=True)
    ):
        return fields
    return tuple(replace(field, name=str(i)) for i, field in enumerate(fields))
