# SPDX-License-Identifier: Apache-2.0
"""Export of an object, and export of the result again with the schema that a consumer requests."""

from __future__ import annotations

from typing import Any, TypeGuard

from .._core.export.array_exporter import ExportArguments, InputExporter
from ..arrow.device_array import DeviceArray
from ..arrow.sources import open_array
from .inputs import export_input_of, export_input_of_source


def export_object(
    obj: Any,
    preserve_index: bool | None,
    arguments: ExportArguments,
    requested_schema: object | None,
) -> DeviceArray:
    """Export an object with cuDF data; see `to_arrow_device`."""
    is_array = isinstance(obj, DeviceArray)
    if is_array and obj.is_released:
        raise ValueError("the array is released")
    if is_array and can_reuse_export(obj, arguments, requested_schema):
        return obj.as_requested(requested_schema)
    export_input = export_input_of(obj, preserve_index, arguments)
    exported = InputExporter(export_input, arguments).export(requested_schema, DeviceArray)
    return exported._described_as(obj) if is_array else exported


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
