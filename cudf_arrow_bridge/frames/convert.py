# SPDX-License-Identifier: Apache-2.0
"""The conversions that cuDF's frames need, on the CPU or on the GPU, wherever the memory is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pylibcudf as plc

from ..cuda.residency import Place
from ..cuda.spans import HostSpan, view_host

__all__ = ["all_null_strings", "codes", "codes_of", "days_to_seconds", "decode", "sequence"]

_INTEGERS: dict[plc.TypeId, np.dtype[Any]] = {
    plc.TypeId.INT8: np.dtype("int8"),
    plc.TypeId.INT16: np.dtype("int16"),
    plc.TypeId.INT32: np.dtype("int32"),
    plc.TypeId.INT64: np.dtype("int64"),
    plc.TypeId.UINT8: np.dtype("uint8"),
    plc.TypeId.UINT16: np.dtype("uint16"),
    plc.TypeId.UINT32: np.dtype("uint32"),
    plc.TypeId.UINT64: np.dtype("uint64"),
}
_IDS = {dtype: type_id for type_id, dtype in _INTEGERS.items()}
_SECONDS_A_DAY = 86_400
_NOTHING = pa.py_buffer(b"")


def days_to_seconds(column: plc.Column, type_id: plc.TypeId, place: Place) -> plc.Column:
    """Return a column of days in seconds; a sliced one keeps its offset on the host."""
    if not place.host:
        return plc.unary.cast(column, plc.DataType(type_id), place.stream)
    days = _values(column, np.dtype("int32"))
    seconds = np.empty(len(days), dtype="int64")
    begin = column.offset()
    np.multiply(days[begin:], _SECONDS_A_DAY, out=seconds[begin:], dtype="int64")
    return _with_data(column, type_id, seconds)


def codes_of(dictionary: plc.Column) -> plc.Column:
    """Return the indices of a dictionary column, with its own mask and rows."""
    indices = dictionary.children()[0]
    return _as_integers(indices, dictionary, indices.type())


def _as_integers(data: plc.Column, rows: plc.Column, dtype: plc.DataType) -> plc.Column:
    """Return the bits of one column as integers of the rows of another."""
    return plc.Column(
        dtype, rows.size(), data.data(), rows.null_mask(), rows.null_count(), rows.offset(), []
    )


def codes(column: plc.Column, wanted: np.dtype[Any], place: Place) -> plc.Column:
    """Return a category's codes in the unsigned type that cuDF wants.

    The bits of codes that are as wide already serve as they are; other widths are converted.
    """
    found = _INTEGERS[column.type().id()]
    target = _IDS[wanted]
    if found.itemsize == wanted.itemsize:
        return _as_integers(column, column, plc.DataType(target))
    if not place.host:
        return plc.unary.cast(column, plc.DataType(target), place.stream)
    old = _values(column, found)
    new = np.empty(len(old), dtype=wanted)
    begin = column.offset()
    # Whatever lies under a null may not fit, and does not matter.
    new[begin:] = old[begin:].astype(wanted, casting="unsafe")
    return _with_data(column, target, new)


def all_null_strings(size: int, place: Place) -> plc.Column:
    """Return a string column of nulls."""
    string = plc.DataType(plc.TypeId.STRING)
    if not place.host:
        nothing = plc.Scalar.from_py(None, string, place.stream)
        return plc.Column.from_scalar(nothing, size, place.stream)
    mask = np.zeros(plc.null_mask.bitmask_allocation_size_bytes(size), dtype="uint8")
    offsets = np.zeros(size + 1, dtype="int32")
    return plc.Column(
        string, size, None, HostSpan(mask), size, 0, [_column(plc.TypeId.INT32, offsets)]
    )


def sequence(values: range, place: Place) -> plc.Column:
    """Return a range as a column."""
    if not place.host:
        start, step = (
            plc.Scalar.from_py(number, plc.DataType(plc.TypeId.INT64), place.stream)
            for number in (values.start, values.step)
        )
        return plc.filling.sequence(len(values), start, step, place.stream)
    return _column(
        plc.TypeId.INT64, np.arange(values.start, values.stop, values.step, dtype="int64")
    )


def decode(column: plc.Column, values: plc.Column, place: Place) -> plc.Column:
    """Return the value of each code.

    Parameters
    ----------
    column
        The codes, of any integer type. Under a null lies anything.
    values
        The dictionary: on the host, numbers, times, decimals or strings.
    place
        Where both are.
    """
    if place.host:
        return _decode_host(column, values)
    return _decode_device(column, values, place.stream)


def _decode_device(column: plc.Column, values: plc.Column, stream: Any) -> plc.Column:
    # A gather map has no nulls: take what lies under them for what it is, out of bounds or not,
    # and mask it afterwards.
    plain = plc.unary.cast(column.with_mask(None, 0), plc.DataType(plc.TypeId.INT32), stream)
    (taken,) = plc.copying.gather(
        plc.Table([values]), plain, plc.copying.OutOfBoundsPolicy.NULLIFY, stream
    ).columns()
    mask, null_count = plc.null_mask.bitmask_and([taken, column], stream)
    return taken.with_mask(mask if null_count else None, null_count)


def _decode_host(column: plc.Column, values: plc.Column) -> plc.Column:
    index_type = pa.from_numpy_dtype(_INTEGERS[column.type().id()])
    taken = _to_arrow(values, _carrier(values)).take(_to_arrow(column, index_type))
    mask, *buffers = taken.buffers()
    spans = [HostSpan(_bytes(buffer)) for buffer in buffers]
    if mask is not None:
        # libcudf pads masks; pyarrow's buffer may end with the last byte that counts.
        padded = np.zeros(plc.null_mask.bitmask_allocation_size_bytes(len(taken)), dtype="uint8")
        bits = _bytes(mask)[: len(padded)]
        padded[: len(bits)] = bits
    children = []
    if values.type().id() == plc.TypeId.STRING:
        wide = pa.types.is_large_binary(taken.type)
        offset_type = plc.DataType(plc.TypeId.INT64 if wide else plc.TypeId.INT32)
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


def _carrier(values: plc.Column) -> pa.DataType:
    """Return an Arrow type that moves a column's values, whatever they mean."""
    if values.type().id() == plc.TypeId.STRING:
        children = values.children()
        wide = bool(children) and children[0].type().id() == plc.TypeId.INT64
        return pa.large_binary() if wide else pa.binary()
    return pa.binary(plc.types.size_of(values.type()))


def _to_arrow(column: plc.Column, arrow_type: pa.DataType) -> pa.Array:
    buffers = [_foreign(column.null_mask()) if column.null_count() else None]
    if column.type().id() == plc.TypeId.STRING:
        children = column.children()
        buffers.append(_foreign(children[0].data() if children else None) or _NOTHING)
    buffers.append(_foreign(column.data()) or _NOTHING)
    return pa.Array.from_buffers(arrow_type, column.size(), buffers, offset=column.offset())


def _foreign(span: Any) -> pa.Buffer | None:
    if span is None or span.ptr == 0:
        return None
    return pa.foreign_buffer(span.ptr, span.size, base=span)


def _bytes(buffer: pa.Buffer) -> np.ndarray[Any, Any]:
    # NumPy takes no empty buffer.
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
