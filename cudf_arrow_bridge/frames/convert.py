# SPDX-License-Identifier: Apache-2.0
"""The conversions that cuDF frames need, on the CPU for host memory, else on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pylibcudf as plc

from ..arrow.copies import quoted
from ..cuda.residency import ComputeLocation
from ..cuda.spans import HostSpan, view_host

__all__ = [
    "INTEGERS",
    "all_null_strings",
    "cast_codes",
    "check_codes",
    "codes_of",
    "count_nulls",
    "days_to_seconds",
    "decode",
    "sequence",
]

#: The integers of libcudf, and those of NumPy.
INTEGERS: dict[plc.TypeId, np.dtype[Any]] = {
    plc.TypeId.INT8: np.dtype("int8"),
    plc.TypeId.INT16: np.dtype("int16"),
    plc.TypeId.INT32: np.dtype("int32"),
    plc.TypeId.INT64: np.dtype("int64"),
    plc.TypeId.UINT8: np.dtype("uint8"),
    plc.TypeId.UINT16: np.dtype("uint16"),
    plc.TypeId.UINT32: np.dtype("uint32"),
    plc.TypeId.UINT64: np.dtype("uint64"),
}
_IDS = {dtype: type_id for type_id, dtype in INTEGERS.items()}
_SECONDS_PER_DAY = 86_400
_NO_BYTES = pa.py_buffer(b"")


def days_to_seconds(
    column: plc.Column, type_id: plc.TypeId, location: ComputeLocation
) -> plc.Column:
    """Return a column of days in seconds. On the host, a slice keeps its offset."""
    if not location.host:
        return plc.unary.cast(column, plc.DataType(type_id), location.stream)
    days = _values(column, np.dtype("int32"))
    seconds = np.empty(len(days), dtype="int64")
    begin = column.offset()
    np.multiply(days[begin:], _SECONDS_PER_DAY, out=seconds[begin:], dtype="int64")
    return _with_data(column, type_id, seconds)


def codes_of(dictionary: plc.Column) -> plc.Column:
    """Return the indices of a dictionary column, with its own mask and rows."""
    indices = dictionary.children()[0]
    return _as_integers(indices, dictionary, indices.type())


def check_codes(dictionary: plc.Column, path: str, location: ComputeLocation) -> None:
    """Check that each index of a dictionary column is one of its dictionary, except under nulls.

    Waits for device memory.

    Raises
    ------
    ValueError
        If one is not.
    """
    if dictionary.size() == dictionary.null_count():
        return
    codes, values = codes_of(dictionary), dictionary.children()[1]
    if location.host:
        index_type = pa.from_numpy_dtype(INTEGERS[codes.type().id()])
        bounds = pc.min_max(_to_arrow(codes, index_type)).as_py().values()
    else:
        minmax = plc.reduce.minmax(codes, location.stream)
        bounds = [scalar.to_py(location.stream) for scalar in minmax]
    for code in bounds:
        if not 0 <= code < values.size():
            raise ValueError(
                f"column {quoted(path)}: expected indices of {values.size()} dictionary values, "
                f"got {code}"
            )


def _as_integers(data: plc.Column, rows: plc.Column, dtype: plc.DataType) -> plc.Column:
    """Return the data of one column as integers, with the mask and the rows of another."""
    return plc.Column(
        dtype, rows.size(), data.data(), rows.null_mask(), rows.null_count(), rows.offset(), []
    )


def cast_codes(column: plc.Column, dtype: np.dtype[Any], location: ComputeLocation) -> plc.Column:
    """Return a category's codes in the unsigned type in which cuDF stores them.

    Codes of the same width are not negative, so that their memory is shared.
    """
    old_dtype = INTEGERS[column.type().id()]
    type_id = _IDS[dtype]
    if old_dtype.itemsize == dtype.itemsize:
        return _as_integers(column, column, plc.DataType(type_id))
    if not location.host:
        return plc.unary.cast(column, plc.DataType(type_id), location.stream)
    old = _values(column, old_dtype)
    new = np.empty(len(old), dtype=dtype)
    begin = column.offset()
    # Data under nulls may be out of range, and does not matter.
    new[begin:] = old[begin:].astype(dtype, casting="unsafe")
    return _with_data(column, type_id, new)


def count_nulls(mask: Any, offset: int, size: int) -> int:
    """Count the nulls among some rows of a mask in host memory."""
    bits = _as_buffer(mask)
    null_count: int = pa.Array.from_buffers(
        pa.bool_(), size, [bits, bits], offset=offset
    ).null_count
    return null_count


def all_null_strings(size: int, location: ComputeLocation) -> plc.Column:
    """Return a string column of nulls."""
    string = plc.DataType(plc.TypeId.STRING)
    if not location.host:
        null = plc.Scalar.from_py(None, string, location.stream)
        return plc.Column.from_scalar(null, size, location.stream)
    mask = np.zeros(plc.null_mask.bitmask_allocation_size_bytes(size), dtype="uint8")
    offsets = np.zeros(size + 1, dtype="int32")
    return plc.Column(
        string, size, None, HostSpan(mask), size, 0, [_column(plc.TypeId.INT32, offsets)]
    )


def sequence(values: range, location: ComputeLocation) -> plc.Column:
    """Return a range as a column."""
    if not location.host:
        start, step = (
            plc.Scalar.from_py(number, plc.DataType(plc.TypeId.INT64), location.stream)
            for number in (values.start, values.step)
        )
        return plc.filling.sequence(len(values), start, step, location.stream)
    return _column(
        plc.TypeId.INT64, np.arange(values.start, values.stop, values.step, dtype="int64")
    )


def decode(column: plc.Column, values: plc.Column, location: ComputeLocation) -> plc.Column:
    """Return the value of each code.

    Parameters
    ----------
    column
        The codes, of any integer type. Those under nulls may be out of range.
    values
        The dictionary; on the host not nested.
    location
        Where to compute.
    """
    if location.host:
        return _decode_host(column, values)
    return _decode_device(column, values, location.stream)


def _decode_device(column: plc.Column, values: plc.Column, stream: Any) -> plc.Column:
    # A gather map has no nulls: gather for all rows, out of range or not, and mask afterwards.
    gather_map = plc.unary.cast(column.with_mask(None, 0), plc.DataType(plc.TypeId.INT32), stream)
    (gathered,) = plc.copying.gather(
        plc.Table([values]), gather_map, plc.copying.OutOfBoundsPolicy.NULLIFY, stream
    ).columns()
    mask, null_count = plc.null_mask.bitmask_and([gathered, column], stream)
    return gathered.with_mask(mask if null_count else None, null_count)


def _decode_host(column: plc.Column, values: plc.Column) -> plc.Column:
    index_type = pa.from_numpy_dtype(INTEGERS[column.type().id()])
    taken = _to_arrow(values, _binary_type(values)).take(_to_arrow(column, index_type))
    mask, *buffers = taken.buffers()
    spans = [HostSpan(_bytes(buffer)) for buffer in buffers]
    if mask is not None:
        # libcudf pads masks to 64 bytes; pyarrow's may end with the last byte in use.
        padded = np.zeros(plc.null_mask.bitmask_allocation_size_bytes(len(taken)), dtype="uint8")
        bits = _bytes(mask)[: len(padded)]
        padded[: len(bits)] = bits
    children = []
    if values.type().id() == plc.TypeId.STRING:
        is_large = pa.types.is_large_binary(taken.type)
        offset_type = plc.DataType(plc.TypeId.INT64 if is_large else plc.TypeId.INT32)
        children = [plc.Column(offset_type, len(taken) + 1, spans[0], None, 0, 0, [])]
    return plc.Column(
        values.type(),
        len(taken),
        spans[-1],
        HostSpan(padded) if mask is not None else None,
        taken.null_count,
        0,
        children,
    )


def _binary_type(values: plc.Column) -> pa.DataType:
    """Return an Arrow binary type whose values have the size of a column's."""
    if values.type().id() == plc.TypeId.STRING:
        children = values.children()
        is_large = bool(children) and children[0].type().id() == plc.TypeId.INT64
        return pa.large_binary() if is_large else pa.binary()
    return pa.binary(plc.types.size_of(values.type()))


