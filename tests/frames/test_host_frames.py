# SPDX-License-Identifier: Apache-2.0
"""Printing, converting and slicing of frames without a GPU.

The expected results are those of pandas and pyarrow for the same data.
"""

import decimal
import re
import textwrap
from itertools import chain

import numpy as np
import pandas as pd
import pyarrow as pa
import pylibcudf as plc
import pytest
from cudf.core.column import ColumnBase

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.frames import host_frames
from testing import samples
from testing.host import addresses

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

ZONE = "Europe/Berlin"
#: A column of each type that pandas and cuDF store alike.
COLUMNS = {
    "int": pa.array(range(70), pa.int64()),
    "small": pa.array([i % 7 for i in range(70)], pa.uint8()),
    "float": pa.array([i / 4 for i in range(70)], pa.float32()),
    "bool": pa.array([i % 3 == 0 for i in range(70)]),
    "text": pa.array([f"<t{i}>" for i in range(70)]),
    "category": pa.array([f"c{i % 5}" for i in range(70)]).dictionary_encode(),
    "time": pa.array([i * 10**9 for i in range(70)], pa.timestamp("us")),
    "zone": pa.array([i * 10**12 for i in range(70)], pa.timestamp("us", ZONE)),
    "duration": pa.array(range(70), pa.duration("ms")),
    "decimal": pa.array([decimal.Decimal(i) / 100 for i in range(70)], pa.decimal128(9, 2)),
    "list": pa.array([list(range(i % 4)) for i in range(70)]),
    "struct": pa.array([{"x": i, "y": str(i)} for i in range(70)]),
}


@pytest.fixture(autouse=True)
def _as_after_an_import():
    """Enable host frames before each test."""
    host_frames.enable_host_frames()


def with_nulls(array):
    """Return the column with nulls at positions that are not aligned with bytes."""
    values = [None if i % 5 == 2 else value for i, value in enumerate(array.to_pylist())]
    return pa.array(values, array.type)


TABLES = {
    "no nulls": pa.table(COLUMNS),
    "nulls": pa.table({name: with_nulls(array) for name, array in COLUMNS.items()}),
}


def labelled(labels):
    """Return a frame of pandas with an index."""
    values = {"a": range(len(labels)), "b": [f"v{i}" for i in range(len(labels))]}
    return pd.DataFrame(values, index=labels)


INDEXES = {
    "range": pd.RangeIndex(10, 80, name="rows"),
    "text": pd.Index([f"r{i}" for i in range(70)], name="rows"),
    "time": pd.DatetimeIndex([f"2026-01-{1 + i % 31}" for i in range(70)], name="when"),
    "category": pd.CategoricalIndex([f"c{i % 3}" for i in range(70)], name="kind"),
    "interval": pd.interval_range(0, 70, name="bins"),
    "float": pd.Index(np.arange(70) / 2),
    "multi": pd.MultiIndex.from_product([list("abcdefg"), range(10)], names=["x", "y"]),
}


def imported(data):
    """Import a table or a frame of pandas as a frame of cuDF."""
    return cab.from_arrow_device(
        pa.Table.from_pandas(data) if isinstance(data, pd.DataFrame) else data
    )


OPTIONS = [
    {"display.max_rows": 60},
    {"display.max_rows": 8, "display.min_rows": None},
    {"display.max_rows": None},
    {"display.max_columns": 4},
]


@pytest.fixture(params=OPTIONS, ids=str)
def options(request):
    with pd.option_context(*chain(*request.param.items())):
        yield


@pytest.mark.parametrize("rows", [0, 60, 61])
def test_frames_are_printed_as_by_pandas(rows, options):
    table = TABLES["no nulls"].slice(0, rows)
    expected = table.to_pandas()
    frame = imported(table)
    assert repr(frame) == str(frame) == repr(expected)
    assert frame._repr_html_() == expected._repr_html_()


