# SPDX-License-Identifier: Apache-2.0
import datetime
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudf_arrow_bridge.column_index import decode_index, encode_index

MULTI = pd.MultiIndex.from_tuples([("b", 1), ("a", 2)], names=["u", None])
INDEXES = {
    "nothing": pd.Index([]),
    "no strings": pd.Index([], dtype="str"),
    "range": pd.RangeIndex(3),
    "range step": pd.RangeIndex(2, -8, -2, name="r"),
    "tuple name": pd.Index([1, 2, 3], name=(1, 2)),
    "uint8": pd.Index([1, 2], dtype="uint8"),
    "mixed": pd.Index(["a", 3, None, np.nan, b"x", 2.5, True], dtype=object),
    "string": pd.Index(["a", None], dtype="string"),
    "python strings": pd.Index(["a", "b"], dtype=pd.StringDtype("python", na_value=np.nan)),
    "object strings": pd.Index(["a", "b"], dtype=object),
    "times": pd.date_range("2020", periods=3, unit="ns"),
    "zoned": pd.date_range("2020", periods=3, tz="Europe/Rome", unit="s"),
    "durations": pd.to_timedelta([1, 2], unit="s"),
    "bools": pd.Index([True, False]),
    "floats": pd.Index([1.5, np.nan]),
    "masked": pd.Index([1, None], dtype="Int64"),
    "tuples": pd.Index([("a", 1), ("b", (2, None))], tupleize_cols=False),
    "ragged": pd.Index([(1, 2), 3], tupleize_cols=False),
    "bytes": pd.Index([b"a", b"\xff"]),
    "dates": pd.Index([datetime.date(2020, 1, 1)]),
    "category": pd.CategoricalIndex(["x", "y", None], categories=["y", "x"], ordered=True),
    "intervals": pd.interval_range(0, 3, closed="left"),
    "periods": pd.period_range("2020", "2020-03", freq="M"),
    "multi": MULTI,
    "multi missing": pd.MultiIndex.from_tuples([("b", np.nan), ("a", 2)], names=["u", "u"]),
    "multi unused": pd.MultiIndex([["b", "a"], [1, 2, 3]], [[0, 1], [2, -1]]),
    "multi empty": pd.MultiIndex.from_arrays([[], pd.Index([], dtype="int64")], names=["a", 1]),
    "multi times": pd.MultiIndex.from_product([pd.date_range("2020", periods=2), [("t", 1)]]),
}


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
