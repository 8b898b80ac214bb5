# SPDX-License-Identifier: Apache-2.0
"""Test imports and round trips of random arrays of pyarrow's strategies, nested and sliced."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as bridge
from testing import foreign, host
from testing.peers.arrays import (
    DeviceOnly,
    Producer,
    assert_same,
    column_from,
    read,
)
from testing.samples import cut, cut_column
from testing.strategies import NOT_SLOW, arrays, edits, has_unsigned_indices, signed, slices


@NOT_SLOW
@given(arrays(), edits, st.data())
def test_import_of_random_arrays_matches_pyarrow(array, edit, data):
    array = cut(array, data.draw(slices(len(array))))
    column = column_from(Producer(array, edit))
    expected = foreign.expected_import(array)
    assert column.null_count() == expected.null_count
    if not has_unsigned_indices(array.type):
        assert_same(host.to_arrow(column, array.type), expected)


@NOT_SLOW
@given(arrays(signed), edits, st.booleans())
def test_round_trip_of_random_arrays_matches(array, edit, compact):
    exported = bridge.to_arrow_device(Producer(array, edit), compact=compact)
    assert_same(read(exported), foreign.expected_import(array))


@NOT_SLOW
@given(arrays(), edits, st.data())
def test_round_trip_of_random_slices_matches(array, edit, data):
    before = data.draw(slices(len(array)))
    array = cut(array, before)
    between = data.draw(slices(len(array)))
    column = cut_column(
        column_from(Producer(array, edit)),
        between,
        lambda start, size: foreign.expected_import(array.slice(start, size)).null_count,
    )
    expected = cut(array, between)
    back = read(bridge.to_arrow_device(column))
    after = data.draw(slices(len(expected)))
    assert cut(back, after).to_pylist() == cut(expected, after).to_pylist()


@NOT_SLOW
@given(st.lists(arrays(signed), max_size=4), st.data())
def test_round_trip_of_random_batches_keeps_schema_and_values(columns, data):
    size = min((len(column) for column in columns), default=0)
    columns = [column[:size] for column in columns]
    names = data.draw(st.lists(st.text(), min_size=len(columns), max_size=len(columns)))
    names = [name.replace("\0", "") for name in names]
    metadata = data.draw(st.dictionaries(st.text(min_size=1), st.text()))
    schema = pa.schema(
        [pa.field(n, c.type) for n, c in zip(names, columns, strict=True)], metadata=metadata
    )
    batch = pa.record_batch(columns, schema)
    back = pa.record_batch(DeviceOnly(bridge.to_arrow_device(DeviceOnly(batch))))
    back.validate(full=True)
    assert back.schema.equals(schema, check_metadata=True)
    assert back.equals(pa.record_batch([foreign.expected_import(c) for c in columns], schema))