@pytest.mark.parametrize("name", COLUMNS)
def test_series_are_printed_as_by_pandas(name, options):
    source = pa.table(COLUMNS).select([name])
    series, expected = imported(source)[name], source.to_pandas()[name]
    # The dtype is that of cuDF.
    found, _, dtype = repr(series).rpartition("dtype: ")
    assert found == repr(expected).rpartition("dtype: ")[0]
    assert dtype.partition("\n")[0] == str(series.dtype)


@pytest.mark.parametrize("kind", INDEXES)
def test_indexes_are_printed_as_by_pandas(kind, options):
    expected = labelled(INDEXES[kind])
    frame = imported(expected)
    assert repr(frame) == repr(expected)
    assert repr(frame["a"]) == repr(expected["a"])
    assert repr(frame.index) == repr(expected.index)


@pytest.mark.parametrize("count", [100, 101, 1000])
@pytest.mark.parametrize("limit", [100, 7, None])
def test_long_indexes_are_printed_as_by_pandas(count, limit):
    expected = pd.Index([i * i for i in range(count)], name="squares")
    with pd.option_context("display.max_seq_items", limit):
        assert repr(imported(labelled(expected)).index) == repr(expected)
        pairs = pd.MultiIndex.from_arrays([expected, expected.astype("str").rename("words")])
        assert repr(imported(labelled(pairs)).index) == repr(pairs)


@pytest.mark.parametrize(
    "columns",
    [
        pd.MultiIndex.from_tuples([("x", "y"), ("x", "z")], names=["up", "down"]),
        pd.Index(["Length: 62, ", "dtype: str, Length: 62, "]),
    ],
)
def test_column_labels_are_printed_as_by_pandas(columns):
    expected = labelled(INDEXES["text"]).set_axis(columns, axis=1)
    frame = imported(expected)
    assert repr(frame) == repr(expected)
    for position in range(2):
        assert repr(frame[columns[position]]) == repr(expected.iloc[:, position])


@pytest.mark.parametrize("most", [0, 5, 20])
@pytest.mark.parametrize("depth", [1, 2])
def test_wide_frames_are_printed_as_by_pandas(most, depth):
    expected = pd.DataFrame({i: range(i, i + 70) for i in range(200)})
    if depth == 2:
        expected.columns = pd.MultiIndex.from_product([range(8), range(25)])
    frame = imported(expected)
    with pd.option_context("display.max_columns", most):
        assert repr(frame) == repr(expected)
        assert frame._repr_html_() == expected._repr_html_()


def test_frames_without_columns_or_rows_are_printed_as_by_pandas():
    expected = pd.DataFrame(index=INDEXES["text"])
    assert repr(imported(expected)) == repr(expected)
    expected = pd.DataFrame({str(i): [0.5] for i in range(200)})[:0]
    assert repr(imported(expected)) == repr(expected)


def test_printed_nulls_differ_from_values():
    table = pa.table(
        {
            "i": [1, None, 3],
            "f": [0.5, None, float("nan")],
            "b": [True, None, False],
            "s": ["a", None, "c"],
            "t": pa.array([0, None, 1], pa.timestamp("s")),
            "c": pa.array(["x", None, "y"]).dictionary_encode(),
            "d": pa.array([decimal.Decimal("0.10"), None, decimal.Decimal("0.20")]),
            "l": [[1], None, []],
        }
    )
    assert repr(imported(table)) == textwrap.dedent(
        """\
              i     f      b    s                   t    c     d     l
        0     1   0.5   True    a 1970-01-01 00:00:00    x  0.10   [1]
        1  <NA>  <NA>   <NA>  NaN                 NaT  NaN  <NA>  <NA>
        2     3   NaN  False    c 1970-01-01 00:00:01    y  0.20    []"""
    )
    index = imported(table.select(["i", "f"])).set_index("i").index
    assert repr(index) == "Index([1, <NA>, 3], dtype='int64', name='i')"


def test_the_frequency_of_an_index_is_printed():
    dates = pd.date_range("2026-01-01", periods=3, freq="D", unit="ns")
    index = imported(labelled(dates)).index
    index._freq = dates.freq
    assert repr(index) == repr(dates)


