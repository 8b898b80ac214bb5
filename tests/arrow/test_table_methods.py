# SPDX-License-Identifier: Apache-2.0
"""Test the table methods of `DeviceArray`: columns, and conversion to pyarrow and pandas."""

from __future__ import annotations

import collections.abc
import gc
import io

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.host import to_plc
from testing.host_frames import numbers, series

BATCH = pa.record_batch(
    {
        "n": pa.array([1, None, 3]),
        "text": pa.array(["a", "b", None]),
        "where": pa.array([{"x": 1.5, "y": "up"}, None, {"x": None, "y": "down"}]),
        "list": pa.array([[1], None, []]),
    }
)


@pytest.fixture
def table():
    return cab.to_arrow_device(BATCH)


def addresses(array):
    return [buffer.address if buffer else 0 for buffer in array.buffers()]


def test_shape_and_column_names_match_the_batch(table):
    assert (table.num_rows, table.num_columns) == (3, 4)
    assert table.column_names == ["n", "text", "where", "list"]
    assert table["n"].num_rows == 3
    for name in ("num_columns", "column_names"):
        with pytest.raises(AttributeError, match=f"{name}: only tables have this attribute"):
            getattr(table["n"], name)


@pytest.mark.parametrize("key", BATCH.schema.names)
def test_column_by_name_or_position_is_an_array(table, key):
    column = table[key]
    assert isinstance(column, cab.DeviceArray)
    assert column.schema == BATCH.schema.field(key)
    assert pa.array(column).equals(BATCH[key])
    position = BATCH.schema.names.index(key)
    for same in (position, position - 4, np.int64(position)):
        assert table[same].schema.name == key


def test_fields_of_a_struct_are_selected_by_name_and_position(table):
    where = table["where"]
    assert pa.array(where["x"]).equals(BATCH["where"].field("x"))
    assert where[-1].schema.name == "y"
    with pytest.raises(KeyError, match=r"'z'.*\['x', 'y'\]"):
        where["z"]
    assert "x" in where
    assert "x" not in table
    assert "\ud800" not in table


@pytest.mark.parametrize("rows", [slice(0, 20), slice(3, 23), slice(512, 532), slice(9, 9)])
def test_fields_of_a_sliced_struct_have_its_rows(rows):
    inner = pa.array([None if i % 7 == 0 else {"0": i} for i in range(540)])
    base = pa.StructArray.from_arrays([inner, inner.field("0")], ["0", "1"])
    sliced = samples.column_of(base, [(rows.start, rows.stop - rows.start)])
    type_ = pa.opaque(base.type, "word", "us")
    extension = cab.to_arrow_device(pa.ExtensionArray.from_storage(type_, base))
    for array in (cab.to_arrow_device(sliced), cab.to_arrow_device(base)[rows], extension[rows]):
        for name, child in zip("01", array.children, strict=True):
            expected = base[rows].field(name)
            for found in (child, array[name], array[int(name)]):
                assert pa.array(found).equals(expected)
                assert pa.array(cab.to_arrow_device(found, compact=True)).equals(expected)
            shared = {buffer.address for buffer in array.buffers()} - {0}
            assert {buffer.address for buffer in child.buffers()} - {0} <= shared
        assert pa.array(array["0"]["0"]).equals(base[rows].field("0").field("0"))


def test_unknown_columns_and_invalid_keys_raise(table):
    with pytest.raises(KeyError, match=r"\['n', 'text', 'where', 'list'\]"):
        table["m"]
    with pytest.raises(KeyError, match="no columns are named"):
        table["\ud800"]
    for position in (4, -5):
        with pytest.raises(IndexError, match=f"one of 4 columns, got {position}"):
            table[position]
    with pytest.raises(TypeError, match=r"1\.5"):
        table[1.5]
    match = "a column of type list<item.* has no fields"
    with pytest.raises(TypeError, match=match):
        table["list"]["item"]
    with pytest.raises(TypeError, match=r"column.*int64"):
        assert 2 in table["n"]
    twice = cab.to_arrow_device(pa.RecordBatch.from_arrays([[1], ["a"]], names=["a", "a"]))
    with pytest.raises(KeyError, match=r"'a'.*\['a', 'a'\]"):
        twice["a"]
    assert pa.array(twice[1]).to_pylist() == ["a"]


def test_errors_of_lookups_in_wide_tables_are_short_and_name_the_nearest():
    names = [f"column {i}" for i in range(5000)]
    names[4321], names[0] = "temperature", "x" * 10_000
    wide = cab.to_arrow_device(pa.record_batch([[1]] * 5000, names=names))
    with pytest.raises(KeyError, match=r"'temperatures'.*\['temperature'\]"):
        wide["temperatures"]
    for look_up in (
        lambda: wide["n" * 10_000],
        lambda: wide[["n" * 10_000]],
        lambda: wide.buffer("nope"),
        lambda: cab.from_arrow_device(wide, columns=names * 2),
    ):
        with pytest.raises((LookupError, ValueError)) as error:
            look_up()
        assert len(str(error.value)) < 2000


def test_array_is_not_iterable(table):
    """By default, Python iterates over an object that has `__getitem__` by position."""
    assert not isinstance(table, collections.abc.Iterable)
    for use in (iter, list):
        with pytest.raises(TypeError, match=r"not iterable|not a container"):
            use(table)


