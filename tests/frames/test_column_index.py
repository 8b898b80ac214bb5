# SPDX-License-Identifier: Apache-2.0
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudf_arrow_bridge.frames.column_index import decode_index, encode_index
from testing.labels import INDEXES


def trip(index, pick=slice(None)):
    objects = []
    common, entries = json.loads(json.dumps(encode_index(index, objects)))
    return decode_index(common, entries[pick], objects)


def assert_same(found, expected):
    pd.testing.assert_index_equal(found, expected, exact=True)
    assert found.dtype == expected.dtype
    assert [type(label) for label in found] == [type(label) for label in expected]
    if isinstance(expected, pd.MultiIndex):
        for left, right in zip(found.levels, expected.levels, strict=True):
            pd.testing.assert_index_equal(left, right, exact=True)


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_round_trip(index):
    assert_same(trip(index), index)


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_a_part_of_it(index):
    expected = index[1:]
    if isinstance(index, pd.MultiIndex):
        pd.testing.assert_index_equal(trip(index, slice(1, None)), expected)
    else:
        assert_same(trip(index, slice(1, None)), expected)


def test_a_range_with_gaps_is_no_range():
    found = trip(pd.RangeIndex(4, name="r"), slice(None, None, 3))
    assert_same(found, pd.Index([0, 3], dtype="int64", name="r"))
    assert_same(trip(pd.RangeIndex(3), slice(None, None, -1)), pd.Index([2, 1, 0]))


def test_a_label_without_json_is_the_object_itself():
    label = frozenset("ab")
    index = pd.Index([label, "x"], dtype=object)
    assert trip(index)[0] is label
    assert decode_index(*encode_index(index, []))[0] == str(label)


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(-5, 5) | st.none()), min_size=1))
def test_any_multiindex(labels):
    index = pd.MultiIndex.from_tuples(labels, names=[None, "n"])
    assert_same(trip(index), index)
