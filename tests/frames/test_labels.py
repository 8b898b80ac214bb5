# SPDX-License-Identifier: Apache-2.0
import datetime
import enum
import json
import typing

import pandas as pd
import pytest
from hypothesis import given

from cudf_arrow_bridge.frames.labels import decode_label, encode_label, index_level_name, stringify
from testing.labels import LABELS, same


class Point(typing.NamedTuple):
    x: int
    y: int


class Colour(enum.IntEnum):
    RED = 1


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
