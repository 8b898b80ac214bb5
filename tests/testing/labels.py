# SPDX-License-Identifier: Apache-2.0
"""Labels and indexes of every kind, and a comparison of labels."""

from __future__ import annotations

import datetime
import decimal
import math
import zoneinfo

import numpy as np
import pandas as pd
from hypothesis import strategies as st

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(),
    st.binary(),
    st.decimals().filter(lambda number: not number.is_snan()),  # not hashable
    st.dates(),
    st.times().filter(lambda time: not time.fold),
    st.datetimes().filter(lambda time: not time.fold),
    st.timedeltas(),
    st.sampled_from([pd.NaT, pd.NA]),
    st.integers(-(2**62), 2**62).map(lambda n: pd.Timestamp(n, unit="ns")),
    st.integers(-(10**10), 10**10).map(lambda n: pd.Timestamp(np.datetime64(n, "s"))),
    st.tuples(st.integers(0, 10**18), st.sampled_from(ZONES))
    .map(lambda pair: pd.Timestamp(pair[0], tz=zoneinfo.ZoneInfo(pair[1])))
    .filter(lambda stamp: not stamp.fold),
    st.integers(0, 10**18).map(lambda n: pd.Timestamp(n, tz=datetime.UTC)),
    st.integers(-(10**9), 10**9).map(lambda n: pd.Timedelta(np.timedelta64(n, "ms"))),
    st.integers(0, 600).map(lambda n: pd.Period(ordinal=n, freq="M")),
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats(width=32).map(np.float32),
    st.booleans().map(np.bool_),
    st.integers(-1000, 1000).map(lambda n: np.datetime64(n, "D")),
    st.integers(-1000, 1000).map(lambda n: np.timedelta64(n, "h")),
    st.tuples(st.integers(), st.integers(0, 9), st.sampled_from(["left", "both"])).map(
        lambda t: pd.Interval(t[0], t[0] + t[1], t[2])
    ),
)
LABELS = st.recursive(SCALARS, lambda part: st.lists(part, max_size=3).map(tuple))


def are_same_labels(left, right):
    """Return whether labels are equal and of one type. NaN equals NaN; 0.0 differs from -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(are_same_labels, left, right))
    if isinstance(left, pd.Interval):
        return left.closed == right.closed and are_same_labels(left.left, right.left)
    if isinstance(left, complex):
        return are_same_labels(left.real, right.real) and are_same_labels(left.imag, right.imag)
    if isinstance(left, pd.Timestamp | pd.Timedelta) and left.unit != right.unit:
        return False
    if isinstance(left, pd.Timestamp) and repr(left.tz) != repr(right.tz):
        return False
    if left is pd.NA or left is pd.NaT:
        return left is right
    if isinstance(left, decimal.Decimal):
        return left.as_tuple() == right.as_tuple()
    if isinstance(left, float | np.floating) and (math.isnan(left) or left == 0):
        return math.isnan(right) if math.isnan(left) else str(left) == str(right)
    return bool(left == right)


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
