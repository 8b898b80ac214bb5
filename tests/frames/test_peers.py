# SPDX-License-Identifier: Apache-2.0
"""Imported types that cuDF stores differently, or does not have."""

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from testing.host import addresses, to_plc
from testing.host_frames import content, series_of_column, shape_of_dtype

DEFAULT = pd.StringDtype(na_value=np.nan)


def imported(array, field=None):
    """Import an array as a series; return the series and its values."""
    found = series_of_column(to_plc(array), field or pa.field("x", array.type))
    return found, content(found)[0]


SLICES = [(0, 70), (1, 60), (33, 33), (64, 70)]
MANY = [None if i % 5 == 0 else i - 30 for i in range(70)]


@pytest.mark.parametrize(("begin", "end"), SLICES)
def test_import_converts_days_to_seconds(begin, end):
    days = pa.array(MANY, pa.date32()).slice(begin, end - begin)
    found, values = imported(days)
    assert found.dtype == np.dtype("datetime64[s]")
    assert values == days.cast(pa.timestamp("s")).to_pylist()


def test_conversion_of_extreme_days_does_not_overflow():
    days = pa.array([2**31 - 1, -(2**31)], pa.int32()).view(pa.date32())
    found = series_of_column(to_plc(days), pa.field("d", days.type))
    buffer = found._column.data
    seconds = np.frombuffer(pa.foreign_buffer(buffer.ptr, 16, buffer), "int64")
    assert seconds.tolist() == [(2**31 - 1) * 86400, -(2**31) * 86400]


@pytest.mark.parametrize(("begin", "end"), SLICES)
@pytest.mark.parametrize("width", [pa.int8(), pa.int64(), pa.uint8(), pa.uint16()], ids=str)
@pytest.mark.parametrize("size", [3, 255, 256, 70_000])
def test_import_converts_dictionary_indices_to_the_width_of_cudf(width, size, begin, end):
    most = 2 ** (8 * width.bit_width // 8 - 1)
    # The indices of null rows belong to no category.
    codes = pa.array([i % min(size, most) for i in range(70)], width)
    valid = pa.array([i % 5 != 0 for i in range(70)])
    junk = np.where(np.arange(70) % 5 == 0, most - 1, codes.to_numpy()).astype(str(width))
    masked = pa.Array.from_buffers(width, 70, [valid.buffers()[1], pa.py_buffer(junk)])
    source = pa.DictionaryArray.from_arrays(masked, pa.array(range(size)), safe=False)
    part = source.slice(begin, end - begin)
    found, values = imported(part)
    assert found.dtype.categories.dtype == np.dtype("int64")
    assert values == part.to_pylist()
    bits = 8 if size < 256 else 16 if size < 65_536 else 32
    assert found._column.plc_column.type().id().name == f"UINT{bits}"
    if bits == width.bit_width:
        assert addresses(found._column.plc_column)[0] == junk.ctypes.data


@pytest.mark.parametrize("ordered", [True, False])
def test_import_keeps_whether_a_dictionary_is_ordered(ordered):
    source = pa.DictionaryArray.from_arrays(pa.array([0, 1]), ["b", "a"], ordered=ordered)
    assert imported(source)[0].dtype.ordered is ordered


@pytest.mark.parametrize(("begin", "end"), [(0, 6), (1, 5), (2, 2)])
@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x", None, "zz"]),
        pa.array(["x", None, "zz"], pa.large_string()),
        pa.array([1, None, 3], pa.int16()),
        pa.array([True, None, False]),
        pa.array([1, None, 3], pa.timestamp("us")),
        pa.array([1, None, 3], pa.date32()),
        pa.array([1, None, 3], pa.decimal128(5, 0)),
    ],
    ids=lambda values: str(values.type),
)
def test_import_decodes_a_dictionary_with_a_null_value(values, begin, end):
    codes = pa.array([0, None, 1, 2, 0, 2], pa.int8())
    source = pa.DictionaryArray.from_arrays(codes, values).slice(begin, end - begin)
    found, got = imported(source)
    assert not isinstance(found.dtype, cudf.CategoricalDtype)
    expected = source.cast(values.type)
    if pa.types.is_date(values.type):
        expected = expected.cast(pa.timestamp("s"))
    assert got == expected.to_pylist()


def test_import_decodes_a_dictionary_inside_a_list_or_struct():
    words = pa.array(["x", None, "y", "x"]).dictionary_encode()
    lists = pa.ListArray.from_arrays([0, 1, 1, 4], words)
    found, values = imported(lists)
    assert shape_of_dtype(found.dtype) == ("list", shape_of_dtype(DEFAULT))
    assert values == [["x"], [], [None, "y", "x"]]
    structs = pa.StructArray.from_arrays([words], ["w"]).slice(1, 2)
    found, values = imported(structs)
    assert shape_of_dtype(found.dtype) == ("struct", [("w", shape_of_dtype(DEFAULT))])
    assert values == [{"w": None}, {"w": "y"}]


def test_import_accepts_an_empty_dictionary_of_strings():
    none = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.array([""])[:0])
    found, values = imported(none)
    assert values == [None, None]
    assert len(found.dtype.categories) == 0
    _, values = imported(pa.ListArray.from_arrays([0, 2], none))
    assert values == [[None, None]]


@pytest.mark.parametrize("size", [0, 1, 64, 513])
def test_import_of_a_null_array_gives_null_strings(size):
    found, values = imported(pa.nulls(size))
    assert shape_of_dtype(found.dtype) == shape_of_dtype(DEFAULT)
    assert values == [None] * size
    assert found._column.null_count == size
    lists = pa.ListArray.from_arrays([0, size], pa.nulls(size))
    found, values = imported(lists)
    assert shape_of_dtype(found.dtype) == ("list", shape_of_dtype(np.dtype(object)))
    assert values == [[None] * size]


def test_import_reads_the_interval_extension_from_field_metadata():
    edges = pa.array([{"left": 1, "right": 2}])
    metadata = {
        "ARROW:extension:name": "pandas.interval",
        "ARROW:extension:metadata": '{"subtype": "int64", "closed": "both"}',
    }
    found, _ = imported(edges, pa.field("i", edges.type, metadata=metadata))
    assert shape_of_dtype(found.dtype)[:2] == ("interval", "both")
    for damaged in ("{", '{"closed": "ajar"}', "[]"):
        metadata["ARROW:extension:metadata"] = damaged
        found, _ = imported(edges, pa.field("i", edges.type, metadata=metadata))
        assert isinstance(found.dtype, cudf.StructDtype)


@pytest.mark.parametrize(
    ("array", "path"),
    [
        (
            pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["price", "price"]),
            r"^column 'orders': expected .* got a struct with two fields named 'price'",
        ),
        (
            pa.StructArray.from_arrays([pa.array([1], pa.timestamp("s", "No/Where"))], ["when"]),
            r"^column.* got timestamp\[s, tz=No/Where\], a time zone that cuDF does not take",
        ),
        (
            pa.array([[100]], pa.list_(pa.decimal64(3, -2))).cast(pa.list_(pa.decimal64(1, -2))),
            r"^column 'orders\[\]': expected .* got decimal64\(1, -2\), whose scale is larger than",
        ),
    ],
)
def test_import_error_names_the_column_that_cudf_does_not_support(array, path):
    with pytest.raises(TypeError, match=path + ".*pylibcudf"):
        imported(array, pa.field("orders", array.type))
