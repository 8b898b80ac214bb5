# SPDX-License-Identifier: Apache-2.0
"""Tensors of any library as columns, and as what is made of these."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pylibcudf as plc

from .._core.columns import table_of
from .._core.tensor import import_dlpack, import_memory, is_dlpack_capsule
from ..cuda.ordering import ImportStreams
from ..cuda.residency import DeviceType
from ..cuda.streams import Stream

if TYPE_CHECKING:
    import cudf

__all__ = ["Imported", "assemble", "bring_cuda_array", "bring_dlpack"]

#: Columns, their number of rows, and whether they are a table.
Imported = tuple[list[plc.Column], int, bool]

_MAX_VERSION = (1, 0)


def bring_dlpack(obj: Any, streams: ImportStreams, mr: Any, copy: bool | None) -> Imported:
    """Import a tensor, or the DLPack capsule of one; see `from_dlpack`."""
    capsule = obj if is_dlpack_capsule(obj) else _ask(obj, streams.arrival, copy)
    return import_dlpack(capsule, streams.arrival, streams.reader, mr, copy)


def bring_cuda_array(obj: Any, streams: ImportStreams, mr: Any, copy: bool | None) -> Imported:
    """Import what the CUDA array interface describes; see `from_cuda_array_interface`."""
    interface = getattr(obj, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        raise TypeError(
            f"an object of type {type(obj).__name__} found, one with __cuda_array_interface__ "
            "expected"
        )
    if interface.get("mask") is not None:
        raise TypeError("a CUDA array interface with a mask found, none expected")
    kind, size = _element(interface["typestr"])
    shape = tuple(map(int, interface["shape"]))
    strides = interface.get("strides")
    strides = _row_major(shape, size) if strides is None else tuple(map(int, strides))
    if any(stride % size for stride in strides):
        raise ValueError(f"strides {strides} found, multiples of {size} bytes expected")
    address, producer = interface["data"][0] or 0, interface.get("stream")
    if producer is not None and int(producer) == 0:
        raise ValueError("stream 0 found in a CUDA array interface, which forbids it as ambiguous")
    return import_memory(
        *(obj, address, shape, strides, kind, size, producer),
        *(streams.arrival, streams.reader, mr, copy),
    )


def _ask(obj: Any, stream: Stream, copy: bool | None) -> object:
    """Ask a producer for its capsule; it makes our stream wait."""
    if not (hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__")):
        raise TypeError(
            f"an object of type {type(obj).__name__} found, one with __dlpack__ and "
            "__dlpack_device__ expected"
        )
    device_type, _ = obj.__dlpack_device__()
    on_stream = int(device_type) in (DeviceType.CUDA, DeviceType.CUDA_MANAGED)
    # 0 is ambiguous in DLPack; the legacy default stream is 1.
    arguments: dict[str, Any] = {"stream": stream.handle or 1} if on_stream else {}
    # What makes a copy here need not make one there, too.
    newer = {"max_version": _MAX_VERSION} | ({"copy": False} if copy is False else {})
    try:
        return obj.__dlpack__(**arguments, **newer)
    except TypeError:
        # A producer of before DLPack 1.0.
        return obj.__dlpack__(**arguments)


def _element(typestr: str) -> tuple[str, int]:
    """Read the type of elements, as NumPy's array interface writes it: its kind and its bytes."""
    order, kind, size = typestr[:1], typestr[1:2], typestr[2:]
    bytes_ = int(size) if size.isdigit() else 0
    if kind not in ("i", "u", "f", "b") or order not in ("<", "|") or bytes_ == 0:
        raise TypeError(f"typestr {typestr!r} found, little-endian numbers or bools expected")
    return kind, bytes_


def _row_major(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple(size * math.prod(shape[i + 1 :]) for i in range(len(shape)))


def assemble(
    imported: Imported, streams: ImportStreams, to: str
) -> cudf.DataFrame | cudf.Series | plc.Table | plc.Column:
    """Make what the caller wants of imported columns, which are numbered in a frame.

    Parameters
    ----------
    imported
        What `bring_dlpack` or `bring_cuda_array` returned.
    streams
        The streams of the import.
    to
        What to make, "cudf" or "pylibcudf".
    """
    columns, num_rows, is_table = imported
    if to == "pylibcudf":
        return table_of(columns, num_rows) if is_table else columns[0]
    # cuDF takes a second to import, which those who want none of its frames are spared.
    from ..frames.assemble import assemble_frame, assemble_series

    streams.arrived()
    fields = [pa.field(str(i), _arrow_type(column)) for i, column in enumerate(columns)]
    if not is_table:
        series = assemble_series(columns[0], fields[0].with_name(""), None, streams.use)
        streams.made()
        return series
    frame = assemble_frame(columns, pa.schema(fields), num_rows, None, streams.use)
    frame.columns = range(len(columns))
    streams.made()
    return frame


def _arrow_type(column: plc.Column) -> pa.DataType:
    type_id = column.type().id()
    return pa.type_for_alias("bool" if type_id == plc.TypeId.BOOL8 else type_id.name.lower())
