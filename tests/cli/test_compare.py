# SPDX-License-Identifier: Apache-2.0
import pyarrow as pa
import pytest

from cudf_arrow_bridge.cli.compare import (
    difference,
    same_type,
    same_values,
)

NAN = float("nan")
A = {"a": NAN, "b": [1]}
STRUCT = pa.struct([("a", pa.float64()), ("b", pa.list_(pa.int32()))])


@pytest.mark.parametrize(
    ("left", "right", "row"),
    [
        (pa.array([1, 2, 3]), pa.array([1, 2, 4]), 2),
        (pa.array([1, None, 3]), pa.array([1, 0, 3]), 1),
        (pa.array([0.0, 1.0]), pa.array([-0.0, 1.0]), 0),
        (pa.array([NAN]), pa.array([None], pa.float64()), 0),
        (pa.array(["a", ""]), pa.array(["a", None]), 1),
        (pa.array([[1], []]), pa.array([[1], None]), 1),
        (pa.array([[1, 2], [3]]), pa.array([[1], [2, 3]]), 0),
        (pa.array([A] * 2, STRUCT), pa.array([A, {"a": NAN, "b": []}], STRUCT), 1),
        (pa.array(["x", "y"]).dictionary_encode(), pa.array(["x", "z"]).dictionary_encode(), 1),
        (pa.array([True, None, False]), pa.array([True, None, True]), 2),
    ],
)  # fmt: skip
def test_difference_names_the_first_different_row(left, right, row):
    assert difference(left, right).startswith(f"row {row}: ")
    assert difference(left, left) == ""
    assert difference(right, right) == ""
    assert difference(left.slice(row), right.slice(row)).startswith("row 0: ")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (
            pa.array([b"ab", None], pa.large_binary()),
            pa.array([[97, 98], None], pa.list_(pa.uint8())),
        ),
        (pa.array([5, None], pa.time32("s")), pa.array([5, None], pa.duration("s"))),
    ],
)
def test_runs_equal_their_values_in_the_types_of_cudf(left, right):
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), left)
    expected = right.take(pa.array([0, 0, 1]))
    assert difference(runs, expected) == ""
    assert difference(runs, right.take(pa.array([0, 1, 1]))).startswith("row 1: ")


def test_maps_with_null_rows_and_view_keys_are_compared():
    maps = pa.array([[("x", 1)], None, [("y", 2), ("z", None)]], pa.map_(pa.string(), pa.int8()))
    keys = pa.array(maps.keys.to_pylist(), pa.string_view())
    views = pa.MapArray.from_arrays(maps.offsets, keys, maps.items, mask=maps.is_null())
    other = pa.array([[("x", 1)], None, [("y", 2), ("z", 3)]], maps.type)
    for begin in range(3):
        assert same_values(maps.slice(begin), views.slice(begin))
        assert not same_values(other.slice(begin), views.slice(begin))


def test_runs_of_lists_of_views_are_compared():
    lists = pa.array([["x"], None], pa.list_(pa.string_view()))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), lists)
    assert difference(runs, pa.array([["x"], None, None])) == ""
    assert difference(runs, pa.array([["y"], None, None])).startswith("row 0: ")


def test_maps_of_null_values_are_compared():
    type_ = pa.map_(pa.string(), pa.null())
    maps = pa.array([[("x", None)] * 3, [("y", None)]], type_)
    assert difference(maps, maps) == ""
    assert difference(maps, pa.array([[("x", None)] * 3, []], type_)).startswith("row 1: ")


def test_nan_equals_nan():
    for values in ([NAN], [[NAN, None]], [{"a": NAN}]):
        assert difference(pa.array(values), pa.array(values)) == ""


def test_values_under_nulls_are_not_compared():
    mask = pa.array([False, True])
    left = pa.StructArray.from_arrays([pa.array([1, 2])], ["a"], mask=mask)
    right = pa.StructArray.from_arrays([pa.array([1, 9])], ["a"], mask=mask)
    assert difference(left, right) == ""


def test_different_lengths_and_types_are_differences():
    assert difference(pa.array([1]), pa.array([1, 2])) == "1 rows became 2"
    assert difference(pa.array([1], pa.int8()), pa.array([1])) == "int8 became int64"


