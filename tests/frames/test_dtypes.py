# SPDX-License-Identifier: Apache-2.0
"""Exports and imports of every dtype of cuDF, over the same memory."""

import decimal
import zoneinfo

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import rmm

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.frames.cudf_private import make_column, make_known_column
from cudf_arrow_bridge.frames.frame_to_columns import frame_to_columns
from testing.host import addresses, arrays_of, schema_of, table_of, to_plc
from testing.host_frames import assert_same_object, column, frame, round_trip, series
from testing.spilling import HostBuffer, turn_on

D = decimal.Decimal
STRINGS = pa.array(["a", None, "ccc", "", "é" * 9])
INTS = pa.array([1, None, 3, 4, -5])
BERLIN = pd.DatetimeTZDtype("ns", zoneinfo.ZoneInfo("Europe/Berlin"))
DEFAULT = pd.StringDtype(na_value=np.nan)
STRUCTS = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}, {"a": 3, "b": ""}, None])
LISTS = pa.array([[1, None], None, [], [4, 5, 6], [7]])
DEEP = pa.array([[{"p": [1], "q": "x"}], None, [], [{"p": None, "q": None}, None], [None]])
EDGES = pa.StructArray.from_arrays(
    [INTS, pa.array([5, 5, 5, 5, 5])], ["left", "right"], mask=pa.array([False] * 4 + [True])
)
STAMPS = pa.array([1, None, 3, 4, 5], pa.timestamp("ns"))


def numeric(name):
    return INTS.fill_null(7).cast(name, safe=False)


DECIMALS = pa.array([D("1.25"), None, D("-3.00"), D("0.01"), D("9.99")], pa.decimal64(10, 2))
CASES = {
    **{
        name: (numeric(name), np.dtype(name))
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    },
    "float32": (INTS.cast("float32"), np.dtype("float32")),
    "float64": (INTS.cast("float64"), np.dtype("float64")),
    "bool": (pa.array([True, None, False, True, True]), np.dtype("bool")),
    **{
        f"{kind}[{unit}]": (make(unit), np.dtype(f"{kind}[{unit}]"))
        for kind, make in (
            ("datetime64", lambda unit: INTS.cast(pa.timestamp(unit))),
            ("timedelta64", lambda unit: INTS.cast(pa.duration(unit))),
        )
        for unit in ("s", "ms", "us", "ns")
    },
    "zoned": (STAMPS, BERLIN),
    "decimal32": (DECIMALS.cast(pa.decimal32(7, 2)), cudf.Decimal32Dtype(7, 2)),
    "decimal64": (DECIMALS, cudf.Decimal64Dtype(10, 2)),
    "decimal128": (DECIMALS.cast(pa.decimal128(20, 2)), cudf.Decimal128Dtype(20, 2)),
    "str": (STRINGS, DEFAULT),
    "large str": (STRINGS.cast("large_string"), DEFAULT),
    "object": (STRINGS, np.dtype(object)),
    "string": (STRINGS, pd.StringDtype("pyarrow")),
    "string[python]": (STRINGS, pd.StringDtype("python")),
    "Int64": (INTS, pd.Int64Dtype()),
    "UInt8": (numeric("uint8"), pd.UInt8Dtype()),
    "Float32": (INTS.cast("float32"), pd.Float32Dtype()),
    "boolean": (pa.array([True, None, False, True, True]), pd.BooleanDtype()),
    "arrow int": (INTS, pd.ArrowDtype(pa.int64())),
    "arrow string": (STRINGS, pd.ArrowDtype(pa.string())),
    "arrow large string": (STRINGS, pd.ArrowDtype(pa.large_string())),
    "arrow zoned": (STAMPS, pd.ArrowDtype(pa.timestamp("ns", "Europe/Berlin"))),
    "arrow decimal": (DECIMALS, pd.ArrowDtype(pa.decimal64(10, 2))),
    "arrow list": (LISTS, pd.ArrowDtype(pa.list_(pa.field("each", pa.int64())))),
    "arrow struct": (STRUCTS, pd.ArrowDtype(STRUCTS.type)),
    "list": (LISTS, cudf.ListDtype("int64")),
    "list of object": (
        pa.array([["a"], None, [], [None, "b"], ["c"]]),
        cudf.ListDtype(np.dtype(object)),
    ),
    "list of Int64": (LISTS, cudf.ListDtype(pd.Int64Dtype())),
    "struct": (STRUCTS, cudf.StructDtype({"a": "int64", "b": DEFAULT})),
    "struct of string": (STRUCTS, cudf.StructDtype({"a": "Int64", "b": pd.StringDtype("python")})),
    "struct without fields": (
        pa.array([{}, None, {}, {}, {}], pa.struct([])),
        cudf.StructDtype({}),
    ),
    "list of struct of list": (
        DEEP,
        cudf.ListDtype(cudf.StructDtype({"p": cudf.ListDtype("int64"), "q": DEFAULT})),
    ),
    "interval": (EDGES, cudf.IntervalDtype("int64", "left")),
    "interval unclosed": (EDGES, cudf.IntervalDtype("int64")),
    "interval of times": (
        pa.StructArray.from_arrays([STAMPS, STAMPS], ["left", "right"]),
        cudf.IntervalDtype("datetime64[ns]", "both"),
    ),
    "interval of Int64": (EDGES, cudf.IntervalDtype(pd.Int64Dtype(), "right")),
    "arrow null": (pa.nulls(5, pa.string()), pd.ArrowDtype(pa.null())),
}


