# SPDX-License-Identifier: Apache-2.0
"""Arrays of types that an import converts, and the expected results, both made by pyarrow."""

from __future__ import annotations

from functools import partial
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from testing import samples

FIXED = [
    *(pa.float16(), pa.date64()),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
]
BYTES = [pa.binary(), pa.large_binary(), pa.binary(3), pa.binary(0)]
LISTS = [
    pa.large_list(pa.int32()),
    pa.large_list(pa.string()),
    pa.large_list(pa.large_list(pa.bool_())),
    pa.list_(pa.int16(), 3),
    pa.list_(pa.string(), 1),
    pa.list_(pa.int8(), 0),
    pa.list_(pa.list_(pa.bool_(), 2), 5),
    pa.map_(pa.string(), pa.int32()),
    pa.map_(pa.binary(2), pa.list_(pa.float16(), 2)),
    pa.list_(pa.large_binary()),
    pa.struct([("0", pa.binary()), ("1", pa.time32("s")), ("2", pa.list_(pa.int8(), 4))]),
]
TYPES = [*FIXED, *BYTES, *LISTS]
#: Types whose import shares every buffer.
ZERO_COPY = [
    *(pa.date64(), pa.time64("us"), pa.time64("ns"), pa.binary()),
    *(pa.map_(pa.string(), pa.int32()), pa.list_(pa.binary())),
    pa.struct([("0", pa.time64("ns")), ("1", pa.map_(pa.int8(), pa.binary()))]),
]

#: Every type in every nesting, as parameters ``("type_", "nesting")``.
NESTED_TYPES = [
    pytest.param(type_, nesting, id=f"{type_}-{nesting}")
    for type_ in TYPES
    for nesting in samples.NESTINGS
    if nesting != "dictionary" or (type_ in (*FIXED, *BYTES) and type_ != pa.binary(0))
]


def values(type_, size, nulls, inner=()):
    """Return an array of a type, like `samples.values` for types that need no conversion."""
    if is_bytes(type_):
        width = type_.byte_width if pa.types.is_fixed_size_binary(type_) else None
        items = [bytes([i % 256]) * (i % 5 if width is None else width) for i in range(size)]
        unknown = samples.mask(size, nulls)
        return pa.array([None if n else x for x, n in zip(items, unknown, strict=True)], type_)
    if pa.types.is_struct(type_):
        children = [sliced(field.type, size, nulls, inner) for field in type_]
        return samples.as_struct(children, list(type_), size, nulls)
    if is_list(type_):
        return lists(type_, size, nulls, inner)
    if pa.types.is_dictionary(type_):
        keys = sliced(type_.value_type, 5, "none", inner)
        codes = [None if null else i * 3 % 5 for i, null in enumerate(samples.mask(size, nulls))]
        return pa.DictionaryArray.from_arrays(pa.array(codes, type_.index_type), keys)
    if type_ in FIXED:
        step = 86_400_000 if type_ == pa.date64() else 1
        integers = pa.array(np.arange(size) * 37 % 120 * step, mask=unknown_of(size, nulls))
        return integers.cast(number_type(type_)).cast(type_)
    return samples.values(type_, size, nulls, inner)


def sliced(type_, size, nulls, inner):
    offset, below = (inner[0], inner[1:]) if inner else (0, ())
    return values(type_, size + offset, nulls, below).slice(offset)


def lists(type_, size, nulls, inner):
    """Return lists of any kind. Null lists are empty, except those of a fixed size."""
    unknown = samples.mask(size, nulls)
    mask = samples.pack(unknown)
    if pa.types.is_fixed_size_list(type_):
        child = sliced(type_.value_type, size * type_.list_size, nulls, inner)
        return pa.Array.from_buffers(type_, size, [mask], children=[child])
    offsets = [0, *accumulate(0 if null else i % 4 for i, null in enumerate(unknown))]
    buffers = [mask, pa.py_buffer(np.array(offsets, offset_type(type_)))]
    if pa.types.is_map(type_):
        count = offsets[-1]
        entries = [type_.key_field, type_.item_field]
        children = [
            sliced(type_.key_type, count, "none", inner),
            sliced(type_.item_type, count, nulls, inner),
        ]
        child = samples.as_struct(children, entries, count, "none")
    else:
        child = sliced(type_.value_type, offsets[-1], nulls, inner)
    return pa.Array.from_buffers(type_, size, buffers, children=[child])


#: Returns an array of a type in one of `samples.NESTINGS`, like `samples.nest`.
nest = partial(samples.nest, values=values)


def expected_import(array):
    """Return the expected result of an import of the array."""
    type_ = array.type
    if pa.types.is_float16(type_):
        return array.cast(pa.float32())
    if pa.types.is_date64(type_):
        return array.cast(pa.int64()).cast(pa.timestamp("ms"))
    if pa.types.is_time(type_):
        return array.cast(number_type(type_)).cast(pa.int64()).cast(pa.duration(type_.unit))
    if is_bytes(type_):
        rows = [None if row is None else list(row) for row in array.to_pylist()]
        return pa.array(rows, pa.list_(pa.uint8()))
    if is_list(type_):
        if pa.types.is_map(type_):
            # A cast would reject nulls in fields that are not nullable.
            entries = array.values
            lists = pa.list_(pa.field("entries", entries.type, nullable=False))
            own = array.buffers()[:2]
            return expected_import(
                pa.Array.from_buffers(
                    lists, len(array), own, offset=array.offset, children=[entries]
                )
            )
        lengths = [0 if row is None else len(row) for row in array.to_pylist()]
        offsets = pa.array([0, *accumulate(lengths)], pa.int32())
        child = expected_import(array.flatten())
        field = type_.value_field.with_type(child.type)
        mask = samples.pack(array.is_null().to_pylist())
        buffers = [mask, offsets.buffers()[1]]
        return pa.Array.from_buffers(pa.list_(field), len(array), buffers, children=[child])
    if pa.types.is_struct(type_):
        children = [expected_import(array.field(i)) for i in range(type_.num_fields)]
        fields = [f.with_type(c.type) for f, c in zip(type_, children, strict=True)]
        mask = samples.pack(array.is_null().to_pylist())
        return pa.Array.from_buffers(pa.struct(fields), len(array), [mask], children=children)
    if pa.types.is_dictionary(type_):
        values = array.dictionary
        # Rows that refer to a null value become null.
        places = pc.cumulative_sum(values.is_valid().cast(type_.index_type))
        places = pc.if_else(values.is_valid(), pc.subtract(places, pa.scalar(1, places.type)), None)
        return pa.DictionaryArray.from_arrays(
            places.take(array.indices), expected_import(values.drop_null()), ordered=type_.ordered
        )
    return array


def is_bytes(type_):
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(kind(type_) for kind in kinds)


def is_list(type_):
    kinds = (
        pa.types.is_list,
        pa.types.is_large_list,
        pa.types.is_fixed_size_list,
        pa.types.is_map,
    )
    return any(kind(type_) for kind in kinds)


def number_type(type_):
    if pa.types.is_float16(type_):
        return pa.float32()
    return pa.int32() if type_.bit_width == 32 else pa.int64()


def offset_type(type_):
    return "int64" if pa.types.is_large_list(type_) else "int32"


def unknown_of(size, nulls):
    return None if nulls == "none" else np.array(samples.mask(size, nulls), "bool")


def can_be_exported(type_):
    """Return whether an export restores the type. Half floats are lost."""
    if pa.types.is_float16(type_):
        return False
    return all(can_be_exported(type_.field(i).type) for i in range(type_.num_fields))
