# SPDX-License-Identifier: Apache-2.0
"""Exporting an object, and again with the schema that a consumer of the result asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from .._core.export import ExportArguments, InputExporter
from ..arrow.device_array import DeviceArray
from ..arrow.options import Kind
from ..arrow.sources import open_array
from .inputs import export_input_of, export_input_of_source

if TYPE_CHECKING:
    from .._core.exported_array import ExportedArray

__all__ = ["ArrayExporter", "ObjectExporter", "export_object", "passes_on"]


def export_object(
    obj: Any,
    preserve_index: bool | None,
    arguments: ExportArguments,
    requested_schema: object | None,
) -> DeviceArray:
    """Export any object that holds cuDF data; see `to_arrow_device`.

    Parameters
    ----------
    obj
        The object.
    preserve_index
        Whether the index of a frame or series becomes columns.
    arguments
        The stream, and what the array may look like.
    requested_schema
        The capsule of the schema that a consumer asks for, or None.
    """
    is_array = isinstance(obj, DeviceArray)
    if is_array and obj.is_released:
        raise ValueError("an array that was released found, one with data expected")
    if is_array and passes_on(obj, arguments, requested_schema):
        return obj.as_requested(requested_schema)
    export_input = export_input_of(obj, preserve_index, arguments)
    exported = ObjectExporter(export_input, arguments).export(requested_schema, DeviceArray)
    return exported._described_as(obj) if is_array else exported


def passes_on(
    obj: Any, arguments: ExportArguments, requested_schema: object | None
) -> TypeGuard[DeviceArray]:
    """Say whether an object is an array already, of which the arguments ask nothing more."""
    if not isinstance(obj, DeviceArray) or arguments.compact or arguments.managed_as_cuda:
        return False
    # The array was exported with a `copy` of its own, which a request would follow.
    return arguments.copy is None or (arguments.copy is False and requested_schema is None)


class ObjectExporter(InputExporter):
    """The exporter of the array made from an object; see `Exporter`."""

    __slots__ = ()

    def __call__(self, requested_schema: object | None) -> DeviceArray:
        """Export with the schema in a capsule; see `Exporter`."""
        return self.export(requested_schema, DeviceArray)

    def over(self, array: ExportedArray, schema: Any, kind: Kind) -> ArrayExporter:
        """Return the exporter of a child or copy; see `Exporter`."""
        return ArrayExporter(self.arguments, array, schema, kind)


@dataclass(slots=True)
class ArrayExporter:
    """The exporter of an array whose columns are not at hand: it imports the array first.

    Attributes
    ----------
    arguments
        The stream, and what the array may look like.
    array, schema, kind
        The array, an object with ``__arrow_c_schema__``, and what they are.
    """

    arguments: ExportArguments
    array: ExportedArray
    schema: Any
    kind: Kind

    def __arrow_c_device_array__(self) -> tuple[object, object]:
        return self.schema.__arrow_c_schema__(), self.array.device_array_capsule()

    def __call__(self, requested_schema: object | None) -> DeviceArray:
        """Export with the schema in a capsule; see `Exporter`."""
        export_input = export_input_of_source(open_array(self), self.arguments, self.kind)
        return ObjectExporter(export_input, self.arguments)(requested_schema)

    def over(self, array: ExportedArray, schema: Any, kind: Kind) -> ArrayExporter:
        """Return the exporter of a child or copy; see `Exporter`."""
        return ArrayExporter(self.arguments, array, schema, kind)
