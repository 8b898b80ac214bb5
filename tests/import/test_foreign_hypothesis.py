# SPDX-License-Identifier: Apache-2.0
"""Random arrays of types that imports convert, sliced on every level."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.tests.strategies as past
from hypothesis import given
from hypothesis import strategies as st

from testing import foreign, host, samples
from testing.peers.arrays import Producer, assert_same, column_from, forget_null_counts
from testing.strategies import NOT_SLOW, slices

leaves = st.one_of(
    past.binary_type,
    past.large_binary_type,
    past.string_type,
    past.time_types,
    past.date_types,
    past.integer_types,
    st.sampled_from([pa.float16(), pa.bool_(), pa.null()]),
    st.integers(0, 5).map(pa.binary),
)
types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(pa.list_, inner),
        st.builds(pa.large_list, inner),
        st.builds(pa.list_, inner, st.integers(0, 3)),
        st.builds(pa.map_, inner.filter(lambda type_: not pa.types.is_null(type_)), inner),
        past.struct_types(inner),
    ),
    max_leaves=4,
)


@st.composite
def arrays_of(draw, type_, size, has_nulls=True):
    """Draw a slice of a larger array. The nulls of a level are independent of those below."""
    before = draw(st.integers(0, 40))
    whole = before + size + draw(st.integers(0, 3))
    return draw(whole_arrays_of(type_, whole, has_nulls)).slice(before, size)


@st.composite
def whole_arrays_of(draw, type_, size, has_nulls):
    if pa.types.is_null(type_):
        return pa.nulls(size)
    children, own = [], []
    if pa.types.is_struct(type_):
        children = [draw(arrays_of(field.type, size)) for field in type_]
    elif pa.types.is_fixed_size_list(type_):
        children = [draw(arrays_of(type_.value_type, size * type_.list_size))]
    elif foreign.is_list(type_):
        lengths = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        offsets = [0, *accumulate(lengths)]
        own = [pa.py_buffer(np.array(offsets, foreign.offset_type(type_)))]
        if pa.types.is_map(type_):
            parts = [
                draw(arrays_of(type_.key_type, offsets[-1], has_nulls=False)),
                draw(arrays_of(type_.item_type, offsets[-1])),
            ]
            entries = samples.as_struct(
                parts, [type_.key_field, type_.item_field], offsets[-1], "none"
            )
            children = [entries]
        else:
            children = [draw(arrays_of(type_.value_type, offsets[-1]))]
    else:
        own = foreign.values(type_, size, "none").buffers()[1:]
    bits = None
    if has_nulls and draw(st.booleans()):
        valid = draw(st.integers(0, 2**size - 1))
        bits = pa.py_buffer(valid.to_bytes(size // 8 + 1, "little"))
    return pa.Array.from_buffers(type_, size, [bits, *own], children=children)


@NOT_SLOW
@given(st.data())
def test_import_of_random_arrays_keeps_the_rows(data):
    type_ = data.draw(types)
    array = data.draw(arrays_of(type_, data.draw(st.integers(0, 60))))
    array.validate(full=True)
    array = samples.cut(array, data.draw(slices(len(array))))
    edit = data.draw(st.sampled_from([None, forget_null_counts]))
    expected = foreign.expected_import(array)
    for options in ({}, {"sanitize": False}, {"copy": True}):
        column = column_from(Producer(array, edit), **options)
        assert column.null_count() == array.null_count
        assert_same(host.to_arrow(column, expected.type), expected)