def test_printing_converts_only_the_printed_rows_and_columns(monkeypatch):
    sizes = []
    to_arrow = vars(ColumnBase)["to_arrow"]

    def watch(self):
        sizes.append(len(self))
        return to_arrow(self)

    monkeypatch.setattr(ColumnBase, "to_arrow", watch)
    frame = imported(labelled(pd.Index([i * i for i in range(100_000)])))
    assert repr(frame)
    assert frame._repr_html_()
    assert repr(frame["a"])
    assert repr(frame.index)
    assert sum(sizes) >= 4 * 31
    assert max(sizes) <= 51
    sizes.clear()
    wide = imported(pa.table({str(i): [i] for i in range(1000)}))
    with pd.option_context("display.max_columns", 10):
        assert repr(wide)
    assert len(sizes) == 12


@pytest.mark.parametrize("nulls", TABLES)
@pytest.mark.parametrize("cut", [slice(0, 70), slice(3, 61), slice(5, 5)], ids=str)
def test_to_pandas_converts_frames_and_slices(nulls, cut):
    table = TABLES[nulls][cut]
    found, expected = imported(TABLES[nulls])[cut].to_pandas(), table.to_pandas()
    # In one frame the values are arrays of NumPy, in the other they are lists.
    for lists in (found, expected):
        lists["list"] = [None if value is None else list(value) for value in lists["list"]]
    found.index = pd.RangeIndex(len(found))
    pd.testing.assert_frame_equal(found, expected, check_column_type=True)


@pytest.mark.parametrize("kind", INDEXES)
def test_to_pandas_and_to_arrow_keep_the_index(kind):
    expected = labelled(INDEXES[kind])
    frame = imported(expected)
    pd.testing.assert_frame_equal(frame.to_pandas(), expected)
    pd.testing.assert_series_equal(frame["a"].to_pandas(), expected["a"])
    pd.testing.assert_index_equal(frame.index.to_pandas(), expected.index, exact="equiv")
    part = expected.iloc[9:20]
    pd.testing.assert_frame_equal(frame.iloc[9:20].to_pandas(), part)
    pd.testing.assert_frame_equal(frame.to_arrow().to_pandas(), expected)
    with_range = frame.to_arrow(preserve_index=True)
    assert with_range.num_columns == 2 + expected.index.nlevels


def test_to_pandas_keeps_attrs_and_supports_nullable_and_arrow_dtypes():
    frame = imported(pa.table({"a": [1, None]}))
    frame.attrs["unit"] = "m"
    assert frame.to_pandas().attrs == {"unit": "m"}
    assert frame.to_pandas(nullable=True)["a"].dtype == pd.Int64Dtype()
    assert frame.to_pandas(arrow_type=True)["a"].dtype == pd.ArrowDtype(pa.int64())


@pytest.mark.parametrize("nulls", TABLES)
@pytest.mark.parametrize("cut", [slice(0, 70), slice(3, 61), slice(64, 70)], ids=str)
def test_to_arrow_of_a_frame_does_not_copy(nulls, cut):
    source = TABLES[nulls].combine_chunks()
    found = imported(source)[cut].to_arrow(preserve_index=False)
    assert found.to_pydict() == source[cut].to_pydict()
    assert [column.null_count for column in found] == [column.null_count for column in source[cut]]
    for name in ("int", "small", "float", "time", "zone", "duration", "decimal"):
        assert found.schema.field(name).type == source.schema.field(name).type
        (column,), (original,) = (table[name].chunks for table in (found, source))
        width = original.type.bit_width // 8
        address = original.buffers()[1].address + cut.start * width
        assert column.buffers()[1].address + column.offset * width == address


