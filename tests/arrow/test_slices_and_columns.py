# SPDX-License-Identifier: Apache-2.0
"""Compare slices and selected columns of `DeviceArray` with those of pyarrow's arrays."""

from __future__ import annotations

import gc
import io
import pickle

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pylibcudf as plc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from testing import owners, samples, strategies
from testing.peers.arrays import DeviceOnly

#: Types that cuDF lacks; only arrays from IPC have these types.
FOREIGN = {
    "string_view": pa.array(["short", None, "longer than twelve bytes"] * 9, pa.string_view()),
    "halffloat": pa.array(np.arange(27, dtype=np.float16)),
    "list_view": pa.array([[1, 2], None, [], [3]] * 7, pa.list_view(pa.int32())),
    "fixed_size_list": pa.array([[1, 2], None, [3, None]] * 9, pa.list_(pa.int8(), 2)),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays([4, 9, 27], pa.array(["a", None, "b"])),
    "fixed_size_binary": pa.array([b"abc", None, b"def"] * 9, pa.binary(3)),
    "map": pa.array([[("a", 1)], None, []] * 9, pa.map_(pa.string(), pa.int64())),
    "extension": pa.array([b"0123456789abcdef", None] * 9, pa.binary(16)).cast(pa.uuid()),
}
ROWS = [slice(0, 0), slice(2, 5), slice(9), slice(1, None), slice(-7, -2), slice(None), slice(5, 2)]


def sliced(array, rows):
    """Slice an array of pyarrow."""
    start, stop, _ = rows.indices(len(array))
    return array.slice(start, max(stop - start, 0))


def check(found, expected):
    arrow = found.to_arrow()
    arrow.validate(full=True)
    assert arrow.equals(expected)
    assert len(found) == len(expected)


def addresses(array):
    return {buffer.address for buffer in array.buffers()} - {0}


@samples.each_case_with_nulls(samples.NESTED_TYPES)
def test_slices_of_a_column_match_pyarrow(type_, nesting, nulls):
    array = samples.nest(type_, nesting, 75, nulls)
    exported = cab.to_arrow_device(array)
    whole = exported.to_arrow()
    for rows in ROWS:
        part = exported[rows]
        check(part, sliced(whole, rows))
        assert part.null_count == part.to_arrow().null_count
        assert addresses(part) <= addresses(exported)
        again = cab.from_arrow_device(part, to="pylibcudf")
        check(cab.to_arrow_device(again), cab.to_arrow_device(sliced(whole, rows)).to_arrow())
    check(exported[3:70][20:40], whole.slice(23, 20))


@pytest.mark.parametrize("name", FOREIGN)
def test_slices_of_types_that_cudf_lacks_match_pyarrow(name):
    table = pa.table({"a": FOREIGN[name], "b": range(len(FOREIGN[name]))})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with cab.ipc.open_stream(sink.getvalue()) as stream:
        (batch,) = stream
    for rows in ROWS:
        check(batch["a"][rows], sliced(batch["a"].to_arrow(), rows))
        part = batch[rows]
        check(part, sliced(batch.to_arrow(), rows))
        copied = cab.from_arrow_device(part, to="pylibcudf")
        expected = cab.from_arrow_device(part.to_arrow(), to="pylibcudf")
        assert cab.to_arrow_device(copied).equals(cab.to_arrow_device(expected))


@given(st.data())
def test_slices_of_random_tables_match_pyarrow(data):
    size = data.draw(st.integers(0, 60))
    types = data.draw(st.lists(strategies.types, max_size=3))
    columns = [data.draw(strategies.arrays_of(type_, size)) for type_ in types]
    names = [f"c{i}" for i in range(len(columns))]
    exported = cab.to_arrow_device(pa.RecordBatch.from_arrays(columns, names))
    whole = exported.to_arrow()
    begin = data.draw(st.integers(0, len(exported)))
    end = data.draw(st.integers(begin, len(exported)))
    part = exported[begin:end]
    check(part, whole.slice(begin, end - begin))
    for name in names:
        check(part[name], whole[name].slice(begin, end - begin))
    pickled = pickle.loads(pickle.dumps(part))
    check(pickled, part.to_arrow())
    sink = io.BytesIO()
    cab.ipc.write_stream(part, sink)
    assert pa.ipc.open_stream(sink.getvalue()).read_all().equals(pa.table(part.to_arrow()))
    check(cab.to_arrow_device(part, compact=True), part.to_arrow())


