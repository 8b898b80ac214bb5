# SPDX-License-Identifier: Apache-2.0
import datetime
import enum
import json
import typing

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudf_arrow_bridge.frames.labels import (
    decode_index,
    decode_label,
    encode_index,
    encode_label,
    index_level_name,
    stringify,
)
from testing.labels import INDEXES, LABELS, are_same_labels


class Point(typing.NamedTuple):
    x: int
    y: int


class Colour(enum.IntEnum):
    RED = 1


@given(LABELS)
def test_label_has_a_utf8_name_and_is_unchanged_after_encoding_as_json(label):
    objects = []
    form = json.loads(json.dumps(encode_label(label, objects)))
    assert objects == []
    assert are_same_labels(decode_label(form), label)
    assert b"\0" not in stringify(label).encode()


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
def test_label_without_a_json_form_is_stored_in_the_objects(label):
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
def test_decode_label_rejects_an_unknown_form(form):
    with pytest.raises((AttributeError, LookupError, TypeError, ValueError)):
        decode_label(form)


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
def test_stringify_returns_the_name_that_pyarrow_writes(label, expected):
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
def test_index_level_name_avoids_taken_names(name, position, taken, expected):
    assert index_level_name(name, position, taken) == expected


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
def test_index_and_subsets_are_unchanged_after_encoding_as_json(index):
    assert_same(trip(index), index)
    part = trip(index, slice(1, None))
    if isinstance(index, pd.MultiIndex):
        pd.testing.assert_index_equal(part, index[1:])
    else:
        assert_same(part, index[1:])


def test_sparse_or_reversed_range_decodes_to_an_integer_index():
    found = trip(pd.RangeIndex(4, name="r"), slice(None, None, 3))
    assert_same(found, pd.Index([0, 3], dtype="int64", name="r"))
    assert_same(trip(pd.RangeIndex(3), slice(None, None, -1)), pd.Index([2, 1, 0]))


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(-5, 5) | st.none()), min_size=1))
def test_multiindex_is_unchanged_after_encoding_as_json(labels):
    index = pd.MultiIndex.from_tuples(labels, names=[None, "n"])
    assert_same(trip(index), index)
