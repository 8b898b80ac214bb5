# SPDX-License-Identifier: Apache-2.0
"""Arrays of every type, whole and sliced, and types that are imported without conversion."""

from __future__ import annotations

from decimal import Decimal
from itertools import accumulate, cycle

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

from testing import host

UNITS = ("s", "ms", "us", "ns")
#: Types of pylibcudf columns without metadata: fields are named by position, decimals have the
#: maximum precision.
PRIMITIVE = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float32(), pa.float64()),
    pa.bool_(),
    pa.date32(),
    *(pa.timestamp(unit) for unit in UNITS),
    *(pa.duration(unit) for unit in UNITS),
    *(pa.decimal32(9, 2), pa.decimal64(18, 0), pa.decimal128(38, -3)),
    *(pa.string(), pa.large_string()),
]
DICTIONARY = [
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.timestamp("ms")),
    pa.dictionary(pa.int64(), pa.bool_()),
]
NESTED = [
    pa.list_(pa.int32()),
    pa.list_(pa.list_(pa.string())),
    pa.struct([("0", pa.int16()), ("1", pa.bool_())]),
    pa.struct([("0", pa.struct([("0", pa.string())])), ("1", pa.list_(pa.float32()))]),
]
TYPES = [*PRIMITIVE, *DICTIONARY, *NESTED, pa.null()]

#: Types with parameters that columns lack. The schema has them, and a round trip must keep them.
PARAMETRIC = [
    pa.timestamp("us", "Europe/Berlin"),
    pa.timestamp("ns", "+05:30"),
    pa.decimal32(5, 2),
    pa.decimal64(11, 4),
    pa.decimal128(20, 0),
    pa.dictionary(pa.int16(), pa.string(), ordered=True),
    pa.struct([pa.field("price", pa.decimal64(9, 2), nullable=False), pa.field("", pa.int8())]),
    pa.list_(pa.field("element", pa.timestamp("s", "UTC"), metadata={"a": "b"})),
]

NULLS = ("none", "some", "all")
NESTINGS = ("flat", "list", "struct", "list of struct", "dictionary")
OFFSETS = (0, 1, 7, 8, 9, 31, 32, 33, 64, 65)
MANY = 137


def can_nest(type_, nesting):
    """Return whether Arrow and libcudf both allow a nesting. Dictionaries have flat values."""
    return nesting != "dictionary" or type_ in PRIMITIVE


#: Every type in every nesting, as parameters ``("type_", "nesting")``.
NESTED_TYPES = [
    pytest.param(type_, nesting, id=f"{type_}-{nesting}")
    for type_ in TYPES
    for nesting in NESTINGS
    if can_nest(type_, nesting)
]


def each_case_with_nulls(cases):
    """Parametrize a test by ``"type_"`` and ``"nesting"`` of the cases, and by ``"nulls"``.

    The patterns of nulls alternate, so that each type and each nesting has each pattern.
    """
    patterns = zip(cases, cycle(NULLS), strict=False)
    made = [pytest.param(*case.values, nulls, id=f"{case.id}-{nulls}") for case, nulls in patterns]
    return pytest.mark.parametrize(("type_", "nesting", "nulls"), made)


def mask(size, nulls):
    """Return which rows are null. The pattern's period does not divide the bits of a word."""
    return [nulls == "all" or (nulls == "some" and i % 7 in (1, 4)) for i in range(size)]


