# SPDX-License-Identifier: Apache-2.0
"""Types that an import converts, and the results that pyarrow expects from it."""

from __future__ import annotations

from itertools import accumulate

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


def expected_import(array):
    """Return the expected result of an import of the array."""
    type_ = array.type
    if pa.types.is_float16(type_):
        return array.cast(pa.float32())
    if pa.types.is_date64(type_):
        return array.cast(pa.int64()).cast(pa.timestamp("ms"))
    if pa.types.is_time(type_):
        return array.cast(samples.number_type(type_)).cast(pa.int64()).cast(pa.duration(type_.unit))
    if samples.is_bytes(type_):
        rows = [None if row is None else list(row) for row in array.to_pylist()]
        return pa.array(rows, pa.list_(pa.uint8()))
    if samples.is_list(type_):
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


def can_be_exported(type_):
    """Return whether an export restores the type. Half floats are lost."""
    if pa.types.is_float16(type_):
        return False
    return all(can_be_exported(type_.field(i).type) for i in range(type_.num_fields))
