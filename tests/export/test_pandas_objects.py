# SPDX-License-Identifier: Apache-2.0
"""pandas objects as Arrow data; `test_cudf_pandas` tests proxies of pandas objects."""

import datetime
import runpy
from decimal import Decimal
from pathlib import Path

import cudf
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._load import build_info
from cudf_arrow_bridge.export import pandas_objects
from cudf_arrow_bridge.export.pandas_objects import arrow_of_pandas
from testing.exchange import pandas_frames
from testing.labels import INDEXES, are_same_labels


def taken(frame):
    """Return the frame of each import of a pandas frame."""
    yield cab.from_arrow_device(frame)
    yield cab.from_arrow_device(frame, kind="table")
    yield cab.from_arrow_device_stream(frame)
    yield cab.from_arrow_device_stream([frame])
    yield from cab.iter_arrow_device_stream(frame)


@pytest.mark.parametrize("labels", INDEXES.values(), ids=INDEXES)
def test_names_of_index_and_series_of_any_type_are_restored(labels):
    for label in labels:
        index = pd.Index([1, 2], name=label)
        found = cab.from_arrow_device(arrow_of_pandas(pd.DataFrame({"a": [3, 4]}, index)))
        assert are_same_labels(found.index.name, label)
        series = cab.from_arrow_device(arrow_of_pandas(pd.Series([3, 4], name=label)))
        assert are_same_labels(series.name, label)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["a", "b\ud800"], r"UTF-8 cannot encode the text 'b\\ud800'"),
        (["a", ["b\ud800"]], "got a 'list' object"),
        ([["a"], ["b\ud800"]], r"UTF-8 cannot encode the text 'b\\ud800'"),
        ([Decimal("1" * 80)], "[Dd]ecimal"),
        ([1, "x"], "tried to convert to int64"),
    ],
    ids=["text", "mixed", "list", "decimal", "types"],
)
def test_error_of_values_without_an_arrow_type_names_the_column(values, reason):
    frame = pd.DataFrame({"good": [0] * len(values), "bad": pd.Series(values, dtype=object)})
    for obj in (frame, frame["bad"], pd.Index(frame["bad"]), frame.set_index("bad")):
        with pytest.raises((TypeError, ValueError), match=f"^column 'bad': .*(?:{reason})"):
            cab.to_arrow_device(obj)


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"], ids=ascii)
def test_names_that_arrow_cannot_represent_are_restored(name):
    labels = pd.Index([name, "a"], dtype=object)
    frame = pd.DataFrame([[1, 2]], columns=labels, index=pd.Index([3], name=name))
    found = cab.from_arrow_device(cab.to_arrow_device(frame))
    assert list(found.columns) == list(labels)
    assert found.index.name == name


def test_categories_of_a_frame_without_rows_are_kept():
    frame = pd.DataFrame({"a": pd.Categorical([], categories=["y", "x"])})
    found = cab.from_arrow_device(cab.to_arrow_device(frame)).to_pandas()
    assert found["a"].dtype == frame["a"].dtype


def test_column_without_chunks_is_exported():
    series = pd.Series(["x"], name="a", dtype=pd.ArrowDtype(pa.string()))
    frame = series[series == "y"].to_frame()
    assert pa.array(frame["a"]).num_chunks == 0
    assert arrow_of_pandas(frame, preserve_index=False).to_pydict() == {"a": []}


def test_error_of_sparse_values_names_the_column():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 1])})
    with pytest.raises(TypeError, match="column 'a': sparse data is not supported"):
        cab.to_arrow_device(frame)


def test_long_frames_of_numbers_are_converted_without_threads(monkeypatch):
    # Python starts no thread while it exits.
    monkeypatch.setattr(pandas_objects, "ThreadPoolExecutor", None)
    frame = pd.DataFrame({"a": range(1000), "b": range(1000)})
    assert pa.table(cab.to_arrow_device(frame)).to_pandas().equals(frame)


def test_chunked_strings_become_one_array():
    strings = pd.concat([pd.Series(["a", None]), pd.Series(["b"])])
    assert isinstance(pa.array(strings), pa.ChunkedArray)
    assert pa.array(arrow_of_pandas(strings)).to_pylist() == ["a", None, "b"]
    batch = arrow_of_pandas(strings.to_frame("s"), preserve_index=False)
    assert batch.to_pydict() == {"s": ["a", None, "b"]}


def test_more_text_than_one_array_holds_is_an_error():
    class Table:
        def combine_chunks(self):
            return pa.table({"s": pa.chunked_array([["a"], ["b"]])})

    with pytest.raises(OverflowError, match="2 GiB"):
        pandas_objects._one_batch(Table())


def test_range_level_of_a_multiindex_is_stored_as_a_column():
    index = pd.MultiIndex.from_product([range(2), ["a"]])
    assert isinstance(index.get_level_values(0), pd.RangeIndex)
    batch = arrow_of_pandas(pd.DataFrame({"x": [1, 2]}, index))
    assert batch.to_pydict() == {
        "x": [1, 2],
        "__index_level_0__": [0, 1],
        "__index_level_1__": ["a", "a"],
    }
    assert type(cab.from_arrow_device(batch).index) is cudf.MultiIndex


