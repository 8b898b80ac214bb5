# SPDX-License-Identifier: Apache-2.0
"""Nested arrays with data below null rows, which libcudf does not expect."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from testing import samples

BELOW_MASKS = [
    pa.struct([("0", pa.int32())]),
    pa.struct([("0", pa.string()), ("1", pa.struct([("0", pa.int8()), ("1", pa.null())]))]),
    pa.struct([("0", pa.list_(pa.struct([("0", pa.string())])))]),
    pa.struct([("0", pa.dictionary(pa.int8(), pa.string()))]),
]
WITH_OFFSETS = [
    pa.string(),
    pa.large_string(),
    pa.list_(pa.int32()),
    pa.list_(pa.list_(pa.string())),
    pa.list_(pa.struct([("0", pa.string()), ("1", pa.null())])),
    pa.list_(pa.dictionary(pa.int8(), pa.string())),
]
OTHERS = [
    *(pa.binary(), pa.large_binary(), pa.binary(3)),
    pa.list_(pa.string(), 2),
    pa.large_list(pa.list_(pa.bool_(), 3)),
    pa.map_(pa.string(), pa.binary()),
]


def with_nulls_at_each_level(array, seed=0):
    """Return the same data with random nulls at each level, independent of the level above."""
    type_, size = array.type, len(array)
    children, buffers = [], array.buffers()
    if pa.types.is_dictionary(type_):
        return pa.DictionaryArray.from_arrays(
            with_nulls(array.indices, seed), with_nulls_at_each_level(array.dictionary, seed + 1)
        )
    if pa.types.is_struct(type_):
        children = [
            with_nulls_at_each_level(array.field(i), seed + 1 + i) for i in range(type_.num_fields)
        ]
    elif pa.types.is_map(type_):
        children = [pa.StructArray.from_arrays([array.keys, array.items], fields=entries(type_))]
    elif samples.is_list(type_):
        children = [with_nulls_at_each_level(array.values, seed + 1)]
    if pa.types.is_null(type_):
        return array
    own = buffers[1 : type_.num_buffers]
    return pa.Array.from_buffers(type_, size, [bits(size, seed), *own], children=children)


def with_nulls(array, seed):
    return pa.Array.from_buffers(
        array.type, len(array), [bits(len(array), seed), *array.buffers()[1:]]
    )


def entries(type_):
    return [type_.key_field, type_.item_field]


def bits(size, seed):
    valid = np.random.default_rng(seed).integers(0, 3, size) > 0
    return pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