def test_to_arrow_shares_memory(table):
    batch = table.to_arrow()
    assert isinstance(batch, pa.RecordBatch)
    assert batch.equals(BATCH)
    for name in BATCH.schema.names:
        column = table[name].to_arrow()
        assert isinstance(column, pa.Array)
        assert column.equals(BATCH[name])
        assert addresses(column) == addresses(BATCH[name])
        assert addresses(batch[name]) == addresses(BATCH[name])
    table.release()
    gc.collect()
    assert batch.equals(BATCH)


FRAMES = {
    "range": pd.DataFrame({"a": [1, 2], "b": ["x", None]}, index=pd.RangeIndex(5, 9, 2, name="r")),
    "index": pd.DataFrame({"a": [1.5, 2.5]}, index=pd.Index(["p", "q"], name="key")),
    "levels": pd.DataFrame(
        {"a": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, "x"), (2, "y")], names=["i", None])
    ),
    "labels": pd.DataFrame({0: [1], 1: [2]}),
    "zone": pd.DataFrame({"t": pd.to_datetime(["2026-01-01"]).tz_localize("Europe/Berlin")}),
    "category": pd.DataFrame({"c": pd.Categorical(["b", "a", "b"], ["b", "a"], ordered=True)}),
    "time": pd.DataFrame({"d": pd.to_timedelta([1, None], "s")}),
}


@pytest.mark.parametrize("expected", FRAMES.values(), ids=FRAMES)
def test_to_pandas_follows_the_pandas_metadata(expected):
    whole = cab.from_arrow_device(pa.Table.from_pandas(expected))
    assert isinstance(whole, cudf.DataFrame)
    pd.testing.assert_frame_equal(cab.to_arrow_device(whole).to_pandas(), expected)


def test_to_pandas_of_a_column_returns_a_series(table):
    pd.testing.assert_frame_equal(table.to_pandas(), BATCH.to_pandas())
    found = cab.to_arrow_device(series(numbers(), "price")).to_pandas()
    pd.testing.assert_series_equal(found, pd.Series([0, 1, 2], name="price"))
    assert cab.to_arrow_device(to_plc(pa.array([1, 2]))).to_pandas().name is None


def test_context_manager_releases_the_array_at_exit(table):
    with table as exported:
        taken = pa.record_batch(exported)
        assert not exported.is_released
    assert exported.is_released
    assert taken.equals(BATCH)
    with pytest.raises(KeyError), cab.to_arrow_device(BATCH) as failed:
        failed["no such column"]
    assert failed.is_released


def test_close_releases_arrays_streams_and_files(table):
    stream = cab.to_arrow_device_stream(BATCH)
    file = io.BytesIO()
    cab.ipc.write_file(BATCH, file)
    for one in (table, stream, cab.ipc.open_file(file.getvalue())):
        one.close()
        assert one.is_released
        one.close()


def test_to_pylist_matches_pyarrow(table):
    assert table.to_pylist() == BATCH.to_pylist()
    assert table["where"].to_pylist() == BATCH["where"].to_pylist()


def test_to_numpy_converts_columns_and_tables():
    numbers = pa.array([1.5, 2.5])
    column = cab.to_arrow_device(numbers)
    found = column.to_numpy()
    assert found.tolist() == [1.5, 2.5]
    assert found.ctypes.data == numbers.buffers()[1].address
    assert cab.to_arrow_device(pa.array(["x", None])).to_numpy().tolist() == ["x", None]
    assert cab.to_arrow_device(pa.array([1, None])).to_numpy().tolist() == pytest.approx(
        [1, float("nan")], nan_ok=True
    )
    table = cab.to_arrow_device(pa.record_batch({"a": [1, 2], "b": [3, 4]}))
    assert table.to_numpy().tolist() == [[1, 3], [2, 4]]


EQUALS = {
    "array": cab.to_arrow_device,
    "batch": lambda batch: batch,
    "table": lambda batch: pa.Table.from_batches([batch[:1], batch[1:]]),
    "pandas": lambda batch: batch.to_pandas(types_mapper=pd.ArrowDtype),
    "cudf": cab.from_arrow_device,
    "stream": cab.to_arrow_device_stream,
    "dict": pa.RecordBatch.to_pydict,
}


@pytest.mark.parametrize("convert", EQUALS.values(), ids=EQUALS)
def test_equals_compares_with_tables_of_each_library(convert):
    batch = pa.record_batch({"a": [1, 2], "b": [3, 4]})
    array = cab.to_arrow_device(batch)
    assert array.equals(convert(batch)) is True
    others = [pa.record_batch({"a": [1, 2], "b": [3, 5]}), batch.rename_columns(["a", "c"])]
    for other in (*others, batch[:1], batch.select(["a"])):
        assert array.equals(convert(other)) is False
    assert array["b"].equals(convert(batch)) is False


def test_equals_compares_columns():
    table = pa.table({"a": pa.chunked_array([[1], [None]]), "b": [1, 3]})
    column = cab.to_arrow_device(table)["a"]
    frame = cab.from_arrow_device(table)
    for other in (table["a"], pa.array([1, None]), frame["a"], [1, None]):
        assert column.equals(other)
    for other in (table["b"], pa.array([1, None], pa.int8()), frame["b"], frame["b"].to_pandas()):
        assert not column.equals(other)


@pytest.mark.parametrize("other", [None, 5, "a", b"a", [object()], object(), 1.5, {"a": 1}, int])
def test_equals_is_false_for_other_objects(table, other):
    assert table.equals(other) is False
    assert table["n"].equals(other) is False