def test_head_returns_the_first_rows():
    array = cab.to_arrow_device(pa.table({"a": range(9)}))
    assert array.head().to_pylist() == [{"a": i} for i in range(5)]
    assert array["a"].head(2).to_pylist() == array["a"].head(-7).to_pylist() == [0, 1]
    assert len(array.head(100)) == 9


def test_slices_and_selections_are_exported_with_a_requested_schema():
    table = cab.to_arrow_device(pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]}))
    wanted = pa.field("", pa.large_string())
    again = cab.to_arrow_device(table["b"][1:], requested_schema=wanted)
    check(again, pa.array([None, "z"], pa.large_string()))
    again = cab.to_arrow_device(table[["b"]], requested_schema=pa.schema({"b": wanted.type}))
    check(again, pa.record_batch({"b": pa.array(["x", None, "z"], pa.large_string())}))


INDEXES = [
    pd.RangeIndex(10, 50, 2, name="rows"),
    pd.Index([f"r{i}" for i in range(20)], name="key"),
    pd.MultiIndex.from_product([range(4), list("abcde")], names=["x", "y"]),
]


@pytest.mark.parametrize("index", INDEXES, ids=["range", "labels", "levels"])
@pytest.mark.parametrize("rows", [slice(5, 11), slice(-4, None), slice(7, 7)])
def test_slices_keep_the_index(index, rows):
    data = pd.DataFrame({"a": range(20), "b": [f"v{i}" for i in range(20)]}, index=index)
    frame = cab.from_arrow_device(data)
    array = cab.to_arrow_device(frame)
    expected = frame.to_pandas().iloc[rows]
    for read in (cab.from_arrow_device, cab.from_arrow_device_stream):
        pd.testing.assert_frame_equal(read(array[rows]).to_pandas(), expected)
    # An index without rows has no type before pyarrow 24.
    has_type = len(expected) > 0 or int(pa.__version__.split(".")[0]) >= 24
    pd.testing.assert_frame_equal(
        array[rows].to_pandas(),
        data.iloc[rows],
        check_dtype=False,
        check_index_type="equiv" if has_type else False,
    )


def written(source, **options):
    sink = io.BytesIO()
    cab.ipc.write_stream(source, sink, **options)
    return sink.getvalue()


#: What pandas reads from an array, or the frame of our import, through each interface.
DOORS = {
    "array": lambda array: pa.record_batch(array).to_pandas(),
    "device array": lambda array: cab.from_arrow_device(DeviceOnly(array)).to_pandas(),
    "stream": lambda array: pa.table(array).to_pandas(),
    "exported stream": lambda array: pa.table(cab.to_arrow_device_stream(array)).to_pandas(),
    "batches": lambda array: pa.table(cab.to_arrow_device_stream(array, max_rows=2)).to_pandas(),
    "IPC": lambda array: pa.ipc.open_stream(written(array)).read_pandas(),
    "our IPC": lambda array: cab.from_arrow_device(cab.ipc.open_stream(written(array))).to_pandas(),
    "IPC batches": lambda array: cab.from_arrow_device_stream(
        cab.ipc.open_stream(written(array, max_rows=2))
    ).to_pandas(),
    "pickle": lambda array: pickle.loads(pickle.dumps(array)).to_pandas(),
    "schema": lambda array: pa.RecordBatch.from_arrays(
        array.to_arrow().columns, schema=array.schema
    ).to_pandas(),
    "requested": lambda array: pa.record_batch(
        cab.to_arrow_device(array, requested_schema=array.schema.with_metadata(None))
    ).to_pandas(),
    "selected": lambda array: pa.record_batch(array[["a"]][0:]).to_pandas(),
}


