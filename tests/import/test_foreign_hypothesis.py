# SPDX-License-Identifier: Apache-2.0
"""Random arrays of types that imports convert, sliced on every level."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.tests.strategies as past
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from testing import foreign, host, samples
from testing.peers.arrays import Producer, assert_same, column_from, forget_null_counts, read
from testing.strategies import NOT_SLOW, arrays_of, slices

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
        # Fields that are not nullable and have nulls would become nullable.
        st.lists(inner, max_size=3).map(
            lambda fields: pa.struct([(str(i), type_) for i, type_ in enumerate(fields)])
        ),
    ),
    max_leaves=4,
)


@NOT_SLOW
@given(st.data())
def test_import_and_export_of_random_arrays_keep_the_rows(data):
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
        steps = data.draw(slices(len(array)))
        part = samples.cut_column(
            column, steps, lambda begin, size: array.slice(begin, size).null_count
        )
        found = read(cab.to_arrow_device(part, compact=data.draw(st.booleans())))
        assert found.to_pylist() == samples.cut(array, steps).to_pylist()
        if foreign.can_be_exported(type_):
            assert found.type.equals(type_, check_metadata=True)