def _to_arrow(column: plc.Column, arrow_type: pa.DataType) -> pa.Array:
    buffers = [_as_buffer(column.null_mask()) if column.null_count() else None]
    if column.type().id() == plc.TypeId.STRING:
        children = column.children()
        buffers.append(_as_buffer(children[0].data() if children else None) or _NO_BYTES)
    buffers.append(_as_buffer(column.data()) or _NO_BYTES)
    return pa.Array.from_buffers(arrow_type, column.size(), buffers, offset=column.offset())


def _as_buffer(span: Any) -> pa.Buffer | None:
    if span is None or span.ptr == 0:
        return None
    return pa.foreign_buffer(span.ptr, span.size, base=span)


def _bytes(buffer: pa.Buffer) -> np.ndarray[Any, Any]:
    # NumPy refuses empty buffers.
    return np.frombuffer(buffer, dtype="uint8") if buffer.size else np.empty(0, dtype="uint8")


def _values(column: plc.Column, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    count = column.offset() + column.size()
    data = column.data()
    return np.empty(0, dtype) if data is None else view_host(data, dtype, count)


def _with_data(column: plc.Column, type_id: plc.TypeId, values: np.ndarray[Any, Any]) -> plc.Column:
    return plc.Column(
        plc.DataType(type_id),
        column.size(),
        HostSpan(values),
        column.null_mask(),
        column.null_count(),
        column.offset(),
        [],
    )


def _column(type_id: plc.TypeId, values: np.ndarray[Any, Any]) -> plc.Column:
    return plc.Column(plc.DataType(type_id), len(values), HostSpan(values), None, 0, 0, [])
