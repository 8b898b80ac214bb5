# SPDX-License-Identifier: Apache-2.0
"""The comparison of columns by `roundtrip`: values, nulls, and the types that cuDF converts to."""

import pyarrow as pa
import pytest

from cudf_arrow_bridge.cli.compare import difference, same_type

NAN = float("nan")
MASK = pa.array([False, True])
VIEW = pa.string_view()
SECONDS = pa.timestamp("s")
BYTES = pa.list_(pa.uint8())
MAP = pa.map_(pa.string(), pa.int8())
MAPS = [[("x", 1)], None, [("y", 2), ("z", None)]]


def runs(values, type_=None):
    """Return the first value twice and the second one once."""
    ends = pa.array([2, 3], pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, pa.array(values, type_))


def structs(values, type_=None):
    """Return a struct and a null above a value."""
    return pa.StructArray.from_arrays([pa.array(values, type_)], ["a"], mask=MASK)


def map_of_views(rows):
    maps = pa.array(rows, MAP)
    keys = pa.array(maps.keys.to_pylist(), VIEW)
    return pa.MapArray.from_arrays(maps.offsets, keys, maps.items, mask=maps.is_null())


def list_of_runs(values):
    return pa.ListArray.from_arrays(pa.array([0, 3, 3], pa.int32()), runs(values), mask=MASK)


def halves(type_, value):
    return pa.array([[(1, value)], None], pa.map_(pa.int8(), type_))


WORDS = pa.array(["x", None, "x"]).dictionary_encode()
#: A column, an equal one, of a type that cuDF converts to, and the row in which another differs.
COLUMNS = {
    "null": (pa.array([1, None]), pa.array([1, None]), pa.array([1, 0]), 1),
    "sign": (pa.array([1.0, 0.0]), pa.array([1.0, 0.0]), pa.array([1.0, -0.0]), 1),
    "NaN": (pa.array([[NAN]]), pa.array([[NAN]]), pa.array([[None]], pa.list_(pa.float64())), 0),
    "lists": (pa.array([[1, 2], []]), pa.array([[1, 2], []]), pa.array([[1, 2], None]), 1),
    "lengths": (pa.array([[1, 2], [3]]), pa.array([[1, 2], [3]]), pa.array([[1], [2, 3]]), 0),
    "structs": (structs(["x", "y"], VIEW), structs(["x", "z"]), structs(["y", "y"]), 0),
    "days": (
        pa.array([1, None], pa.date32()),
        pa.array([86400, None], SECONDS),
        pa.array([0, None], SECONDS),
        0,
    ),
    "times": (
        pa.array([5], pa.time32("s")),
        pa.array([5], pa.duration("s")),
        pa.array([6], pa.duration("s")),
        0,
    ),
    "codes": (
        WORDS,
        WORDS.cast(pa.dictionary(pa.int8(), pa.string())),
        pa.array(["x", None, "y"]),
        2,
    ),
    "words": (WORDS, WORDS.dictionary_decode(), WORDS.take(pa.array([0, 1, 1])), 2),
    "bytes": (
        pa.array([b"ab", None]),
        pa.array([[97, 98], None], BYTES),
        pa.array([[97], None], BYTES),
        0,
    ),
    "runs": (runs(["x", None], VIEW), pa.array(["x", "x", None]), pa.array(["x", "y", None]), 1),
    "extension of runs": (
        pa.ExtensionArray.from_storage(pa.opaque(runs([1, 2]).type, "text", "x"), runs([1, 2])),
        pa.array([1, 1, 2]),
        pa.array([1, 2, 2]),
        1,
    ),
    "lists of runs": (
        list_of_runs(["x", "y"]),
        pa.array([["x", "x", "y"], None]),
        pa.array([["x", "x", "x"], None]),
        0,
    ),
    "maps": (map_of_views(MAPS), pa.array(MAPS, MAP), pa.array([*MAPS[:2], []], MAP), 2),
    "halves": (
        halves(pa.float16(), 0.5),
        halves(pa.float32(), 0.5),
        halves(pa.float32(), 1.5),
        0,
    ),
    "nulls": (
        pa.array([[("x", None)] * 2, None], pa.map_(pa.string(), pa.null())),
        pa.array([[("x", None)] * 2, None], pa.map_(pa.string(), pa.null())),
        pa.array([[("x", None)], None], pa.map_(pa.string(), pa.null())),
        0,
    ),
}


@pytest.mark.parametrize(("column", "equal", "other", "row"), COLUMNS.values(), ids=COLUMNS)
def test_difference_names_the_first_different_row(column, equal, other, row):
    assert difference(column, column) == ""
    assert difference(column, equal) == ""
    assert difference(column[1:], equal[1:]) == ""
    assert difference(column, other).startswith(f"row {row}: ")
    assert difference(column.slice(row), other.slice(row)).startswith("row 0: ")


OTHER_TYPES = {
    "int64": (pa.array([1], pa.int8()), pa.array([1])),
    "milliseconds": (pa.array([1], pa.date32()), pa.array([1], pa.timestamp("ms"))),
    "doubles": (halves(pa.float16(), 0.5), halves(pa.float64(), 0.5)),
    "wider codes": (WORDS.cast(pa.dictionary(pa.int8(), pa.string())), WORDS),
    "size": (pa.array([[0]], pa.list_(pa.int8(), 1)), pa.array([[0, 0]], pa.list_(pa.int8(), 2))),
}


@pytest.mark.parametrize(("column", "other"), OTHER_TYPES.values(), ids=OTHER_TYPES)
def test_type_that_cudf_does_not_convert_to_is_a_difference(column, other):
    assert difference(column, other) == f"{column.type} became {other.type}"


def test_different_lengths_are_a_difference():
    assert difference(pa.array([1]), pa.array([1, 2])) == "1 rows became 2"


def test_same_type_ignores_only_the_name_and_nullability_of_list_items():
    item = pa.list_(pa.field("item", pa.int8()))
    element = pa.list_(pa.field("element", pa.int8(), nullable=False))
    assert same_type(item, element)
    assert same_type(pa.struct([("x", item)]), pa.struct([("x", element)]))
    assert not same_type(pa.struct([("x", item)]), pa.struct([("y", item)]))
    assert not same_type(pa.timestamp("s", "UTC"), SECONDS)
    plain = pa.dictionary(pa.int32(), pa.string())
    assert not same_type(plain, pa.dictionary(pa.int32(), pa.string(), ordered=True))
    assert not same_type(plain, pa.dictionary(pa.int8(), pa.string()))
