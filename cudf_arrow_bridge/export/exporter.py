# SPDX-License-Identifier: Apache-2.0
"""Export of an object, and export of the result again with the schema that a consumer requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from .._core.export.array_exporter import ExportArguments, InputExporter
from ..arrow.device_array import DeviceArray
from ..arrow.options import Kind
from ..arrow.sources import open_array
from .inputs import export_input_of, export_input_of_source

if TYPE_CHECKING:
    from .._core.export.exported_array import ExportedArray


def export_object(
    obj: Any,
    preserve_index: bool | None,
    arguments: ExportArguments,
    requested_schema: object | None,
) -> DeviceArray:
    """Export an object with cuDF data; see `to_arrow_device`."""
    is_array = isinstance(obj, DeviceArray)
    if is_array and obj.is_released:
        raise ValueError("expected an array with data, got a released array")
    if is_array and can_reuse_export(obj, arguments, requested_schema):
        return obj.as_requested(requested_schema)
    export_input = export_input_of(obj, preserve_index, arguments)
    exported = ObjectExporter(export_input, arguments)(requested_schema)
    return exported._described_as(obj) if is_array else exported


def can_reuse_export(
    obj: Any, arguments: ExportArguments, requested_schema: object | None
) -> TypeGuard[DeviceArray]:
    """Return whether an object is an array that already meets the arguments of the export."""
    if not isinstance(obj, DeviceArray) or arguments.compact or arguments.managed_as_cuda:
        return False
    # The array was exported with its own `copy` argument, which a requested schema would use.
    return arguments.copy is None or (arguments.copy is False and requested_schema is None)


class ObjectExporter(InputExporter):
    """The exporter of an array that was made from an object; see `Exporter`."""

    __slots__ = ()

    def __call__(self, requested_schema: object | None) -> DeviceArray:
        """Export with the schema in a capsule; see `Exporter`."""
        exported = self.export(requested_schema, DeviceArray)
        if self.arguments.copy:
            # The result does not keep its source. A later export starts from the copy.
            exported._exporter = self.over(exported._array, exported._arrow_schema, exported._kind)
        return exported

    def over(self, array: ExportedArray, schema: Any, kind: Kind) -> ArrayExporter:
        """Return the exporter of a child or copy; see `Exporter`."""
        return ArrayExporter(self.arguments, array, schema, kind)


@dataclass(slots=True)
class ArrayExporter:
    """The exporter of an array without its columns. It imports the array first.

    `schema` is an object with ``__arrow_c_schema__``.
    """

    arguments: ExportArguments
    array: ExportedArray
    schema: Any
    kind: Kind

    def __post_init__(self) -> None:
        # Several arrays share an exporter. Each can be released.
        self.array = self.array.share()

    def __arrow_c_device_array__(self) -> tuple[object, object]:
        return self.schema.__arrow_c_schema__(), self.array.device_array_capsule()

    def __call__(self, requested_schema: object | None) -> DeviceArray:
        """Export with the schema in a capsule; see `Exporter`."""
        export_input = export_input_of_source(open_array(self), self.arguments, self.kind)
        return ObjectExporter(export_input, self.arguments)(requested_schema)

    def over(self, array: ExportedArray, schema: Any, kind: Kind) -> ArrayExporter:
        """Return the exporter of a child or copy; see `Exporter`."""
        return ArrayExporter(self.arguments, array, schema, kind)
