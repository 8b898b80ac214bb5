# SPDX-License-Identifier: Apache-2.0
import datetime
import decimal
import enum
import json
import math
import typing
import zoneinfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudf_arrow_bridge.labels import decode_label, encode_label, index_level_name, stringify


class Point(typing.NamedTuple):
    x: int
    y: int


class Colour(enum.IntEnum):
    RED = 1


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


def same(left, right):
    """Equal, of one type, with NaN like NaN and one zero unlike the other."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, pd.Interval):
        return left.closed == right.closed and same(left.left, right.left)
    if isinstance(left, complex):
        return same(left.real, right.real) and same(left.imag, right.imag)
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


@given(LABELS)
def test_labels_survive_json_exactly(label):
    objects = []
    form = json.loads(json.dumps(encode_label(label, objects)))
    assert objects == []
    assert same(decode_label(form), label)


@pytest.mark.parametrize(
    "label",
    [
        frozenset({1}),
        Colour.RED,
        datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        pd.Timestamp("2020", tz=datetime.timezone(datetime.timedelta(minutes=7), "odd")),
        range(3),
        datetime.time(1, fold=1),
        Point(1, 2),
    ],
    ids=repr,
)
def test_what_json_cannot_carry_travels_beside_it(label):
    objects = []
    form = json.loads(json.dumps(encode_label(("a", label), objects)))
    assert decode_label(form, objects)[1] is label
    assert decode_label(form) == ("a", str(label))


@pytest.mark.parametrize(
    "form",
    [
        1.5,
        [],
        {},
        {"a": 1, "b": 2},
        {"pickle": "gASVAg=="},
        {"float": "x"},
        {"date": 3},
        {"numpy": ["O", "AAAAAAAAAAA="]},
        {"missing": "?"},
        {"timestamp": [1]},
    ],
    ids=str,
)
def test_a_form_of_someone_elses_is_refused(form):
    with pytest.raises(ValueError, match="not "):
        decode_label(form)


@given(LABELS)
def test_a_field_name_is_utf8_without_nul(label):
    assert b"\0" not in stringify(label).encode()


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("x", "x"),
        (1, "1"),
        (None, "None"),
        (b"abc", "abc"),
        (b"\xff", "\\xff"),
        (("a", 1), "('a', '1')"),
        ((b"a", ("b", 2)), "('a', \"('b', '2')\")"),
        ("a\0b", "a\\x00b"),
        ("\ud800", "\\ud800"),
    ],
)
def test_names_are_those_that_pyarrow_writes(label, expected):
    assert stringify(label) == expected


@pytest.mark.parametrize(
    ("name", "position", "taken", "expected"),
    [
        ("i", 0, ["a"], "i"),
        (None, 0, ["a"], "__index_level_0__"),
        ("a", 1, ["a"], "__index_level_1__"),
        (None, 0, ["__index_level_0__"], "__index_level_1__"),
        (7, 0, ["a"], "7"),
    ],
)
def test_index_level_names_avoid_those_taken(name, position, taken, expected):
    assert index_level_name(name, position, taken) == expected
