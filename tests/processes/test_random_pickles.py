# SPDX-License-Identifier: Apache-2.0
"""Random nested and sliced batches are equal and not moved after pickling, and equal as copies."""

from __future__ import annotations

import copy
import pickle

import pyarrow as pa
import pylibcudf as plc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from testing import foreign
from testing.exchange.pickles import (
    PICKLE_OPTIONS,
    batch_in,
    copied,
    pickle_out_of_band,
    pickle_round_trip,
    places,
    referred_of_batch,
)
from testing.peers.arrays import DeviceOnly, Producer, column_from
from testing.samples import cut, cut_column
from testing.strategies import NOT_SLOW, arrays, edits, signed, slices

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


@st.composite
def batches(draw):
    """Draw a batch of columns of the same length, all slices."""
    columns = draw(st.lists(arrays(signed), min_size=1, max_size=4))
    size = min(map(len, columns))
    return pa.record_batch([c[:size] for c in columns], [f"c{i}" for i in range(len(columns))])


def check(array, way):
    """Check that an array is equal after pickling and copying, and that buffers are not moved."""
    expected = batch_in(array)
    data, buffers = pickle_out_of_band(array)
    for (found, size), (address, wanted) in zip(
        places(buffers), referred_of_batch(expected), strict=True
    ):
        assert size == wanted
        assert address in (found, None)
    given = copied(buffers)
    for back in (
        pickle.loads(data, buffers=given),
        pickle_round_trip(array, way),
        copy.deepcopy(array),
    ):
        found = batch_in(back)
        assert found.schema.equals(expected.schema, check_metadata=True)
        assert found.equals(expected)
    assert batch_in(pickle_round_trip(pickle.loads(data, buffers=given))).equals(expected)


ways = st.sampled_from([*PICKLE_OPTIONS])


@NOT_SLOW
@given(batches(), edits, ways, st.data())
def test_pickled_foreign_arrays_are_equal_and_not_copied(batch, edit, way, data):
    batch = cut(batch, data.draw(slices(len(batch))))
    check(cab.to_arrow_device(Producer(batch, edit)), way)


@NOT_SLOW
@given(batches(), ways, st.data())
def test_pickled_tables_of_sliced_columns_are_equal_and_not_copied(batch, way, data):
    """A slice of libcudf has an offset into the memory of all rows."""
    steps = data.draw(slices(len(batch)))

    def sliced(array):
        nulls_in = lambda start, size: foreign.expected_import(array.slice(start, size)).null_count  # noqa: E731
        return cut_column(column_from(DeviceOnly(array)), steps, nulls_in)

    check(cab.to_arrow_device(plc.Table([sliced(column) for column in batch.columns])), way)