@pytest.mark.parametrize(
    ("type_", "nesting"),
    # cuDF does not support dictionaries of decimals.
    [case for case in samples.NESTED_TYPES if not re.match("decimal.*-dictionary", case.id)],
)
def test_slices_of_every_type_are_converted_and_exported(type_, nesting):
    source = samples.nest(type_, nesting, samples.MANY, "some")
    # Each part is a slice of a slice.
    series, source = cab.from_arrow_device(source).iloc[1:], source[1:]
    # A type that cuDF does not have is imported as another one.
    wanted = type_in_frames(source.type)
    expected = source if wanted == source.type else source.cast(wanted)
    for begin, end in ((0, samples.MANY - 1), (1, 130), (9, 9), (31, 63)):
        part = series.iloc[begin:end]
        assert part.to_arrow().to_pylist() == expected[begin:end].to_pylist()
        assert len(part.to_pandas()) == end - begin
        assert part.null_count == expected[begin:end].null_count
        assert pa.array(cab.to_arrow_device(part)).to_pylist() == source[begin:end].to_pylist()
    assert repr(series)


def type_in_frames(type_):
    """Return the type in a frame: days become seconds, nulls strings, also in dictionaries."""
    if pa.types.is_date32(type_):
        return pa.timestamp("s")
    if pa.types.is_null(type_):
        return pa.string()
    if pa.types.is_dictionary(type_):
        return pa.dictionary(type_.index_type, type_in_frames(type_.value_type))
    return type_


@pytest.mark.parametrize("dtype", [f"datetime64[us, {ZONE}]", "Int64", "string", "str"])
@pytest.mark.parametrize("values", [[], [1, 2]], ids=["empty", "two"])
def test_categories_keep_their_dtype_in_pandas(dtype, values):
    values = pd.Index([str(value) for value in values] if "str" in dtype else values, dtype=dtype)
    source = pd.Series(pd.Categorical(values[::-1], categories=values))
    pd.testing.assert_series_equal(cab.from_arrow_device(source).to_pandas(), source)


def test_categories_are_converted_to_pandas_and_pyarrow():
    many = pd.Categorical([f"c{i}" for i in range(200)] + [None], ordered=True)
    series = imported(pd.DataFrame({"a": many}))["a"]
    assert series.to_arrow().type.index_type == pa.int16()
    assert series.to_arrow().type.ordered
    pd.testing.assert_series_equal(series.to_pandas(), pd.Series(many, name="a"))
    numbers = pa.DictionaryArray.from_arrays([2, 1, None, 0], [0.5, float("nan"), 1.5])
    expected = pd.Categorical([1.5, None, None, 0.5], categories=[0.5, 1.5])
    assert (cab.from_arrow_device(numbers).to_pandas().array == expected).sum() == 2
    assert list(cab.from_arrow_device(numbers).to_pandas().cat.codes) == [1, -1, -1, 0]
    with pytest.raises(NotImplementedError, match="nullable=True"):
        series.to_pandas(nullable=True)


def test_to_numpy_returns_the_values_of_numeric_columns():
    frame = imported(TABLES["no nulls"])
    for name in ("int", "float", "bool", "time"):
        expected = TABLES["no nulls"][name].to_numpy()
        assert np.array_equal(frame[name].to_numpy(), expected)
        assert frame[name].to_numpy().dtype == expected.dtype


def test_slice_out_of_bounds_raises_an_index_error():
    column = imported(TABLES["nulls"])["int"]._column.plc_column
    for indices in ([0, 71], [-1, 3], [4, 3]):
        with pytest.raises(
            IndexError, match=f"expected rows in 0 to 70, got {indices[0]} to {indices[1]}$"
        ):
            plc.copying.slice(column, indices)


@pytest.mark.parametrize("nulls", TABLES)
def test_deep_copies_are_equal_and_share_no_memory(nulls):
    frame = imported(TABLES[nulls]).iloc[3:60]
    copied = frame.copy()
    assert copied.to_arrow().equals(frame.to_arrow())
    for name in COLUMNS:
        before, after = (obj[name]._column.plc_column for obj in (frame, copied))
        assert not set(addresses(before)) & (set(addresses(after)) - {None, 0})
    shallow = frame.copy(deep=False)
    assert addresses(shallow["int"]._column.plc_column) == addresses(
        frame["int"]._column.plc_column
    )
