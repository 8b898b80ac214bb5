# SPDX-License-Identifier: Apache-2.0
"""Test the table methods of `DeviceArray`: columns, and conversion to pyarrow and pandas."""

from __future__ import annotations

import collections.abc
import gc

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import samples
from testing.host import to_plc
from testing.host_frames import frame, index, numbers, series

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
    return bridge.to_arrow_device(BATCH)


def addresses(array):
    return [buffer.address if buffer else 0 for buffer in array.buffers()]


def test_shape_and_column_names_match_the_batch(table):
    assert (table.num_rows, table.num_columns) == (3, 4)
    assert table.column_names == ["n", "text", "where", "list"]
    assert table["n"].num_rows == 3


@pytest.mark.parametrize("name", ["num_columns", "column_names"])
def test_column_has_no_column_attributes(table, name):
    with pytest.raises(AttributeError, match=f"{name}: expected a table, got a column"):
        getattr(table["n"], name)


@pytest.mark.parametrize("key", BATCH.schema.names)
def test_column_by_name_or_position_is_an_array(table, key):
    column = table[key]
    assert isinstance(column, bridge.DeviceArray)
    assert column.schema == BATCH.schema.field(key)
    assert pa.array(column).equals(BATCH[key])
    position = BATCH.schema.names.index(key)
    for same in (position, position - 4, np.int64(position)):
        assert table[same].schema.name == key


def test_column_is_exported_after_the_release_of_its_table(table):
    text = table["text"]
    table.release()
    assert bridge.from_arrow_device(text, to="pylibcudf").size() == 3
    again = bridge.to_arrow_device(text, requested_schema=pa.large_string())
    assert pa.array(again).equals(BATCH["text"].cast(pa.large_string()))


def test_fields_of_a_struct_are_selected_by_name_and_position(table):
    where = table["where"]
    assert pa.array(where["x"]).equals(BATCH["where"].field("x"))
    assert where[-1].schema.name == "y"
    with pytest.raises(
        KeyError, match="\"expected one column named 'z', got 0 among \\['x', 'y'\\]\""
    ):
        where["z"]
    storage = pa.array([{"a": 1}], pa.struct([("a", pa.int8())]))
    type_ = pa.opaque(storage.type, "word", "us")
    extension = bridge.to_arrow_device(pa.ExtensionArray.from_storage(type_, storage))
    assert pa.array(extension["a"]).to_pylist() == [1]


@pytest.mark.parametrize("rows", [slice(0, 20), slice(3, 23), slice(512, 532), slice(9, 9)])
def test_fields_of_a_sliced_struct_have_its_rows(rows):
    inner = pa.array([None if i % 7 == 0 else {"0": i} for i in range(540)])
    base = pa.StructArray.from_arrays([inner, inner.field("0")], ["0", "1"])
    sliced = samples.column_of(base, [(rows.start, rows.stop - rows.start)])
    for array in (bridge.to_arrow_device(sliced), bridge.to_arrow_device(base)[rows]):
        for name, child in zip("01", array.children, strict=True):
            expected = base[rows].field(name)
            for found in (child, array[name], array[int(name)]):
                assert pa.array(found).equals(expected)
                assert pa.array(bridge.to_arrow_device(found, compact=True)).equals(expected)
            shared = {buffer.address for buffer in array.buffers()} - {0}
            assert {buffer.address for buffer in child.buffers()} - {0} <= shared
        assert pa.array(array["0"]["0"]).equals(base[rows].field("0").field("0"))


def test_element_of_a_sliced_list_has_all_rows():
    lists = pa.array([[{"x": 1}, {"x": 2}], [{"x": 3}]])
    (element,) = bridge.to_arrow_device(lists)[1:].children
    assert pa.array(element).equals(lists.values)
    assert pa.array(element["x"]).to_pylist() == [1, 2, 3]


