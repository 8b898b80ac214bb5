# SPDX-License-Identifier: Apache-2.0
"""Dictionaries of every value type: a round trip keeps each, or an error names its column."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal

import cudf
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab

TWO_DAYS = [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]
TWO_TIMES = [dt.time(1), dt.time(2)]
TWO_DECIMALS = [Decimal("1.5"), Decimal("2.5")]


def decimals(type_):
    return pa.array(TWO_DECIMALS, type_)


#: Values that cuDF supports as categories.
CATEGORIES = {
    "bool": pa.array([True, False]),
    "int8": pa.array([1, 2], pa.int8()),
    "double": pa.array([1.5, 2.5]),
    "date32": pa.array(TWO_DAYS, pa.date32()),
    "date64": pa.array(TWO_DAYS, pa.date64()),
    "time32": pa.array(TWO_TIMES, pa.time32("s")),
    "timestamp": pa.array([1, 2], pa.timestamp("us")),
    "timestamp of a zone": pa.array([1, 2], pa.timestamp("us", "Europe/Oslo")),
    "duration": pa.array([1, 2], pa.duration("ms")),
    "string": pa.array(["a", "b"]),
    "large_string": pa.array(["a", "b"], pa.large_string()),
    "string and null": pa.array(["a", None]),
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
}
#: Values of dictionaries that are decoded in frames.
DECODED = {
    "decimal32": decimals(pa.decimal32(4, 1)),
    "decimal64": decimals(pa.decimal64(14, 1)),
    "decimal128": decimals(pa.decimal128(30, 1)),
    "decimal128 and null": pa.array([TWO_DECIMALS[0], None], pa.decimal128(30, 1)),
}
#: Nested values, which frames have decoded and export without a dictionary.
NESTED = {
    "struct": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
    "binary": pa.array([b"a", b"b"]),
    "fixed_size_binary": pa.array([b"a", b"b"], pa.binary(1)),
    "list": pa.array([[1], [2, 3]]),
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
    obj = cab.from_arrow_device(pa.record_batch([array], ["x"]), to=to)
    batch = pa.record_batch(cab.to_arrow_device(obj))
    batch.validate(full=True)
    return batch["x"]


@BOTH
@IN_PLACES
@of(CATEGORIES | DECODED)
def test_round_trip_keeps_the_dictionary(values, place, to):
    array = place(dictionary(values))
    found = round_trip(array, to)
    assert found.type == array.type
    assert found.to_pylist() == array.to_pylist()


@of(CATEGORIES)
def test_dictionary_without_values_gives_categories_of_their_dtype(values):
    array = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), values.slice(0, 0))
    series = cab.from_arrow_device(array)
    full = cab.from_arrow_device(dictionary(values))
    assert isinstance(full.dtype, cudf.CategoricalDtype)
    assert series.dtype.categories.dtype == full.dtype.categories.dtype
    assert cab.to_arrow_device(series).to_pylist() == [None]


@of(DECODED)
def test_import_of_a_dictionary_of_decimals_gives_a_decoded_series(values):
    series = cab.from_arrow_device(dictionary(values))
    assert not isinstance(series.dtype, cudf.CategoricalDtype)
    assert series.dtype == cab.from_arrow_device(values).dtype


@BOTH
@IN_PLACES
@pytest.mark.parametrize(("values", "type_"), OTHERS.values(), ids=OTHERS.keys())
def test_dictionary_is_exported_with_values_of_another_type(values, type_, place, to):
    array = place(dictionary(values))
    assert round_trip(array, to).to_pylist() == array.to_pylist()
    assert round_trip(dictionary(values), to).type.value_type == type_


@IN_PLACES
@of(NESTED)
def test_dictionary_of_nested_values_is_decoded_in_frames(values, place):
    array = place(dictionary(values))
    found = round_trip(array, "pylibcudf")
    assert (found.type, found.to_pylist()) == (array.type, array.to_pylist())
    decoded = place(values.take(dictionary(values).indices))
    found = round_trip(array, "cudf")
    assert (found.type, found.to_pylist()) == (decoded.type, decoded.to_pylist())
    assert repr(cab.from_arrow_device(array))


@of(NESTED)
def test_import_without_copies_rejects_dictionaries_of_nested_values(values):
    with pytest.raises(ValueError, match="copied"):
        cab.from_arrow_device(dictionary(values), copy=False)


INTERVALS = pd.arrays.IntervalArray.from_breaks([0, 1, 2])
NAN = float("nan")
#: Values of which the first and the last are equal.
REPEATED = {
    "bool": pa.array([True, False, True]),
    "double": pa.array([0.0, 1.5, -0.0]),
    "date32": pa.array([*TWO_DAYS, TWO_DAYS[0]], pa.date32()),
    "timestamp of a zone": pa.array([1, 2, 1], pa.timestamp("us", "Europe/Oslo")),
    "string": pa.array(["a", "b", "a"]),
    "string and nulls": pa.array(["a", None, "b", None, "a"]),
    "dictionary": pa.array(["a", "b", "a"]).dictionary_encode(),
    "interval": pa.array(INTERVALS.take([0, 1, 0])),
    "interval and null": pa.array(INTERVALS.take([0, 1, -1, -1, 0], allow_fill=True)),
}


def over_all(values, ordered=False):
    """Return a dictionary array with a row for each value, and a null."""
    indices = pa.array([*range(len(values)), None], pa.int8())
    return pa.DictionaryArray.from_arrays(indices, values, ordered=ordered)


@of(REPEATED)
def test_repeated_values_of_a_dictionary_are_one_category(values):
    array = over_all(values, ordered=True)
    series = cab.from_arrow_device(array)
    categories = series.dtype.categories.to_pandas()
    assert categories.is_unique
    assert len(categories) == 2
    assert series.dtype.ordered
    shown = series.to_pandas()
    assert shown[0] == shown[len(values) - 1] == categories[0]
    assert shown.isna().sum() == array.to_pylist().count(None)
    assert repr(series)
    back = pa.array(cab.to_arrow_device(series))
    assert back.type == array.type
    assert back.to_pylist() == array.to_pylist()


def test_not_a_number_is_one_category():
    values = pa.array([NAN, 1.0, NAN])
    back = pa.array(cab.to_arrow_device(cab.from_arrow_device(over_all(values))))
    assert len(back.dictionary) == 2
    assert back.indices.to_pylist() == [0, 1, 0, None]


@of(REPEATED | {"double and NaN": pa.array([0.5, 1.5, NAN, 0.5])})
def test_device_arrays_with_repeated_dictionary_values_are_converted_to_pandas(values):
    array = over_all(values, ordered=True)
    exported = cab.to_arrow_device(pa.record_batch([array], ["x"]))
    for shown in (cab.to_arrow_device(array).to_pandas(), exported.to_pandas()["x"]):
        assert shown.isna().to_list() == pd.isna(array.to_pylist()).tolist()
        assert shown.dtype.ordered
        assert len(shown.dtype.categories) == 2
        assert shown.cat.codes[len(values) - 1] == 0


@of({name: values for name, values in NESTED.items() if pa.types.is_nested(values.type)})
def test_device_arrays_with_nested_dictionary_values_are_converted_to_pandas(values):
    array = dictionary(values)
    exported = cab.to_arrow_device(pa.record_batch([array], ["x"]))
    decoded = values.take(array.indices).to_pandas()
    for shown in (cab.to_arrow_device(array).to_pandas(), exported.to_pandas()["x"]):
        assert str(shown.to_list()) == str(decoded.to_list())


def test_device_arrays_of_cut_columns_are_converted_to_pandas():
    frame = pd.DataFrame({"cut": pd.cut([1.0, 2.0, NAN, 3.0], 2), "x": range(4)})
    for part in (frame, frame.set_index("cut")):
        pd.testing.assert_frame_equal(cab.to_arrow_device(part).to_pandas(), part)


def test_distinct_values_of_a_dictionary_are_shared():
    array = over_all(pa.array(["a", "b", "c"]))
    back = pa.array(cab.to_arrow_device(cab.from_arrow_device(array, copy=False)))
    assert back.indices.buffers()[1].address == array.indices.buffers()[1].address
    for found, given in zip(back.dictionary.buffers(), array.dictionary.buffers(), strict=True):
        assert (found and found.address) == (given and given.address)


def test_import_without_copies_rejects_repeated_values_of_a_dictionary():
    batch = pa.record_batch([over_all(REPEATED["string"])], ["x"])
    with pytest.raises(ValueError, match=r"'x' \(.*categories"):
        cab.from_arrow_device(batch, copy=False)


def test_batches_with_repeated_values_of_dictionaries_are_concatenated():
    chunks = pa.chunked_array([over_all(pa.array(list(text))) for text in ("aba", "cbc")])
    series = cab.from_arrow_device(chunks)
    assert sorted(series.dtype.categories.to_pandas()) == ["a", "b", "c"]
    assert cab.to_arrow_device(series).to_pylist() == ["a", "b", "a", None, "c", "b", "c", None]


@BOTH
@pytest.mark.parametrize("path", PLACES)
def test_import_rejects_dictionaries_of_decimal256(path, to):
    array = PLACES[path](dictionary(decimals(pa.decimal256(50, 1))))
    with pytest.raises(TypeError, match=f"'{re.escape(path)}'.*decimal256"):
        round_trip(array, to)


@BOTH
def test_round_trip_of_a_dictionary_of_nulls_gives_nulls(to):
    array = dictionary(pa.nulls(2))
    assert round_trip(array, to).to_pylist() == [None] * 4
