# SPDX-License-Identifier: Apache-2.0
"""Tensors of any library as cuDF data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pylibcudf as plc

from ._core.columns import table_of
from ._core.tensor import import_dlpack, import_memory, is_dlpack_capsule
from ._frames_loader import load_frames
from .cuda.ordering import ImportStreams
from .cuda.residency import DeviceType
from .cuda.streams import Stream

if TYPE_CHECKING:
    import cudf

__all__ = ["from_cuda_array_interface", "from_dlpack"]

_MAX_VERSION = (1, 0)


def from_dlpack(
    obj: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    to: Literal["cudf", "pylibcudf"] = "cudf",
    copy: bool | None = None,
) -> cudf.DataFrame | cudf.Series | plc.Table | plc.Column:
    """Import a tensor as cuDF data, without copying it where its columns are contiguous.

    One dimension becomes a column, two a table: zero-copy in Fortran order, gathered into columns
    otherwise. The memory stays the producer's: its deleter is called once, after the last column
    over it has gone and the work that may still read it is done.

    Parameters
    ----------
    obj : Any
        Anything with ``__dlpack__`` and ``__dlpack_device__``, or a DLPack capsule, whose producer
        the caller has to order with `stream`.
    stream : optional
        The stream that will use the data: the producer makes it wait. As in `to_arrow_device`.
    mr : rmm.mr.DeviceMemoryResource, optional
        Where copies come from; None for rmm's current resource.
    to : {"cudf", "pylibcudf"}
        What to make: a frame or series, or a pylibcudf table or column.
    copy : bool, optional
        None: copy what cannot be shared; True: always; False: never, which is an error where the
        columns are not contiguous or the memory is the host's and there is a GPU.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        By the number of dimensions and `to`. A frame's columns are numbered.

    Raises
    ------
    TypeError
        If `obj` speaks no DLPack, or cuDF has no such type.
    ValueError
        If the tensor contradicts itself, has no or more than two dimensions, lives on another
        device than the current one (unless copied), or would have to be copied with ``copy=False``.
    OverflowError
        If it has more rows than a cuDF column can.
    """
    streams = ImportStreams.of(stream, to)
    capsule = obj if is_dlpack_capsule(obj) else _ask(obj, streams.arrival, copy)
    imported = import_dlpack(capsule, streams.arrival, streams.reader, mr, copy)
    return _assemble(imported, streams, to)


def from_cuda_array_interface(
    obj: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    to: Literal["cudf", "pylibcudf"] = "cudf",
    copy: bool | None = None,
) -> cudf.DataFrame | cudf.Series | plc.Table | plc.Column:
    """Import an object with the CUDA array interface, likewise.

    `stream` is made to wait for the stream that the interface names. The object is let go once the
    work that may read its memory is done.

    Parameters
    ----------
    obj : Any
        Anything with ``__cuda_array_interface__``.
    stream, mr, to, copy
        As in `from_dlpack`.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        By the number of dimensions and `to`.

    Raises
    ------
    TypeError
        If `obj` has no such interface, a mask, or a type that cuDF lacks.
    ValueError, OverflowError
        As in `from_dlpack`.
    """
    streams = ImportStreams.of(stream, to)
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
    imported = import_memory(
        *(obj, address, shape, strides, kind, size, producer),
        *(streams.arrival, streams.reader, mr, copy),
    )
    return _assemble(imported, streams, to)


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


def _assemble(
    imported: tuple[list[plc.Column], int, bool], streams: ImportStreams, to: str
) -> cudf.DataFrame | cudf.Series | plc.Table | plc.Column:
    columns, num_rows, is_table = imported
    if to == "pylibcudf":
        if not is_table:
            return columns[0]
        return table_of(columns, num_rows)
    streams.arrived()
    frames = load_frames()
    fields = [pa.field(str(i), _arrow_type(column)) for i, column in enumerate(columns)]
    if not is_table:
        series = frames.assemble_series(columns[0], fields[0].with_name(""), None, streams.use)
        streams.made()
        return series
    frame = frames.assemble_frame(columns, pa.schema(fields), num_rows, None, streams.use)
    frame.columns = range(len(columns))
    streams.made()
    return frame


def _arrow_type(column: plc.Column) -> pa.DataType:
    type_id = column.type().id()
    return pa.type_for_alias("bool" if type_id == plc.TypeId.BOOL8 else type_id.name.lower())