def test_unknown_columns_and_invalid_keys_raise(table):
    with pytest.raises(
        KeyError, match=r"expected one column named.* got 0 among \['n', 'text', 'where', 'list'\]"
    ):
        table["m"]
    assert "\ud800" not in table
    with pytest.raises(KeyError, match="got 0"):
        table["\ud800"]
    for position in (4, -5):
        with pytest.raises(IndexError, match=f"one of 4 columns, got {position}"):
            table[position]
    for key in (1.5, None, b"n"):
        with pytest.raises(
            TypeError, match=f"expected the name or the position of a column, got {key!r}"
        ):
            table[key]
    for key, found in (("list", "list<item"), ("n", "int64")):
        with pytest.raises(
            TypeError,
            match=f"expected a table or a column of structs, got a column of type {found}",
        ):
            table[key]["item"]


def test_duplicate_column_name_is_rejected():
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array(["a"])], names=["a", "a"])
    exported = bridge.to_arrow_device(twice)
    with pytest.raises(
        KeyError, match="\"expected one column named 'a', got 2 among \\['a', 'a'\\]\""
    ):
        exported["a"]
    assert pa.array(exported[1]).to_pylist() == ["a"]


def test_errors_of_lookups_in_wide_tables_are_short_and_name_the_nearest():
    names = [f"column {i}" for i in range(5000)]
    names[4321], names[0] = "temperature", "x" * 10_000
    wide = bridge.to_arrow_device(pa.record_batch([[1]] * 5000, names=names))
    with pytest.raises(KeyError, match="named 'temperatures', got 0 among \\['temperature'\\] and"):
        wide["temperatures"]
    with pytest.raises(KeyError, match="got \\['temperatures'\\]"):
        wide[["temperatures"]]
    for look_up in (
        lambda: wide["nope"],
        lambda: wide["n" * 10_000],
        lambda: wide[["nope"] * 5000],
        lambda: wide[["n" * 10_000]],
        lambda: wide[5000],
        lambda: wide.buffer("nope"),
        lambda: bridge.from_arrow_device(wide, columns=["nope"]),
        lambda: bridge.from_arrow_device(wide, columns=[f"n{i}" for i in range(5000)]),
        lambda: bridge.from_arrow_device(wide, columns=names * 2),
    ):
        with pytest.raises((LookupError, ValueError)) as error:
            look_up()
        assert len(str(error.value)) < 2000


def test_error_of_repeated_names_of_a_frame_is_short():
    names = [f"column {i // 2}" for i in range(5000)]
    twice = pa.RecordBatch.from_arrays([pa.array([1])] * 5000, names=names)
    with pytest.raises(TypeError, match="'column 0'") as error:
        bridge.from_arrow_device(twice)
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


def test_to_arrow_keeps_nullability_and_metadata():
    schema = pa.schema([pa.field("a", pa.int8(), nullable=False, metadata={"k": "v"})], {"m": "w"})
    batch = pa.record_batch([pa.array([1], pa.int8())], schema)
    assert bridge.to_arrow_device(batch).to_arrow().schema.equals(schema, check_metadata=True)


def test_to_pandas_without_pandas_metadata_matches_pyarrow(table):
    found = table.to_pandas()
    pd.testing.assert_frame_equal(found, BATCH.to_pandas())


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
    whole = bridge.from_arrow_device(pa.Table.from_pandas(expected))
    assert isinstance(whole, cudf.DataFrame)
    pd.testing.assert_frame_equal(bridge.to_arrow_device(whole).to_pandas(), expected)


def test_to_pandas_of_a_column_returns_a_series():
    found = bridge.to_arrow_device(series(numbers(), "price")).to_pandas()
    assert (type(found), found.name) == (pd.Series, "price")
    assert found.equals(pa.array(bridge.to_arrow_device(numbers().plc_column)).to_pandas())
    assert bridge.to_arrow_device(to_plc(pa.array([1, 2]))).to_pandas().name is None


