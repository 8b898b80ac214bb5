# SPDX-License-Identifier: Apache-2.0
"""What is exported can be exported again, as a whole or in part, the way that another asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arrow.device_array import DeviceArray
from ..arrow.options import ExportOptions
from ..arrow.parts import Parts, export
from ..arrow.sources import open_source
from .parts import parts_of, parts_of_source

if TYPE_CHECKING:
    from .._core.export import ExportedArray

__all__ = ["export_object"]


def export_object(
    obj: Any, preserve_index: bool | None, how: ExportOptions, requested: object | None
) -> DeviceArray:
    """Export whatever holds cuDF data; see `to_arrow_device`.

    Parameters
    ----------
    obj, preserve_index
        As there.
    how
        How to export it.
    requested
        The capsule of a schema that a consumer would rather have.
    """
    if isinstance(obj, DeviceArray):
        return obj.as_requested(requested)
    return _WholeExporter(parts_of(obj, preserve_index, how.stream), how)(requested)


@dataclass(slots=True)
class _WholeExporter:
    """What is exported, and can be exported again the way that another consumer asks for."""

    parts: Parts
    how: ExportOptions

    def __call__(self, requested: object | None) -> DeviceArray:
        return export(self.parts, self.how, requested, self)

    def of_part(self, array: ExportedArray, schema: Any) -> _PartExporter:
        return _PartExporter(array, schema, self.how)


@dataclass(slots=True)
class _PartExporter:
    """A child of an exported array, which is imported to be exported in another way."""

    array: ExportedArray
    schema: Any
    how: ExportOptions

    def __arrow_c_device_array__(self) -> tuple[object, object]:
        return self.schema.__arrow_c_schema__(), self.array.device_array_capsule()

    def __call__(self, requested: object | None) -> DeviceArray:
        parts = parts_of_source(open_source(self), self.how.stream, "column")
        return _WholeExporter(parts, self.how)(requested)

    def of_part(self, array: ExportedArray, schema: Any) -> _PartExporter:
        return _PartExporter(array, schema, self.how)