@pytest.mark.parametrize("read", DOORS.values(), ids=DOORS)
def test_slices_keep_their_part_of_a_range_index_through_each_interface(read):
    frame = pd.DataFrame({"a": range(10)}, pd.RangeIndex(100, 120, 2, name="r"))
    array = cab.to_arrow_device(cab.from_arrow_device(frame))
    for begin, end in ((4, 7), (0, 3), (6, 10), (5, 5)):
        expected = frame.iloc[begin:end]
        pd.testing.assert_frame_equal(read(array[begin:end]), expected)
        pd.testing.assert_frame_equal(
            read(array[begin - begin // 2 :][begin // 2 :][: end - begin]), expected
        )
    (_, batch) = cab.to_arrow_device_stream(array, max_rows=6)
    pd.testing.assert_frame_equal(read(batch), frame.iloc[6:])


def test_slices_of_batches_keep_their_part_of_the_index():
    frame = cab.from_arrow_device(pd.DataFrame({"a": range(10)}, pd.RangeIndex(100, 110)))
    _, second = cab.to_arrow_device_stream(frame, max_rows=6)
    part = second[1:3]
    for source in (part, [part], cab.to_arrow_device_stream(part)):
        found = cab.from_arrow_device_stream(source)
        assert list(found.index.to_pandas()) == [107, 108]
    found = cab.iter_arrow_device_stream(cab.to_arrow_device_stream(part, max_rows=1))
    assert [frame.index.to_pandas()[0] for frame in found] == [107, 108]


def test_selected_columns_are_in_the_requested_order():
    fields = [pa.field("a", pa.int64(), metadata={"k": "v"}), ("b", pa.string()), ("c", pa.null())]
    schema = pa.schema(fields, metadata={"whole": "kept"})
    table = cab.to_arrow_device(pa.table([[1, 2], ["x", None], [None, None]], schema=schema))
    whole = table.to_arrow()
    for names in (["b", "a"], ["a", "b", "c"], ["c"], []):
        part = table[names]
        check(part, whole.select(names))
        expected = pa.schema([schema.field(name) for name in names], schema.metadata)
        assert part.schema.equals(expected, check_metadata=True)
        assert addresses(part) <= addresses(table)
    assert table[["b", "a"]][["a"]][1:].to_pylist() == [{"a": 2}]
    table.release()
    check(part, whole.select([]))


def test_selected_columns_of_a_frame_keep_a_selected_index():
    data = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "f": [0.5, 1.5]}, pd.Index([8, 9], name="i"))
    array = cab.to_arrow_device(cab.from_arrow_device(data))
    kept = cab.from_arrow_device(array[["b", "i"]])
    pd.testing.assert_frame_equal(kept.to_pandas(), data[["b"]], check_dtype=False)
    dropped = cab.from_arrow_device(array[["f", "a"]])
    assert isinstance(dropped, cudf.DataFrame)
    assert isinstance(dropped.index, cudf.RangeIndex)
    assert dropped.to_arrow().to_pydict() == {"f": [0.5, 1.5], "a": [1, 2]}


def test_invalid_selections_of_columns_and_rows_raise():
    table = cab.to_arrow_device(pa.table({"a": [{"x": 1}], "b": [2]}))
    with pytest.raises(KeyError, match=r"columns: .*\['z'\]"):
        table[["a", "z"]]
    with pytest.raises(ValueError, match=r"repeated: \['a'\]$"):
        table[["a", "a"]]
    with pytest.raises(TypeError, match=r"\['a', 'b'\].* 1$"):
        table[["a", 1]]
    with pytest.raises(TypeError, match=r"\['x'\]$"):
        table["a"][["x"]]
    with pytest.raises(ValueError, match="step 2"):
        table[::2]
    table.release()
    for key in (slice(1), ["a"]):
        with pytest.raises(ValueError, match="released"):
            table[key]


def test_nested_slices_keep_the_source_alive_until_the_last():
    column, gone = owners.watched(pa.array(range(1000)))
    array = cab.to_arrow_device(plc.Table([column]))
    del column
    while len(array) > 1:
        array = array[1:][["0"]]
    gc.collect()
    assert gone() is not None
    assert array.to_pylist() == [{"0": 999}]
    del array
    gc.collect()
    assert gone() is None