def category(array, categories, dtype=DEFAULT, ordered=False):
    made = cudf.CategoricalDtype(column(categories, dtype), ordered)
    return array, made


CODES = pa.array([1, None, 0, 1, 1], pa.uint8())
CASES |= {
    "category": category(CODES, pa.array(["x", "y"])),
    "category ordered": category(CODES, pa.array(["x", "y"]), ordered=True),
    "category order unknown": category(CODES, pa.array(["x", "y"]), ordered=None),
    "category of object": category(CODES, pa.array(["x", "y"]), np.dtype(object)),
    "category of times": category(
        CODES, pa.array([1, 2], pa.timestamp("s")), np.dtype("datetime64[s]")
    ),
    "category of intervals": category(
        CODES,
        pa.array([{"left": 1, "right": 2}, {"left": 2, "right": 3}]),
        cudf.IntervalDtype("int64", "right"),
    ),
    "category unused": category(pa.array([None] * 5, pa.uint8()), pa.array([], pa.string())),
    **{
        f"category {count}": category(
            pa.array([count - 1, 0, None, count - 1, 1], width),
            pa.array(range(count), pa.int64()),
            np.dtype("int64"),
        )
        for count, width in (
            (128, pa.uint8()),
            (129, pa.uint8()),
            (255, pa.uint8()),
            (256, pa.uint16()),
            (40_000, pa.uint16()),
        )
    },
}
SLICES = [(0, 5), (2, 4), (3, 3)]


@pytest.mark.parametrize("spills", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_make_known_column_makes_the_column_that_cudf_makes(name, spills, monkeypatch):
    if spills:
        turn_on(monkeypatch)
    array, dtype = CASES[name]
    source = to_plc(array)
    expected = make_column(source, dtype)
    made = make_known_column(source, type(expected), expected.dtype)
    attributes, others = dict(vars(made)), dict(vars(expected))
    assert attributes.pop("plc_column") is not others.pop("plc_column")
    assert attributes == others
    assert not any(attributes[key] is others[key] for key in attributes.keys() - {"_dtype"})
    assert addresses(made.plc_column) == addresses(source)
    for one, other in zip(buffers_of(made), buffers_of(expected), strict=True):
        assert type(one) is type(other)
        assert type(one._access_context) is type(other._access_context)
        assert one._access_context._buffer_ref() is one
        assert vars(one).keys() == vars(other).keys()
        assert vars(one.owner).keys() == vars(other.owner).keys()
        assert (one._offset, one.size, one.owner.size) == (0, other.size, other.owner.size)
        assert one._access_mode_stack == []
        assert one.owner is not other.owner
        assert len(one.owner._slices) > 1


def buffers_of(column):
    """Return the buffers of a cuDF column at every depth."""
    levels = [column.plc_column]
    for level in levels:
        levels += level.children()
    spans = [span for level in levels for span in (level.data(), level.null_mask())]
    return [span for span in spans if span is not None]


@pytest.mark.parametrize("name", CASES)
def test_round_trip_of_a_frame_shares_its_memory(name):
    array, dtype = CASES[name]
    for begin, end in SLICES:
        source = frame({name: column(array[begin:end], dtype)})
        found = round_trip(source)
        assert_same_object(found, source)
        if name != "arrow null":
            (one,), (other,) = found._columns, source._columns
            assert one.offset == other.offset
            assert addresses(one.plc_column) == addresses(other.plc_column)


@pytest.mark.parametrize("name", CASES)
def test_round_trip_of_a_series_keeps_values_dtype_and_index(name):
    labels = cudf.Index._from_column(column(INTS, np.dtype("int64")), name="i")
    for index in (None, labels):
        source = series(column(*CASES[name]), name, index)
        assert_same_object(round_trip(source, index is not None), source)


@pytest.mark.parametrize("name", [n for n in CASES if not n.startswith("category")])
def test_exported_values_equal_the_source_values(name):
    array, dtype = CASES[name]
    for begin, end in SLICES:
        part = array[begin:end]
        (found,) = arrays_of(frame_to_columns(series(column(part, dtype))))
        if isinstance(found, pa.ExtensionArray):
            found = found.storage
        # The time zone does not change the stored values, which are in UTC.
        expected = part.cast(found.type) if pa.types.is_timestamp(found.type) else part
        assert found.to_pylist() == expected.to_pylist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("decimal128", pa.decimal128(20, 2)),
        ("list", pa.list_(pa.field("item", pa.int64()))),
        ("arrow list", pa.list_(pa.field("each", pa.int64()))),
        ("arrow null", pa.null()),
        ("category", pa.dictionary(pa.int8(), pa.string())),
        ("category ordered", pa.dictionary(pa.int8(), pa.string(), ordered=True)),
        ("category 128", pa.dictionary(pa.int8(), pa.int64())),
        ("category 129", pa.dictionary(pa.uint8(), pa.int64())),
        ("category 256", pa.dictionary(pa.int16(), pa.int64())),
        ("category 40000", pa.dictionary(pa.uint16(), pa.int64())),
    ],
)
def test_export_of_a_dtype_has_the_expected_arrow_type(name, expected):
    array, dtype = CASES[name]
    assert schema_of(frame_to_columns(series(column(array, dtype)))).field(0).type == expected