def test_type_conversion_of_cudf_is_not_a_difference():
    days = pa.array([1, None], pa.date32())
    assert difference(days, days.cast(pa.timestamp("s"))) == ""
    assert difference(days, pa.array([0, None], pa.timestamp("s"))).startswith("row 0: ")
    assert difference(pa.array([[1]], pa.list_(pa.date32())),
                      pa.array([[86400]], pa.list_(pa.timestamp("s")))) == ""  # fmt: skip
    assert difference(days, days.cast(pa.timestamp("ms"))) == "date32[day] became timestamp[ms]"


@pytest.mark.parametrize(
    ("outer", "rows"),
    [
        (lambda value: pa.map_(pa.int8(), value), [[(1, 0.0)], None, [(2, None), (3, 1.5)]]),
        (lambda value: pa.list_(value, 2), [[0.0, 1.0], None, [None, 1.5]]),
    ],
    ids=["map", "fixed_size_list"],
)
def test_type_conversion_in_maps_and_fixed_size_lists_is_not_a_difference(outer, rows):
    halves, floats, doubles = (
        pa.array(rows, outer(value)) for value in (pa.float16(), pa.float32(), pa.float64())
    )
    assert difference(halves, floats) == ""
    assert difference(halves[1:], floats[1:]) == ""
    assert difference(halves[:1], floats[2:]).startswith("row 0: ")
    assert difference(halves, doubles) == f"{halves.type} became {doubles.type}"


def test_lists_of_another_fixed_size_are_a_difference():
    one, two = (pa.array([[0] * size], pa.list_(pa.int8(), size)) for size in (1, 2))
    assert " became " in difference(one, two)


def test_lists_with_nulls_of_run_ends_are_compared():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), pa.array(["x"]))
    mask = pa.array([False, True])
    lists = pa.ListArray.from_arrays(pa.array([0, 3, 3], pa.int32()), runs, mask=mask)
    assert difference(lists, pa.array([["x"] * 3, None])) == ""
    assert difference(lists, pa.array([["x", "x", "y"], None])).startswith("row 0: ")


@pytest.mark.parametrize("type_", [pa.string_view(), pa.opaque(pa.string(), "text", "vendor")])
def test_run_ends_of_types_that_pyarrow_does_not_decode_are_compared(type_):
    runs = pa.RunEndEncodedArray.from_arrays([2, 5], pa.array(["x", None]).cast(type_))
    assert difference(runs.slice(1), pa.array(["x", None, None, None])) == ""
    assert difference(runs, pa.array(["x", "y", None, None, None])).startswith("row 1: ")
    extension = pa.ExtensionArray.from_storage(pa.opaque(runs.type, "text", "vendor"), runs)
    assert difference(extension, pa.array(["x", "x", None, None, None])) == ""


def test_structs_with_nulls_of_views_are_compared():
    mask = pa.array([False, True, False])
    views = pa.StructArray.from_arrays(
        [pa.array(["x", "y", "z"], pa.string_view())], ["a"], mask=mask
    )
    assert difference(views, pa.array([{"a": "x"}, None, {"a": "z"}])) == ""
    assert difference(views, pa.array([{"a": "x"}, None, {"a": "y"}])).startswith("row 2: ")


def test_dictionary_conversion_compares_values():
    words = pa.array(["x", None, "x"]).dictionary_encode()
    small = pa.DictionaryArray.from_arrays(words.indices.cast(pa.int8()), words.dictionary)
    wrong = pa.array(["x", None, "y"])
    assert difference(words, small) == ""
    assert " became " in difference(small, words)
    assert difference(words, words.dictionary_decode()) == ""
    assert difference(words, wrong).startswith("row 2: ")
    assert difference(words, wrong.dictionary_encode()).startswith("row 2")


def test_same_type_ignores_only_the_name_and_nullability_of_list_items():
    item = pa.list_(pa.field("item", pa.int8()))
    element = pa.list_(pa.field("element", pa.int8(), nullable=False))
    assert same_type(item, element)
    assert same_type(pa.struct([("x", item)]), pa.struct([("x", element)]))
    assert not same_type(pa.struct([("x", item)]), pa.struct([("y", item)]))
    assert not same_type(pa.timestamp("s", "UTC"), pa.timestamp("s"))
    assert not same_type(pa.decimal128(4, 2), pa.decimal128(5, 2))
    plain = pa.dictionary(pa.int32(), pa.string())
    assert not same_type(plain, pa.dictionary(pa.int32(), pa.string(), ordered=True))
    assert not same_type(plain, pa.dictionary(pa.int8(), pa.string()))
