# SPDX-License-Identifier: Apache-2.0
"""The accessor ``df.arrow_device``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..arrow.device_array import DeviceArray
from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.schemas import as_field, as_schema
from ..cuda.streams import cudf_handle_of_all_threads
from ..export.inputs import kind_and_schema
from ..to_arrow import to_arrow_device, to_arrow_device_stream

if TYPE_CHECKING:
    import pyarrow as pa


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a method with the keywords of a function that takes the object."""
    signature = inspect.signature(function)
    obj, *keywords = signature.parameters.values()
    return signature.replace(parameters=[obj.replace(name="self"), *keywords])


class ArrowDeviceAccessor:
    """Export a cuDF object to other Arrow libraries, without a copy where the layouts are equal.

    Examples
    --------
    >>> df.arrow_device.export()  # doctest: +SKIP
    >>> df.arrow_device.export_stream(max_rows=1_000_000)  # doctest: +SKIP
    >>> consumer(df.arrow_device)  # doctest: +SKIP
    """

    __slots__ = ("_obj",)

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def export(self, **options: Any) -> DeviceArray:
        """Export the object, with the keywords of :func:`cudf_arrow_bridge.to_arrow_device`."""
        return to_arrow_device(self._obj, **options)

    export.__signature__ = _signature_of(to_arrow_device)  # type: ignore[attr-defined]

    def export_stream(self, **options: Any) -> DeviceArrayStream:
        """Export the object in batches.

        The keywords are those of :func:`cudf_arrow_bridge.to_arrow_device_stream`.
        """
        return to_arrow_device_stream(self._obj, **options)

    export_stream.__signature__ = _signature_of(to_arrow_device_stream)  # type: ignore[attr-defined]

    @property
    def schema(self) -> pa.Schema | pa.Field:
        """The Arrow schema of the exported frame, or the field of the exported series or index."""
        if (known := kind_and_schema(self._obj)) is None:
            return self.export().schema
        kind, schema = known
        return as_schema(schema) if kind == "table" else as_field(schema)

    # Consumers call these on any thread and do not know which thread produced the data.

    def __arrow_c_device_array__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> tuple[object, object]:
        """Export as PyCapsules ``arrow_schema`` and ``arrow_device_array``."""
        exported = self.export(stream=cudf_handle_of_all_threads())
        return exported.__arrow_c_device_array__(requested_schema, **kwargs)

    def __arrow_c_device_stream__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> object:
        """Export as an ``arrow_device_array_stream`` PyCapsule: a stream of one batch."""
        exported = self.export_stream(stream=cudf_handle_of_all_threads())
        return exported.__arrow_c_device_stream__(requested_schema, **kwargs)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Export as PyCapsules ``arrow_schema`` and ``arrow_array``; copy CUDA memory to the host.

        See `DeviceArray.__arrow_c_array__`.
        """
        exported = self.export(stream=cudf_handle_of_all_threads())
        return exported.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export as an ``arrow_array_stream`` PyCapsule; copy CUDA memory to the host.

        See `DeviceArrayStream.__arrow_c_stream__`.
        """
        exported = self.export_stream(stream=cudf_handle_of_all_threads())
        return exported.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Export the schema as an ``arrow_schema`` PyCapsule."""
        known = kind_and_schema(self._obj)
        described = self.export() if known is None else known[1]
        return described.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<arrow_device of a cuDF {type(self._obj).__name__}: export() exports it to Arrow>"
