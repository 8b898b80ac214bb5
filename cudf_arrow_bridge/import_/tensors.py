# SPDX-License-Identifier: Apache-2.0
"""Import of tensors of any library as columns, frames and series."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pylibcudf as plc

from .._core.import_.array_importer import importer_of
from .._core.tensor import import_dlpack, import_memory, is_dlpack_capsule
from ..arrow.tensor_protocols import row_major
from ..cuda.residency import DeviceType
from ..cuda.streams import LEGACY_HANDLE, PER_THREAD_HANDLE
from .importer import Importer

if TYPE_CHECKING:
    from ..arrow.options import Kind
    from ..cuda.streams import Stream

#: The columns, whether they form a table, and the shape of the tensor.
ImportedTensor = tuple[list[plc.Column], bool, tuple[int, ...]]

#: The maximum DLPack version that is requested from producers.
_DLPACK_VERSION = (1, 3)


def import_tensor(obj: Any, importer: Importer, kind: Kind | None) -> Any:
    """Import an object with the DLPack protocol, or a DLPack capsule; see `from_dlpack`."""
    if not is_dlpack_capsule(obj):
        obj = request_capsule(obj, importer.importing, importer.copy)
    imported = import_dlpack(obj, kind == "column", importer.arguments)
    return _make_result(imported, importer, kind)


def import_cuda_array(obj: Any, importer: Importer, kind: Kind | None) -> Any:
    """Import an object with the CUDA array interface; see `from_cuda_array_interface`."""
    interface = getattr(obj, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        raise TypeError(
            f"an object of type {type(obj).__name__} has no dict as its __cuda_array_interface__"
        )
    for key in ("typestr", "shape", "data"):
        if key not in interface:
            raise ValueError(f"CUDA array interface: the key {key!r} is missing")
    if interface.get("mask") is not None:
        raise TypeError("CUDA array interface: masks are not supported")
    letter, itemsize = _element_type(interface["typestr"])
    shape = _integers("shape", interface["shape"])
    strides = interface.get("strides")
    strides = row_major(shape, itemsize) if strides is None else _integers("strides", strides)
    if any(stride % itemsize for stride in strides):
        raise ValueError(f"expected strides in multiples of {itemsize} bytes, got {strides}")
    address, stream = interface["data"][0] or 0, producing_handle(interface)
    memory = obj, address, shape, strides, letter, itemsize, stream
    imported = import_memory(*memory, kind == "column", importer.arguments)
    return _make_result(imported, importer, kind)


def producing_handle(interface: dict[str, Any]) -> int | None:
    """Return the handle of the stream that writes the memory of a CUDA array interface."""
    if interface.get("stream") is None:
        return None
    stream = index(interface["stream"])
    if stream <= 0:
        raise ValueError(f"CUDA array interface: expected a stream of at least 1, got {stream}")
    # The interface does not say which thread's default stream 2 is. Work on the legacy stream
    # waits for those of all threads.
    return LEGACY_HANDLE if stream == PER_THREAD_HANDLE else stream


def _integers(key: str, values: Any) -> tuple[int, ...]:
    """Return the shape or strides of a CUDA array interface."""
    if not isinstance(values, tuple | list):
        raise TypeError(f"CUDA array interface: expected a tuple of {key}, got {values!r}")
    return tuple(map(index, values))


def request_capsule(obj: Any, stream: Stream, copy: bool | None) -> object:
    """Request a DLPack capsule. The producer makes `stream` wait for the data."""
    if not (hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__")):
        raise TypeError(
            f"an object of type {type(obj).__name__} lacks __dlpack__ or __dlpack_device__"
        )
    device_type, _ = obj.__dlpack_device__()
    on_stream = int(device_type) in (DeviceType.CUDA, DeviceType.CUDA_MANAGED)
    # In DLPack, stream 0 is ambiguous, and 2 is the default stream of the producer's thread, which
    # torch refuses. The default streams of all threads wait for the legacy default stream.
    is_default = stream.handle in (0, PER_THREAD_HANDLE)
    handle = LEGACY_HANDLE if is_default else stream.handle
    arguments: dict[str, Any] = {"stream": handle} if on_stream else {}
    # copy=True is not passed to the producer, because the import makes the copy.
    newer = {"max_version": _DLPACK_VERSION} | ({"copy": False} if copy is False else {})
    try:
        return obj.__dlpack__(**arguments, **newer)
    except TypeError as error:
        # A producer before DLPack 1.0 does not know the arguments. Its error has no frame of the
        # producer, or names the argument, as from Cython and wrappers.
        ran = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        if ran and not any(repr(name) in str(error) for name in newer):
            raise
    return obj.__dlpack__(**arguments)


def _element_type(typestr: str) -> tuple[str, int]:
    """Parse a type string of NumPy's array interface to its kind letter and size in bytes."""
    order, kind, size = typestr[:1], typestr[1:2], typestr[2:]
    itemsize = int(size) if size.isascii() and size.isdigit() else 0
    if kind not in ("i", "u", "f", "b") or order not in ("<", "|") or not 0 < itemsize <= 16:
        raise TypeError(f"expected little-endian numbers or bools, got typestr {typestr!r}")
    return kind, itemsize


def _make_result(imported: ImportedTensor, importer: Importer, kind: Kind | None) -> Any:
    """Make the requested object from imported columns; the columns of a frame are numbered."""
    columns, is_table, shape = imported
    if kind == "table" and not is_table:
        raise ValueError("kind='table': the tensor has one dimension, a table needs two")
    if is_table:
        schema = pa.schema([(str(i), _arrow_type(column)) for i, column in enumerate(columns)])
    else:
        schema = pa.field("", _arrow_type(columns[0], shape[1:]))
    importer.compute_after_import()
    parsed = importer_of(schema.__arrow_c_schema__())
    result_kind: Kind = "table" if is_table else "column"
    result = importer.make_result(parsed, result_kind, (), columns, shape[0], None)
    if is_table and importer.makes_frames:
        result.columns = range(len(columns))
    return result


def _arrow_type(column: plc.Column, list_shape: tuple[int, ...] = ()) -> pa.DataType:
    """Return the type of a column of numbers, or of lists with the shape of each list."""
    if list_shape:
        element = _arrow_type(column.children()[1])
        if len(list_shape) > 1:
            return pa.fixed_shape_tensor(element, list_shape)
        return pa.list_(element, *list_shape)
    return column.type().to_arrow()
