# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies of nested and sliced arrays, from pyarrow's own strategies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.tests.strategies as past
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from testing import foreign, samples
from testing.peers.arrays import forget_null_counts

NOT_SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

zoned = past.timestamp_types.filter(lambda type_: type_.tz is not None)
flat_types = st.one_of(
    past.null_type,
    past.bool_type,
    past.integer_types,
    st.sampled_from([pa.float32(), pa.float64(), pa.date32()]),
    past.string_type,
    past.large_string_type,
    past.duration_types,
    zoned,
)
dictionary_types = past.dictionary_types(
    key_strategy=past.integer_types,
    value_strategy=st.one_of(past.integer_types, past.string_type, past.bool_type),
)
types = st.recursive(
    flat_types | dictionary_types,
    lambda inner: st.builds(pa.list_, inner) | past.struct_types(inner),
    max_leaves=5,
)


@st.composite
def arrays(draw, types=types):
    """Draw an array with nulls at every level, whose children are slices of longer arrays."""
    type_ = draw(types)
    return draw(arrays_of(type_, draw(st.integers(0, 80))))


@st.composite
def arrays_of(draw, type_, size, has_nulls=True):
    extra = draw(st.integers(0, 40))
    whole = draw(whole_arrays_of(type_, size + extra, has_nulls))
    return whole.slice(draw(st.integers(0, extra)), size)


@st.composite
def whole_arrays_of(draw, type_, size, has_nulls=True):
    if pa.types.is_null(type_):
        return pa.nulls(size)
    valid = draw(st.none() | st.integers(0, 2 ** max(size, 1) - 1)) if has_nulls else None
    bits = None
    if valid is not None:
        bits = pa.py_buffer(valid.to_bytes(max(size, 1) // 8 + 1, "little"))
    own, children = [], []
    if pa.types.is_struct(type_):
        children = [draw(arrays_of(field.type, size)) for field in type_]
    elif pa.types.is_fixed_size_list(type_):
        children = [draw(arrays_of(type_.value_type, size * type_.list_size))]
    elif samples.is_list(type_):
        lengths = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        offsets = np.cumsum([0, *lengths], dtype=samples.offset_type(type_))
        own, count = [pa.py_buffer(offsets)], int(offsets[-1])
        if pa.types.is_map(type_):
            fields = [type_.key_field, type_.item_field]
            keys = draw(arrays_of(type_.key_type, count, has_nulls=False))
            parts = [keys, draw(arrays_of(type_.item_type, count))]
            children = [samples.as_struct(parts, fields, count, "none")]
        else:
            children = [draw(arrays_of(type_.value_type, count))]
    elif pa.types.is_dictionary(type_):
        values = draw(whole_arrays_of(type_.value_type, draw(st.integers(1, 20))))
        codes = draw(st.lists(st.integers(0, len(values) - 1), min_size=size, max_size=size))
        return pa.DictionaryArray.from_arrays(
            with_nulls(pa.array(codes, type_.index_type), bits), values, ordered=type_.ordered
        )
    elif type_ in foreign.FIXED or samples.is_bytes(type_):
        own = samples.values(type_, size, "none").buffers()[1:]
    else:
        drawn = draw(past.arrays(type_, size=min(size, 12), nullable=has_nulls))
        plain = pa.array(drawn.to_pylist(), type_)
        plain = pa.concat_arrays([plain] * (size // max(len(plain), 1) + 1))[:size]
        return with_nulls(plain, bits)
    return pa.Array.from_buffers(type_, size, [bits, *own], children=children)


def with_nulls(array, bits):
    if array.offset or bits is None or not len(array):
        return array
    return pa.Array.from_buffers(array.type, len(array), [bits, *array.buffers()[1:]])


@st.composite
def slices(draw, size):
    """Draw up to three slices, each of the previous slice."""
    steps = []
    for _ in range(draw(st.integers(0, 3))):
        offset = draw(st.integers(0, size))
        size = draw(st.integers(0, size - offset))
        steps.append((offset, size))
    return steps


edits = st.sampled_from([None, forget_null_counts])


def has_unsigned_indices(type_):
    if pa.types.is_dictionary(type_):
        return pa.types.is_unsigned_integer(type_.index_type)
    return any(has_unsigned_indices(type_.field(i).type) for i in range(type_.num_fields))


signed = types.filter(lambda type_: not has_unsigned_indices(type_))