def values(type_, size, nulls, inner=()):
    """Return an array of a type. Its children are slices at `inner[0]`, theirs at `inner[1]`..."""
    unknown = mask(size, nulls)
    if pa.types.is_null(type_):
        return pa.nulls(size)
    if is_list(type_):
        return lists(type_, size, nulls, inner)
    if pa.types.is_struct(type_):
        children = [sliced(field.type, size, nulls, inner) for field in type_]
        return as_struct(children, list(type_), size, nulls)
    if pa.types.is_dictionary(type_):
        distinct = 2 if pa.types.is_boolean(type_.value_type) else 5
        keys = sliced(type_.value_type, distinct, "none", inner)
        codes = [None if null else i * 3 % distinct for i, null in enumerate(unknown)]
        codes = pa.array(codes, type_.index_type)
        return pa.DictionaryArray.from_arrays(codes, keys, ordered=type_.ordered)
    if is_bytes(type_):
        width = type_.byte_width if pa.types.is_fixed_size_binary(type_) else None
        items = [bytes([i % 256]) * (i % 5 if width is None else width) for i in range(size)]
    elif pa.types.is_decimal(type_):
        step = Decimal(1).scaleb(-type_.scale)
        items = [(i * 31 % 1009 - 500) * step for i in range(size)]
    elif pa.types.is_string(type_) or pa.types.is_large_string(type_):
        items = ["", "a", "bc\0", "żółw", "x" * 40][: size or 1] * (size // 5 + 1)
        items = items[:size]
    elif pa.types.is_boolean(type_):
        items = [i % 3 == 0 or i % 11 == 5 for i in range(size)]
    else:
        step = 86_400_000 if type_ == pa.date64() else 1
        integers = np.arange(size) * 37 % 120 * step
        found = pa.array(integers, mask=None if nulls == "none" else np.array(unknown, "bool"))
        return found.cast(number_type(type_)).cast(type_)
    return pa.array([None if n else x for x, n in zip(items, unknown, strict=True)], type_)


def sliced(type_, size, nulls, inner):
    """Return the last `size` rows of a longer array."""
    offset, below = (inner[0], inner[1:]) if inner else (0, ())
    return values(type_, size + offset, nulls, below).slice(offset)


def lists(type_, size, nulls, inner):
    """Return lists of any kind. Null lists are empty, except those of a fixed size."""
    unknown = mask(size, nulls)
    if pa.types.is_fixed_size_list(type_):
        child = sliced(type_.value_type, size * type_.list_size, nulls, inner)
        return pa.Array.from_buffers(type_, size, [pack(unknown)], children=[child])
    offsets = [0, *accumulate(0 if null else i % 4 for i, null in enumerate(unknown))]
    buffers = [pack(unknown), pa.py_buffer(np.array(offsets, offset_type(type_)))]
    if pa.types.is_map(type_):
        entries = [type_.key_field, type_.item_field]
        children = [
            sliced(type_.key_type, offsets[-1], "none", inner),
            sliced(type_.item_type, offsets[-1], nulls, inner),
        ]
        child = as_struct(children, entries, offsets[-1], "none")
    else:
        child = sliced(type_.value_type, offsets[-1], nulls, inner)
    return pa.Array.from_buffers(type_, size, buffers, children=[child])


def as_list(type_, size, nulls, inner=()):
    return lists(pa.list_(type_), size, nulls, inner)


def as_struct(children, fields, size, nulls):
    buffers = [pack(mask(size, nulls))]
    return pa.Array.from_buffers(pa.struct(fields), size, buffers, children=children)


def is_bytes(type_):
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(kind(type_) for kind in kinds)


def is_list(type_):
    kinds = (
        *(pa.types.is_list, pa.types.is_large_list),
        *(pa.types.is_fixed_size_list, pa.types.is_map),
    )
    return any(kind(type_) for kind in kinds)


def number_type(type_):
    if pa.types.is_float16(type_):
        return pa.float32()
    return pa.int32() if type_.bit_width == 32 else pa.int64()


def offset_type(type_):
    return "int64" if pa.types.is_large_list(type_) else "int32"


def pack(nulls):
    """Return a validity bitmap, or None without nulls."""
    if not any(nulls):
        return None
    return pa.py_buffer(np.packbits(~np.array(nulls), bitorder="little"))


def nest(type_, nesting, size, nulls, inner=()):
    """Return an array of a type in a nesting, with `size` rows at the top level."""
    struct = pa.struct([("0", type_), ("1", pa.uint16())])
    wanted = {
        "flat": type_,
        "list": pa.list_(type_),
        "struct": struct,
        "list of struct": pa.list_(struct),
        "dictionary": pa.dictionary(pa.int32(), type_),
    }
    return values(wanted[nesting], size, nulls, inner)


def cuts(size):
    """Return ways to slice rows: lists of steps, each an offset and a length in a slice."""
    found = []
    for offset in OFFSETS:
        if offset > size:
            break
        rest = size - offset
        found += [[(offset, rest)], [(offset, rest // 2)], [(offset, 0)]]
    if size > 60:
        found += [[(3, size - 10), (6, 40)], [(1, size - 1), (32, 33)], [(64, 60), (1, 7)]]
    return found


def cut(array, steps):
    for offset, length in steps:
        array = array.slice(offset, length)
    return array


def cut_column(column, steps, nulls_in):
    """Slice a column like libcudf: with another offset over the same memory.

    Parameters
    ----------
    nulls_in
        Counts the nulls of a range of the column's rows.
    """
    for offset, length in steps:
        column = plc.Column(
            column.type(),
            length,
            column.data(),
            column.null_mask(),
            length if column.type().id() == plc.TypeId.EMPTY else nulls_in(offset, length),
            column.offset() + offset,
            column.children(),
        )
        nulls_in = _moved(nulls_in, offset)
    return column


def _moved(nulls_in, by):
    return lambda offset, length: nulls_in(by + offset, length)


def column_of(array, steps=()):
    """Return a host-resident column of an array, sliced like libcudf."""
    return cut_column(
        host.to_plc(array), steps, lambda offset, length: array.slice(offset, length).null_count
    )