def test_batches_keep_their_part_of_a_range_index():
    whole = pd.DataFrame({"a": range(7)}, index=pd.RangeIndex(10, 24, 2, name="r"))
    stream = bridge.to_arrow_device_stream(
        bridge.from_arrow_device(pa.Table.from_pandas(whole)), max_rows=3
    )
    parts = [batch.to_pandas() for batch in stream]
    assert all(isinstance(part.index, pd.RangeIndex) for part in parts)
    pd.testing.assert_frame_equal(pd.concat(parts), whole)
    for part, batch in zip(parts, stream, strict=True):
        expected = bridge.from_arrow_device(batch).index
        assert (part.index.start, part.index.stop) == (expected.start, expected.stop)


def test_context_manager_releases_the_array_at_exit():
    memory = to_plc(pa.array([1, 2, 3]))
    with bridge.to_arrow_device(plc.Table([memory])) as exported:
        taken = pa.record_batch(exported)
        assert not exported.is_released
    assert exported.is_released
    assert taken.column(0).to_pylist() == [1, 2, 3]
    exported.release()
    with pytest.raises(KeyError), bridge.to_arrow_device(BATCH) as failed:
        failed["no such column"]
    assert failed.is_released


USES = {
    "to_arrow": lambda array: array.to_arrow(),
    "to_pandas": lambda array: array.to_pandas(),
    "num_rows": lambda array: array.num_rows,
    "num_columns": lambda array: array.num_columns,
    "a column": lambda array: array["n"],
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_methods_of_a_released_array_raise(table, use):
    table.release()
    with pytest.raises(ValueError, match="released"):
        use(table)


def test_import_as_array_or_stream_keeps_labels_and_row_positions():
    """A table can be imported as an array or as a stream of one batch."""
    labels = pd.Index([("a", 1), 2], tupleize_cols=False)
    whole = bridge.from_arrow_device(pa.record_batch({"x": [1, 2, 3], "y": [4, 5, 6]}))
    named = frame(dict(zip(labels, [whole["x"]._column, whole["y"]._column], strict=True)))
    exported = bridge.to_arrow_device(named)
    for back in (
        bridge.from_arrow_device(exported),
        bridge.from_arrow_device_stream(exported),
        next(bridge.from_arrow_device_stream(exported, concat=False)),
        bridge.from_arrow_device_stream(bridge.to_arrow_device_stream(exported)),
        bridge.from_arrow_device_stream(bridge.to_arrow_device_stream([exported, exported])),
    ):
        assert isinstance(back, cudf.DataFrame)
        assert list(back.columns) == list(labels)
    parts = list(bridge.to_arrow_device_stream(whole, max_rows=2))
    assert bridge.from_arrow_device(parts[1]).index.start == 2
    (again,) = bridge.to_arrow_device_stream(parts[1])
    assert bridge.from_arrow_device(again).index.start == 2


def test_schema_of_an_accessor_exports_no_data(monkeypatch):
    whole = frame({"a": numbers()}, index=index(numbers()))
    objects = [whole, whole["a"], whole.index]
    expected = [bridge.to_arrow_device(obj).schema for obj in objects]

    def refuse(*args, **kwargs):
        raise AssertionError("exported")

    monkeypatch.setattr("cudf_arrow_bridge.integrations.accessors.to_arrow_device", refuse)
    for obj, schema in zip(objects, expected, strict=True):
        assert obj.arrow_device.schema.equals(schema, check_metadata=True)
        capsule = pa.schema if isinstance(schema, pa.Schema) else pa.field
        assert capsule(obj.arrow_device).equals(schema, check_metadata=True)


def test_schema_of_a_range_index_matches_its_export():
    labels = cudf.RangeIndex(3, name="r")
    assert labels.arrow_device.schema == bridge.to_arrow_device(labels).schema


@pytest.mark.parametrize("type_", samples.TYPES, ids=str)
def test_to_pylist_matches_pyarrow(type_):
    values = samples.values(type_, 40, "some")
    table = bridge.to_arrow_device(pa.record_batch([values], ["x"]))
    assert table["x"].to_pylist() == pa.array(table["x"]).to_pylist()
    assert table.to_pylist() == [{"x": value} for value in table["x"].to_pylist()]


def test_to_numpy_converts_columns_and_tables():
    numbers = pa.array([1.5, 2.5])
    column = bridge.to_arrow_device(numbers)
    found = column.to_numpy()
    assert found.tolist() == [1.5, 2.5]
    assert found.ctypes.data == numbers.buffers()[1].address
    assert bridge.to_arrow_device(pa.array(["x", None])).to_numpy().tolist() == ["x", None]
    assert bridge.to_arrow_device(pa.array([1, None])).to_numpy().tolist() == pytest.approx(
        [1, float("nan")], nan_ok=True
    )
    table = bridge.to_arrow_device(pa.record_batch({"a": [1, 2], "b": [3, 4]}))
    assert table.to_numpy().tolist() == [[1, 3], [2, 4]]


def test_equals_compares_schema_and_values():
    batch = pa.record_batch({"a": [1, None], "b": ["x", "y"]})
    table = bridge.to_arrow_device(batch)
    assert table.equals(batch)
    assert table.equals(bridge.to_arrow_device(bridge.from_arrow_device(batch)))
    for other in (batch[:1], batch.rename_columns(["a", "c"]), batch.select(["a"])):
        assert not table.equals(other)
        assert not table.equals(bridge.to_arrow_device(other))
    column = table["a"]
    assert column.equals(pa.array([1, None]))
    assert not column.equals(pa.array([1, 2]))
    assert not column.equals(pa.array([1, None], pa.int8()))
    assert not column.equals(table)
    assert not table.equals(column)


@pytest.mark.parametrize(
    "convert",
    [
        pa.Table.from_batches,
        lambda batches: batches[0].to_pandas(types_mapper=pd.ArrowDtype),
        lambda batches: bridge.from_arrow_device(batches[0]),
        lambda batches: bridge.to_arrow_device_stream(batches[0]),
        lambda batches: batches[0].to_pydict(),
    ],
    ids=["table", "pandas", "cudf", "stream", "dict"],
)
def test_equals_compares_with_tables_of_other_libraries(convert):
    first, second = (pa.record_batch({"a": [1, 2], "b": [3, n]}) for n in (4, 5))
    array = bridge.to_arrow_device(first)
    assert array.equals(convert([first])) is True
    assert array.equals(convert([second])) is False
    assert array["b"].equals(convert([first])) is False


def test_equals_compares_with_several_chunks():
    array = bridge.to_arrow_device(pa.record_batch({"a": [1, 2]}))
    first, second = pa.record_batch({"a": [1]}), pa.record_batch({"a": [2]})
    table = pa.Table.from_batches([first, second])
    assert array.equals(table)
    assert array["a"].equals(table["a"])
    assert not array["a"].equals(table["a"].take([1, 0]))


def test_equals_compares_columns_with_series():
    column = bridge.to_arrow_device(pa.record_batch({"a": [1, 2]}))["a"]
    frame = bridge.from_arrow_device(pa.record_batch({"a": [1, 2], "b": [1, 3]}))
    for columns in (frame, frame.to_pandas()):
        assert column.equals(columns["a"])
        assert not column.equals(columns["b"])
    assert column.equals([1, 2])


@pytest.mark.parametrize("other", [None, 5, "a", b"a", [object()], object(), 1.5, {"a": 1}, int])
def test_equals_is_false_for_other_objects(other):
    array = bridge.to_arrow_device(pa.record_batch({"a": [1, 2]}))
    assert array.equals(other) is False
    assert array["a"].equals(other) is False


def test_in_operator_finds_column_and_field_names():
    table = bridge.to_arrow_device(pa.record_batch({"a": [{"x": 1}], "b": [2]}))
    assert "a" in table
    assert "x" not in table
    assert "x" in table["a"]
    with pytest.raises(
        TypeError, match="expected a table or a column of structs, got a column of type int64"
    ):
        assert 2 in table["b"]


def test_close_releases_arrays_streams_and_files():
    array = bridge.to_arrow_device(pa.array([1]))
    stream = bridge.to_arrow_device_stream(pa.table({"a": [1]}))
    file = bridge.ipc.open_file(ipc_file(pa.table({"a": [1]})))
    for one in (array, stream, file):
        one.close()
        assert one.is_released
        one.close()


def ipc_file(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
