# SPDX-License-Identifier: Apache-2.0
"""A port of ``cudf::from_arrow_device_column`` to host memory.

It ports ``cpp/src/interop/from_arrow_device.cu`` of libcudf 26.10: masks are loaded as words, null
counts are not checked, fields keep their own offsets. `testing.reading` reads the columns.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pylibcudf as plc

from testing import host
from testing.reading import cut

T = plc.TypeId


def column_of(array, type_):
    """Return the column of an ``ArrowArray`` (as ctypes) in host memory, which must stay alive."""
    kind = host.type_id(type_)
    if kind == T.EMPTY:
        return plc.Column(plc.DataType(kind), array.length, None, None, array.length, 0, [])
    make = {T.BOOL8: _bools, T.STRING: _strings, T.LIST: _lists, T.STRUCT: _structs}
    if kind == T.DICTIONARY32:
        return _dictionaries(array, type_)
    return make.get(kind, _values)(array, type_)


def _span(address, size, alignment):
    """Return memory that a kernel loads. A misaligned load is a CUDA error."""
    if not address:
        return None
    assert address % alignment == 0, f"a load of {alignment} bytes at {address:#x}"
    return host.Memory(pa.foreign_buffer(address, size)) if size else None


def _mask(array):
    # `has_nulls()` is `null_count() > 0`, so a mask with an unknown null count is not read.
    if array.null_count <= 0:
        return None
    return _span(array.buffers[0], -(-(array.offset + array.length) // 32) * 4, 4)


def _column(array, type_, data, children, offset=None):
    kind = host.type_id(type_)
    scale = -type_.scale if pa.types.is_decimal(type_) else 0
    return plc.Column(
        plc.DataType(kind, scale),
        array.length,
        data,
        _mask(array),
        max(array.null_count, 0),
        array.offset if offset is None else offset,
        children,
    )


def _values(array, type_):
    width = type_.bit_width // 8
    rows = array.offset + array.length
    return _column(array, type_, _span(array.buffers[1], rows * width, min(width, 8)), [])


def _bools(array, type_):
    """Convert like `mask_to_bools` and `copy_bitmask`, which both load words."""
    if array.length == 0:
        return _column(array, type_, None, [], 0)

    def bits(span):
        found = np.unpackbits(np.frombuffer(span.buffer, "uint8"), bitorder="little")
        return found[array.offset : array.offset + array.length]

    words = -(-(array.offset + array.length) // 32) * 4
    data = pa.py_buffer(bits(_span(array.buffers[1], words, 4)).copy())
    mask = _mask(array)
    if mask is not None:
        mask = host.Memory(host.padded(pa.py_buffer(np.packbits(bits(mask), bitorder="little"))))
    return plc.Column(
        plc.DataType(T.BOOL8), array.length, host.Memory(data), mask, array.null_count, 0, []
    )


def _offsets(array, wide):
    rows = array.offset + array.length
    kind, width = (T.INT64, 8) if wide else (T.INT32, 4)
    data = _span(array.buffers[1], (rows + 1) * width, width)
    return plc.Column(plc.DataType(kind), rows + 1, data, None, 0, 0, [])


def _last(offsets):
    kind = {T.INT32: "int32", T.INT64: "int64"}[offsets.type().id()]
    return int(np.frombuffer(offsets.data().buffer, kind)[-1])


def _strings(array, type_):
    if array.length == 0:
        return _column(array, type_, None, [], 0)
    offsets = _offsets(array, pa.types.is_large_string(type_))
    characters = _span(array.buffers[2], _last(offsets), 1)
    return _column(array, type_, characters, [offsets])


def _lists(array, type_):
    elements = column_of(array.children[0].contents, type_.value_type)
    if array.length == 0:
        offsets = plc.Column(plc.DataType(T.INT32), 0, None, None, 0, 0, [])
        return _column(array, type_, None, [offsets, cut(elements, 0, 0)])
    offsets = _offsets(array, False)
    return _column(array, type_, None, [offsets, cut(elements, 0, _last(offsets))])


def _structs(array, type_):
    children = [array.children[i].contents for i in range(array.n_children)]
    made = [column_of(child, field.type) for child, field in zip(children, type_, strict=True)]
    return _column(array, type_, None, made)


def _dictionaries(array, type_):
    keys = column_of(array.dictionary.contents, type_.value_type)
    width = type_.index_type.bit_width // 8
    rows = array.offset + array.length
    data = _span(array.buffers[1], rows * width, width)
    kind = host.type_id(type_.index_type)
    indices = plc.Column(plc.DataType(kind), rows, data, None, 0, 0, [])
    return _column(array, type_, None, [indices, keys])