@pytest.mark.parametrize("preserve_index", [None, True, False])
def test_frame_without_columns_keeps_its_number_of_rows(preserve_index):
    frame = pd.DataFrame(index=["a", "b"])
    array = cab.to_arrow_device(frame, preserve_index=preserve_index)
    assert len(array) == len(cab.from_arrow_device(array)) == 2
    assert [len(found) for found in taken(frame)] == [2] * 5
    assert array.column_names == ([] if preserve_index is False else ["__index_level_0__"])


@pytest.mark.filterwarnings("ignore:The Dataframe Interchange Protocol")
@pytest.mark.parametrize(
    "function", [cab.to_arrow_device, cab.from_arrow_device, cab.to_arrow_device_stream]
)
def test_frame_of_the_interchange_protocol_is_rejected(function):
    interchange = pd.DataFrame({"a": [1]}).__dataframe__()
    with pytest.raises(TypeError, match="got an object of type PandasDataFrameXchg"):
        function(interchange)


@pytest.mark.parametrize("name", ["n", None, 3, ("a", 1)])
@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(3),
        pd.RangeIndex(5, 11, 2, name="r"),
        pd.Index(["x", "y", "z"], name="i"),
        pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")], names=["k", None]),
    ],
    ids=["default", "range", "strings", "levels"],
)
def test_a_series_is_imported_with_its_name_and_index(name, index):
    series = pd.Series([1.5, 2.5, None], index=index, name=name)
    for take in (cab.from_arrow_device, cab.from_arrow_device_stream):
        found = take(series)
        assert isinstance(found, cudf.Series)
        pd.testing.assert_series_equal(found.to_pandas(), series)
    column = cab.from_arrow_device(series, to="pylibcudf")
    assert column.size() == 3


@pytest.mark.parametrize("labels", INDEXES.values(), ids=INDEXES)
def test_a_frame_is_imported_with_labels_of_any_type(labels):
    frame = pd.DataFrame([list(range(len(labels)))], ["p"], labels)
    for found in taken(frame):
        pd.testing.assert_index_equal(found.columns, labels, exact=True)
        assert found.index.to_pandas().tolist() == ["p"]


def test_columns_whose_labels_are_written_as_one_name_are_exported():
    frame = pd.DataFrame([[1, 2, 3]], pd.Index([4], name=1), pd.Index([1, "1", 2.0], dtype=object))
    array = cab.to_arrow_device(frame)
    assert array.column_names == ["1", "1", "2.0", "__index_level_0__"]
    pd.testing.assert_frame_equal(cab.from_arrow_device(array).to_pandas(), frame)


def of_cudf(values):
    """Return an index as cuDF stores it: it has no dates, times of day and periods."""
    kind = pd.api.types.infer_dtype(values)
    if kind == "date":
        return values.astype("datetime64[s]")
    if kind == "time":
        day = datetime.date.min
        start = datetime.datetime.combine(day, datetime.time())
        durations = [datetime.datetime.combine(day, time) - start for time in values]
        return pd.Index(durations).astype("timedelta64[us]")
    if kind == "period":
        return pd.Index([period.ordinal for period in values])
    return values


def levels_of(index):
    """Return the levels. pandas takes names that are numbers for positions."""
    plain = index.set_names([None] * index.nlevels)
    return [plain.get_level_values(level) for level in range(index.nlevels)]


def assert_same_index(found, expected, of_levels=lambda level: level):
    """Compare the entries, dtypes and names of all levels, of those expected as `of_levels`."""
    assert list(map(are_same_labels, found.names, expected.names)) == [True] * expected.nlevels
    for one, other in zip(levels_of(found), map(of_levels, levels_of(expected)), strict=True):
        assert one.dtype == other.dtype
        assert one.equals(other), (one, other)


def test_random_frames_are_kept_in_every_exchange():
    for seed in range(80):
        assert_is_kept(pandas_frames.random_frame(seed))


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(80, 2_000, 80))
def test_more_random_frames_are_kept_in_every_exchange(first):
    for seed in range(first, first + 80):
        assert_is_kept(pandas_frames.random_frame(seed))


def assert_is_kept(frame):
    imported = cab.from_arrow_device(frame)
    found = imported.to_pandas()
    assert_same_index(found.index, frame.index, of_cudf)
    assert isinstance(found.index, pd.RangeIndex) == isinstance(frame.index, pd.RangeIndex)
    assert_same_index(found.columns, frame.columns)
    assert all(map(are_same_labels, found.columns, frame.columns))
    for position in range(frame.shape[1]):
        values, expected = (pd.Index(one.iloc[:, position]) for one in (found, frame))
        assert_same_index(values, expected, of_cudf)

    array = cab.to_arrow_device(imported)
    table = pa.table(array)
    for way, exchange in pandas_frames.WAYS.items():
        if way != "Parquet":
            again = pa.table(cab.to_arrow_device(exchange(array)))
            assert again.equals(table, check_metadata=True), way
        elif pandas_frames.is_kept_by_parquet(table.schema):
            # The type of the strings of categories can change.
            pd.testing.assert_frame_equal(exchange(array).to_pandas(), found)


@pytest.mark.skipif(
    not build_info.LIBCUDF_VERSION.startswith("26.10"), reason="pages describe RAPIDS 26.10"
)
def test_page_of_labels_and_indexes_is_up_to_date():
    script = runpy.run_path(str(Path(__file__).parents[2] / "dev" / "pandas_page.py"))
    assert script["PAGE"].read_text() == script["page"](), "run: python dev/pandas_page.py"
