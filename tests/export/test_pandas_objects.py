# SPDX-License-Identifier: Apache-2.0
"""pandas objects as Arrow data; `test_cudf_pandas` has more of them, as proxies."""

import cudf
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.export import pandas_objects
from cudf_arrow_bridge.export.pandas_objects import arrow_of_pandas
from testing.labels import INDEXES, same


# pyarrow says so of a MultiIndex with a level of tuples; here it is not so.
@pytest.mark.filterwarnings("ignore:The DataFrame has column names of mixed type")
@pytest.mark.parametrize("labels", INDEXES.values(), ids=INDEXES)
def test_labels_come_back_whatever_they_are(labels):
    frame = pd.DataFrame([list(range(len(labels)))], columns=labels)
    found = cab.from_arrow_device(arrow_of_pandas(frame)).columns
    pd.testing.assert_index_equal(found, labels, exact=True)
    assert all(same(*pair) for pair in zip(found, labels, strict=True))


@pytest.mark.parametrize("labels", INDEXES.values(), ids=INDEXES)
def test_a_name_of_the_index_comes_back_whatever_it_is(labels):
    for label in labels:
        index = pd.Index([1, 2], name=label)
        found = cab.from_arrow_device(arrow_of_pandas(pd.DataFrame({"a": [3, 4]}, index)))
        assert same(found.index.name, label)
        series = cab.from_arrow_device(arrow_of_pandas(pd.Series([3, 4], name=label)))
        assert same(series.name, label)


def test_strings_in_chunks_are_one_array():
    strings = pd.concat([pd.Series(["a", None]), pd.Series(["b"])])
    assert isinstance(pa.array(strings), pa.ChunkedArray)
    assert pa.array(arrow_of_pandas(strings)).to_pylist() == ["a", None, "b"]
    batch = arrow_of_pandas(strings.to_frame("s"), preserve_index=False)
    assert batch.to_pydict() == {"s": ["a", None, "b"]}


def test_more_text_than_one_array_holds():
    class Table:
        def combine_chunks(self):
            return pa.table({"s": pa.chunked_array([["a"], ["b"]])})

    with pytest.raises(OverflowError, match="more than 2 GiB of text"):
        pandas_objects._one_batch(Table())


def test_a_range_among_levels_is_a_level():
    index = pd.MultiIndex.from_product([range(2), ["a"]])
    assert isinstance(index.get_level_values(0), pd.RangeIndex)
    batch = arrow_of_pandas(pd.DataFrame({"x": [1, 2]}, index))
    assert batch.to_pydict() == {
        "x": [1, 2],
        "__index_level_0__": [0, 1],
        "__index_level_1__": ["a", "a"],
    }
    assert type(cab.from_arrow_device(batch).index) is cudf.MultiIndex


def test_levels_named_by_numbers_stay_in_order():
    index = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=[1, 0])
    batch = arrow_of_pandas(pd.DataFrame({"x": [1, 2]}, index))
    assert batch.to_pydict() == {"x": [1, 2], "1": [1, 2], "0": ["a", "b"]}
    assert list(cab.from_arrow_device(batch).index.names) == [1, 0]


@pytest.mark.parametrize("obj", [[1], None, pd.Timestamp("2020"), pd.array([1])])
def test_other_objects_are_refused(obj):
    name = type(obj).__name__
    with pytest.raises(TypeError, match=f"^an object of type {name} found, a DataFrame, Series"):
        arrow_of_pandas(obj)


def test_what_arrow_has_no_type_for():
    with pytest.raises(ValueError, match="column mixed"):
        arrow_of_pandas(pd.DataFrame({"mixed": [1, "x"]}))


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
