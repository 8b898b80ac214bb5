# SPDX-License-Identifier: Apache-2.0
"""Tensors of any library as columns, and as frames and series."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pylibcudf as plc

from .._core.columns import table_of
from .._core.tensor import import_dlpack, import_memory, is_dlpack_capsule
from ..arrow.options import TensorImportOptions
from ..cuda.ordering import ImportStreams
from ..cuda.residency import DeviceType
from ..frames.proxies import as_proxy, check_active

if TYPE_CHECKING:
    import cudf

__all__ = ["ImportedTensor", "StridedMemory", "assemble", "import_cuda_array", "import_tensor"]

#: Columns, their number of rows, and whether they are a table.
ImportedTensor = tuple[list[plc.Column], int, bool]

#: The version of DLPack that producers are asked for.
_DLPACK_VERSION = (1, 0)


@dataclass(frozen=True, slots=True)
class StridedMemory:
    """What an object's CUDA array interface says.

    Attributes
    ----------
    owner
        The object, which keeps the memory alive.
    address
        The address of the first element; 0 if there is none.
    shape
        The number of elements in each dimension.
    strides
        The bytes from one element to the next in each dimension.
    kind, itemsize
        The type of the elements: its letter in NumPy's type strings, and its bytes.
    stream
        The handle of the stream that makes the data; None if the data is there.
    """

    owner: Any
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: str
    itemsize: int
    stream: int | None


def import_tensor(obj: Any, options: TensorImportOptions) -> ImportedTensor:
    """Import an object with DLPack's protocol, or a DLPack capsule; see `from_dlpack`."""
    capsule = obj if is_dlpack_capsule(obj) else _request_capsule(obj, options)
    return import_dlpack(capsule, options)


def import_cuda_array(obj: Any, options: TensorImportOptions) -> ImportedTensor:
    """Import an object with the CUDA array interface; see `from_cuda_array_interface`."""
    interface = getattr(obj, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        raise TypeError(
            f"an object of type {type(obj).__name__} found, one with __cuda_array_interface__ "
            "expected"
        )
    for key in ("typestr", "shape", "data"):
        if key not in interface:
            raise ValueError(f"a CUDA array interface without {key!r} found, one with it expected")
    if interface.get("mask") is not None:
        raise TypeError("a CUDA array interface with a mask found, none expected")
    kind, itemsize = _element_type(interface["typestr"])
    shape = tuple(map(int, interface["shape"]))
    strides = interface.get("strides")
    strides = _row_major(shape, itemsize) if strides is None else tuple(map(int, strides))
    if any(stride % itemsize for stride in strides):
        raise ValueError(f"strides {strides} found, multiples of {itemsize} bytes expected")
    address, stream = interface["data"][0] or 0, interface.get("stream")
    if stream is not None and int(stream) == 0:
        raise ValueError("stream 0 found in a CUDA array interface, which forbids it as ambiguous")
    memory = StridedMemory(obj, address, shape, strides, kind, itemsize, stream)
    return import_memory(memory, options)


def _request_capsule(obj: Any, options: TensorImportOptions) -> object:
    """Ask an object for its DLPack capsule; it makes the stream of the import wait."""
    if not (hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__")):
        raise TypeError(
            f"an object of type {type(obj).__name__} found, one with __dlpack__ and "
            "__dlpack_device__ expected"
        )
    device_type, _ = obj.__dlpack_device__()
    on_stream = int(device_type) in (DeviceType.CUDA, DeviceType.CUDA_MANAGED)
    # 0 is ambiguous in DLPack; the legacy default stream is 1.
    arguments: dict[str, Any] = {"stream": options.stream.handle or 1} if on_stream else {}
    # copy=True is not passed on: the import makes the copy.
    newer = {"max_version": _DLPACK_VERSION} | ({"copy": False} if options.copy is False else {})
    try:
        return obj.__dlpack__(**arguments, **newer)
    except TypeError:
        # A producer older than DLPack 1.0.
        return obj.__dlpack__(**arguments)


def _element_type(typestr: str) -> tuple[str, int]:
    """Read a type string of NumPy's array interface: the letter of its kind, and its bytes."""
    order, kind, size = typestr[:1], typestr[1:2], typestr[2:]
    itemsize = int(size) if size.isdigit() else 0
    if kind not in ("i", "u", "f", "b") or order not in ("<", "|") or itemsize == 0:
        raise TypeError(f"typestr {typestr!r} found, little-endian numbers or bools expected")
    return kind, itemsize


def _row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the strides of contiguous memory: (24, 8) for 2 rows of 3 elements of 8 bytes."""
    return tuple(itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape)))


def assemble(
    imported: ImportedTensor, streams: ImportStreams, to: str
) -> cudf.DataFrame | cudf.Series | plc.Table | plc.Column:
    """Make what the caller asked for from imported columns; those of a frame are numbered.

    Parameters
    ----------
    imported
        What `import_tensor` or `import_cuda_array` returned.
    streams
        The streams of the import.
    to
        What to make: "cudf", "cudf.pandas" or "pylibcudf".
    """
    if to == "cudf.pandas":
        check_active()
    columns, num_rows, is_table = imported
    if to == "pylibcudf":
        return table_of(columns, num_rows) if is_table else columns[0]
    # Importing cuDF takes a second, which callers that want no frames are spared.
    from ..frames.assemble import assemble_frame, assemble_series

    streams.compute_after_import()
    fields = [pa.field(str(i), _arrow_type(column)) for i, column in enumerate(columns)]
    result: cudf.DataFrame | cudf.Series
    if is_table:
        result = assemble_frame(columns, pa.schema(fields), num_rows, stream=streams.computing)
        result.columns = range(len(columns))
    else:
        result = assemble_series(columns[0], fields[0].with_name(""), stream=streams.computing)
    streams.import_after_compute()
    return as_proxy(result) if to == "cudf.pandas" else result


def _arrow_type(column: plc.Column) -> pa.DataType:
    type_id = column.type().id()
    return pa.type_for_alias("bool" if type_id == plc.TypeId.BOOL8 else type_id.name.lower())
