# SPDX-License-Identifier: Apache-2.0
"""Exporting an object, and again with the schema that a consumer of the result asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arrow.device_array import DeviceArray
from ..arrow.export_input import ExportInput, export
from ..arrow.options import ExportOptions
from ..arrow.sources import open_array
from .inputs import export_input_of, export_input_of_source

if TYPE_CHECKING:
    from .._core.export import ExportedArray

__all__ = ["export_object"]


def export_object(
    obj: Any, preserve_index: bool | None, options: ExportOptions, requested_schema: object | None
) -> DeviceArray:
    """Export any object that holds cuDF data; see `to_arrow_device`.

    Parameters
    ----------
    obj
        The object.
    preserve_index
        Whether the index of a frame or series becomes columns.
    options
        The stream, and what the array may look like.
    requested_schema
        The capsule of the schema that a consumer asks for, or None.
    """
    if isinstance(obj, DeviceArray):
        return obj.as_requested(requested_schema)
    export_input = export_input_of(obj, preserve_index, options.stream)
    return _ObjectExporter(export_input, options)(requested_schema)


@dataclass(slots=True)
class _ObjectExporter:
    """The exporter of the array made from an object; see `Exporter`."""

    export_input: ExportInput
    options: ExportOptions

    def __call__(self, requested_schema: object | None) -> DeviceArray:
        return export(self.export_input, self.options, requested_schema, self)

    def of_child(self, array: ExportedArray, schema: Any) -> _ChildExporter:
        return _ChildExporter(array, schema, self.options)


@dataclass(slots=True)
class _ChildExporter:
    """The exporter of a child of an exported array, which imports the child first."""

    array: ExportedArray
    schema: Any
    options: ExportOptions

    def __arrow_c_device_array__(self) -> tuple[object, object]:
        return self.schema.__arrow_c_schema__(), self.array.device_array_capsule()

    def __call__(self, requested_schema: object | None) -> DeviceArray:
        export_input = export_input_of_source(open_array(self), self.options.stream, "column")
        return _ObjectExporter(export_input, self.options)(requested_schema)

    def of_child(self, array: ExportedArray, schema: Any) -> _ChildExporter:
        return _ChildExporter(array, schema, self.options)