@pytest.mark.parametrize(("begin", "end"), SLICES)
def test_exported_codes_of_a_slice_begin_at_the_start_of_the_buffer(begin, end):
    array, dtype = CASES["category"]
    (made,) = frame_to_columns(series(column(array.slice(begin, end - begin), dtype))).columns
    codes, _ = made.children()
    assert (made.offset(), made.size()) == (begin, end - begin)
    assert (codes.offset(), codes.size(), codes.null_mask()) == (0, end, None)


def test_interval_is_exported_with_the_extension_type_of_pandas():
    source = frame({"i": column(*CASES["interval"])})
    pandas = pd.DataFrame({"i": pd.arrays.IntervalArray.from_tuples([(1, 5)], closed="left")})
    expected = pa.Schema.from_pandas(pandas).field("i").type
    assert schema_of(frame_to_columns(source)).field("i").type == expected.__class__(
        pa.int64(), "left"
    )


def test_round_trip_of_a_list_of_intervals():
    intervals = pa.array(pd.arrays.IntervalArray.from_tuples([(0, 1), (2, 3)]))
    table = pa.table({"i": pa.ListArray.from_arrays([0, 1, 2], intervals)})
    source = cab.from_arrow_device(table)
    assert source["i"].dtype == cudf.ListDtype(cudf.IntervalDtype("int64", "right"))
    assert pa.table(cab.to_arrow_device(source)).equals(table)


PANDAS = {
    "zoned": BERLIN,
    "str": DEFAULT,
    "large str": DEFAULT,
    # pandas 3 reads strings that were stored as objects as this dtype.
    "object": DEFAULT,
    # pandas has one name for both dtypes.
    "arrow string": pd.StringDtype("pyarrow"),
    "list": np.dtype(object),
    "struct": np.dtype(object),
    "decimal64": np.dtype(object),
    "interval": pd.IntervalDtype("int64", "left"),
    "interval unclosed": pd.IntervalDtype("int64", "right"),
    "interval of times": pd.IntervalDtype("datetime64[ns]", "both"),
    "category": pd.CategoricalDtype(["x", "y"]),
    "category ordered": pd.CategoricalDtype(["x", "y"], ordered=True),
    "category 129": pd.CategoricalDtype(range(129)),
    "category 40000": pd.CategoricalDtype(range(40_000)),
    "string[python]": CASES["string[python]"][1],
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_reads_the_dtype_of_the_exported_table(name):
    array, dtype = CASES[name]
    # Rows without nulls: pandas' intervals and NumPy ints cannot store nulls.
    source = frame({"x": column(array.slice(2, 2), dtype)})
    found = table_of(frame_to_columns(source)).to_pandas()
    assert found["x"].dtype == PANDAS[name]
    assert found.columns.tolist() == ["x"]


@pytest.mark.parametrize("name", ["category", "struct", "list of struct of list", "str", "int64"])
def test_write_to_the_frame_does_not_change_the_export(name, monkeypatch):
    """cuDF's copy-on-write gives the writer new memory. Only the copy to a GPU is replaced."""
    monkeypatch.setattr(rmm, "DeviceBuffer", HostBuffer)
    source = frame({"x": column(*CASES[name])})
    (written,) = source._columns
    before = addresses(written.plc_column)
    export_input = frame_to_columns(source)
    exported = addresses(export_input.columns[0])
    with written.access(mode="write", scope="internal"):
        after = addresses(written.plc_column)
    assert all(new != old for new, old in zip(after, before, strict=True) if old)
    assert addresses(export_input.columns[0]) == exported
    assert {address for address in before if address} <= set(exported)


def test_cudf_writes_in_place_after_the_export_is_deleted():
    (written,) = frame({"x": column(INTS, np.dtype("int64"))})._columns
    owner = written.plc_column.data().owner
    export_input = frame_to_columns(series(written))
    assert len(owner._slices) > 1
    del export_input
    assert len(owner._slices) == 1
