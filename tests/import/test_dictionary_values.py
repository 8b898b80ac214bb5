# SPDX-License-Identifier: Apache-2.0
"""Dictionaries of every value type: a round trip keeps each, or an error names its column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import cudf
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge

TWO_DAYS = [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]
TWO_TIMES = [dt.time(1), dt.time(2)]
TWO_DECIMALS = [Decimal("1.5"), Decimal("2.5")]


def decimals(type_):
    return pa.array(TWO_DECIMALS, type_)


#: Values that cuDF supports as categories.
CATEGORIES = {
    "bool": pa.array([True, False]),
    "int8": pa.array([1, 2], pa.int8()),
    "uint64": pa.array([1, 2], pa.uint64()),
    "double": pa.array([1.5, 2.5]),
    "date32": pa.array(TWO_DAYS, pa.date32()),
    "date64": pa.array(TWO_DAYS, pa.date64()),
    "time32": pa.array(TWO_TIMES, pa.time32("s")),
    "time64": pa.array(TWO_TIMES, pa.time64("us")),
    "timestamp": pa.array([1, 2], pa.timestamp("us")),
    "timestamp of a zone": pa.array([1, 2], pa.timestamp("us", "Europe/Oslo")),
    "duration": pa.array([1, 2], pa.duration("ms")),
    "string": pa.array(["a", "b"]),
    "large_string": pa.array(["a", "b"], pa.large_string()),
    "string and null": pa.array(["a", None]),
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
    "struct": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
}
#: Values of dictionaries that are decoded in frames.
DECODED = {
    "decimal32": decimals(pa.decimal32(4, 1)),
    "decimal64": decimals(pa.decimal64(14, 1)),
    "decimal128": decimals(pa.decimal128(30, 1)),
    "decimal128 and null": pa.array([TWO_DECIMALS[0], None], pa.decimal128(30, 1)),
}
#: Values of dictionaries that frames in host memory do not support.
REFUSED = {
    "binary": pa.array([b"a", b"b"]),
    "large_binary": pa.array([b"a", b"b"], pa.large_binary()),
    "fixed_size_binary": pa.array([b"a", b"b"], pa.binary(1)),
    "list": pa.array([[1], [2, 3]]),
    "list of structs": pa.array([[{"a": 1}], []]),
    "large_list": pa.array([[1], [2, 3]], pa.large_list(pa.int8())),
    "fixed_size_list": pa.array([[1], [2]], pa.list_(pa.int8(), 1)),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int8())),
}
#: Values that are exported as another type, with that type.
OTHERS = {
    "halffloat": (pa.array([1.5, 2.5], pa.float16()), pa.float32()),
    "string_view": (pa.array(["a", "b" * 20], pa.string_view()), pa.string()),
}


def dictionary(values):
    indices = pa.array([1, 0, None, 1], pa.int32())
    return pa.DictionaryArray.from_arrays(indices, values)


PLACES = {
    "x": lambda array: array,
    "x[]": lambda array: pa.ListArray.from_arrays([0, 1, 2, 4], array),
    "x.s": lambda array: pa.StructArray.from_arrays([array], ["s"]),
}
BOTH = pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
IN_PLACES = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())


def of(values):
    return pytest.mark.parametrize("values", values.values(), ids=values.keys())


def round_trip(array, to):
    """Import and export a column; return the array that pyarrow reads and validates."""
    obj = bridge.from_arrow_device(pa.record_batch([array], ["x"]), to=to)
    batch = pa.record_batch(bridge.to_arrow_device(obj))
    batch.validate(full=True)
    return batch["x"]


@pytest.mark.parametrize(
    ("name", "path", "to"),
    [
        (name, path, to)
        for name in CATEGORIES | DECODED
        for path in PLACES
        for to in ("cudf", "pylibcudf")
        if not (name == "struct" and path != "x" and to == "cudf")  # rejected: see below
    ],
)
def test_round_trip_keeps_the_dictionary(name, path, to):
    array = PLACES[path](dictionary((CATEGORIES | DECODED)[name]))
    found = round_trip(array, to)
    assert found.type == array.type
    assert found.to_pylist() == array.to_pylist()


@of(CATEGORIES)
def test_import_of_a_dictionary_gives_a_categorical_series(values):
    series = bridge.from_arrow_device(dictionary(values))
    assert isinstance(series.dtype, cudf.CategoricalDtype)


@of(CATEGORIES)
def test_dictionary_without_values_gives_categories_of_their_dtype(values):
    array = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), values.slice(0, 0))
    series = bridge.from_arrow_device(array)
    full = bridge.from_arrow_device(dictionary(values))
    assert series.dtype.categories.dtype == full.dtype.categories.dtype
    assert bridge.to_arrow_device(series).to_pylist() == [None]


@of({name: CATEGORIES[name] for name in ("timestamp of a zone", "struct")})
def test_dictionary_of_dictionaries_gives_categories_of_the_inner_values(values):
    inner = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), values)
    series = bridge.from_arrow_device(dictionary(inner))
    plain = bridge.from_arrow_device(dictionary(values))
    assert series.dtype.categories.dtype == plain.dtype.categories.dtype
    assert bridge.to_arrow_device(series).to_pylist() == dictionary(inner).to_pylist()


@of(DECODED)
def test_import_of_a_dictionary_of_decimals_gives_a_decoded_series(values):
    series = bridge.from_arrow_device(dictionary(values))
    assert not isinstance(series.dtype, cudf.CategoricalDtype)
    assert series.dtype == bridge.from_arrow_device(values).dtype


def test_cudf_has_no_categories_of_decimals():
    """If cuDF supports them one day, frames no longer need decoded values."""
    series = bridge.from_arrow_device(decimals(pa.decimal128(30, 1)))
    with pytest.raises(NotImplementedError, match="DecimalColumn"):
        cudf.Index(series)


@BOTH
@IN_PLACES
@pytest.mark.parametrize(("values", "type_"), OTHERS.values(), ids=OTHERS.keys())
def test_dictionary_is_exported_with_values_of_another_type(values, type_, place, to):
    array = place(dictionary(values))
    assert round_trip(array, to).to_pylist() == array.to_pylist()
    assert round_trip(dictionary(values), to).type.value_type == type_


@IN_PLACES
@of(REFUSED)
def test_import_to_host_frames_rejects_the_dictionary_by_column_name(values, place, request):
    array = place(dictionary(values))
    path = request.node.callspec.id.split("-")[-1]
    found = round_trip(array, "pylibcudf")
    assert (found.type, found.to_pylist()) == (array.type, array.to_pylist())
    with pytest.raises(TypeError, match=r'got a dictionary of .*to="pylibcudf" instead') as error:
        round_trip(array, "cudf")
    assert str(error.value).startswith(f"column '{path}': ")


def test_import_rejects_dictionaries_of_structs_inside_lists_and_structs():
    for path in ("x[]", "x.s"):
        array = PLACES[path](dictionary(CATEGORIES["struct"]))
        with pytest.raises(TypeError, match="got a dictionary of struct<a") as error:
            round_trip(array, "cudf")
        assert str(error.value).startswith(f"column '{path}': ")


@BOTH
@IN_PLACES
def test_import_rejects_dictionaries_of_decimal256(place, to, request):
    array = place(dictionary(decimals(pa.decimal256(50, 1))))
    path = request.node.callspec.id.split("-")[0]
    with pytest.raises(TypeError, match="decimal256") as error:
        round_trip(array, to)
    assert f"'{path}'" in str(error.value)


@BOTH
def test_round_trip_of_a_dictionary_of_nulls_gives_nulls(to):
    array = dictionary(pa.nulls(2))
    assert round_trip(array, to).to_pylist() == [None] * 4
