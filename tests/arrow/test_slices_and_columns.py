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

import cudf_arrow_bridge as bridge
from testing import owners, samples, strategies

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


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_slices_of_a_column_match_pyarrow(type_, nesting, nulls):
    array = samples.nest(type_, nesting, 75, nulls)
    exported = bridge.to_arrow_device(array)
    whole = exported.to_arrow()
    for rows in ROWS:
        part = exported[rows]
        check(part, sliced(whole, rows))
        assert part.null_count == part.to_arrow().null_count
        assert addresses(part) <= addresses(exported)
        again = bridge.from_arrow_device(part, to="pylibcudf")
        check(bridge.to_arrow_device(again), bridge.to_arrow_device(sliced(whole, rows)).to_arrow())
    check(exported[3:70][20:40], whole.slice(23, 20))


@pytest.mark.parametrize("name", FOREIGN)
def test_slices_of_types_that_cudf_lacks_match_pyarrow(name):
    table = pa.table({"a": FOREIGN[name], "b": range(len(FOREIGN[name]))})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with bridge.ipc.open_stream(sink.getvalue()) as stream:
        (batch,) = stream
    for rows in ROWS:
        check(batch["a"][rows], sliced(batch["a"].to_arrow(), rows))
        part = batch[rows]
        check(part, sliced(batch.to_arrow(), rows))
        copied = bridge.from_arrow_device(part, to="pylibcudf")
        expected = bridge.from_arrow_device(part.to_arrow(), to="pylibcudf")
        assert bridge.to_arrow_device(copied).equals(bridge.to_arrow_device(expected))


@given(st.data())
def test_slices_of_random_tables_match_pyarrow(data):
    size = data.draw(st.integers(0, 60))
    types = data.draw(st.lists(strategies.types, max_size=3))
    columns = [data.draw(strategies.arrays_of(type_, size)) for type_ in types]
    names = [f"c{i}" for i in range(len(columns))]
    exported = bridge.to_arrow_device(pa.RecordBatch.from_arrays(columns, names))
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
    bridge.ipc.write_stream(part, sink)
    assert pa.ipc.open_stream(sink.getvalue()).read_all().equals(pa.table(part.to_arrow()))
    check(bridge.to_arrow_device(part, compact=True), part.to_arrow())


def test_head_returns_the_first_rows():
    array = bridge.to_arrow_device(pa.table({"a": range(9)}))
    assert array.head().to_pylist() == [{"a": i} for i in range(5)]
    assert array["a"].head(2).to_pylist() == [0, 1]
    assert array["a"].head(-7).to_pylist() == [0, 1]
    assert len(array.head(100)) == 9


def test_slice_is_exported_with_a_requested_schema():
    array = bridge.to_arrow_device(pa.array(["a", None, "b", "c"]))[1:3]
    again = bridge.to_arrow_device(array, requested_schema=pa.large_string())
    check(again, pa.array([None, "b"], pa.large_string()))
    table = bridge.to_arrow_device(pa.table({"a": [1, 2], "b": ["x", "y"]}))[["b"]]
    again = bridge.to_arrow_device(table, requested_schema=pa.schema({"b": pa.large_string()}))
    check(again, pa.record_batch({"b": pa.array(["x", "y"], pa.large_string())}))


INDEXES = [
    pd.RangeIndex(10, 50, 2, name="rows"),
    pd.Index([f"r{i}" for i in range(20)], name="key"),
    pd.MultiIndex.from_product([range(4), list("abcde")], names=["x", "y"]),
]


@pytest.mark.parametrize("index", INDEXES, ids=["range", "labels", "levels"])
@pytest.mark.parametrize("rows", [slice(3), slice(5, 11), slice(-4, None), slice(7, 7)])
def test_slices_keep_the_index(index, rows):
    data = pd.DataFrame({"a": range(20), "b": [f"v{i}" for i in range(20)]}, index=index)
    frame = bridge.from_arrow_device(data)
    array = bridge.to_arrow_device(frame)
    expected = frame.to_pandas().iloc[rows]
    for read in (bridge.from_arrow_device, bridge.from_arrow_device_stream):
        pd.testing.assert_frame_equal(read(array[rows]).to_pandas(), expected)
    (found,) = bridge.iter_arrow_device_stream(array[rows])
    pd.testing.assert_frame_equal(found.to_pandas(), expected)
    # An index without rows has no type before pyarrow 24.
    has_type = len(expected) > 0 or int(pa.__version__.split(".")[0]) >= 24
    pd.testing.assert_frame_equal(
        array[rows].to_pandas(),
        data.iloc[rows],
        check_dtype=False,
        check_index_type="equiv" if has_type else False,
    )
    (batch,) = bridge.to_arrow_device_stream(array[rows])
    pd.testing.assert_frame_equal(bridge.from_arrow_device(batch).to_pandas(), expected)


def written(source, **options):
    sink = io.BytesIO()
    bridge.ipc.write_stream(source, sink, **options)
    return sink.getvalue()


#: What pandas reads from an array, or the frame of our import, through each interface.
DOORS = {
    "array": lambda array: pa.record_batch(array).to_pandas(),
    "device array": lambda array: bridge.from_arrow_device(Forwarded(array)).to_pandas(),
    "stream": lambda array: pa.table(array).to_pandas(),
    "exported stream": lambda array: pa.table(bridge.to_arrow_device_stream(array)).to_pandas(),
    "batches": lambda array: pa.table(bridge.to_arrow_device_stream(array, max_rows=2)).to_pandas(),
    "IPC": lambda array: pa.ipc.open_stream(written(array)).read_pandas(),
    "our IPC": lambda array: bridge.from_arrow_device(
        bridge.ipc.open_stream(written(array))
    ).to_pandas(),
    "IPC batches": lambda array: bridge.from_arrow_device_stream(
        bridge.ipc.open_stream(written(array, max_rows=2))
    ).to_pandas(),
    "pickle": lambda array: pickle.loads(pickle.dumps(array)).to_pandas(),
    "schema": lambda array: pa.RecordBatch.from_arrays(
        array.to_arrow().columns, schema=array.schema
    ).to_pandas(),
    "requested": lambda array: pa.record_batch(
        bridge.to_arrow_device(array, requested_schema=array.schema.with_metadata(None))
    ).to_pandas(),
    "selected": lambda array: pa.record_batch(array[["a"]][0:]).to_pandas(),
}


class Forwarded:
    def __init__(self, array):
        self.__arrow_c_device_array__ = array.__arrow_c_device_array__


@pytest.mark.parametrize("read", DOORS.values(), ids=DOORS)
def test_slices_keep_their_part_of_a_range_index_through_each_interface(read):
    frame = pd.DataFrame({"a": range(10)}, pd.RangeIndex(100, 120, 2, name="r"))
    array = bridge.to_arrow_device(bridge.from_arrow_device(frame))
    for begin, end in ((4, 7), (0, 3), (6, 10), (5, 5)):
        expected = frame.iloc[begin:end]
        pd.testing.assert_frame_equal(read(array[begin:end]), expected)
        pd.testing.assert_frame_equal(
            read(array[begin - begin // 2 :][begin // 2 :][: end - begin]), expected
        )
    (_, batch) = bridge.to_arrow_device_stream(array, max_rows=6)
    pd.testing.assert_frame_equal(read(batch), frame.iloc[6:])


def test_stream_of_slices_keeps_the_part_of_the_range_index_of_each_slice():
    frame = pd.DataFrame({"a": range(10)}, pd.RangeIndex(100, 120, 2, name="r"))
    array = bridge.to_arrow_device(bridge.from_arrow_device(frame))
    slices = [array[4:6], array[6:8], array[1:2]]
    for stream in (
        bridge.to_arrow_device_stream(slices),
        bridge.to_arrow_device_stream(slices, max_rows=9),
    ):
        found = [bridge.from_arrow_device(batch).to_pandas() for batch in stream]
        for one, (begin, end) in zip(found, [(4, 6), (6, 8), (1, 2)], strict=True):
            pd.testing.assert_frame_equal(one, frame.iloc[begin:end])


def test_slices_of_a_series_keep_the_range_index():
    series = bridge.from_arrow_device(pd.Series(range(20), pd.RangeIndex(10, 50, 2), name="a"))
    part = bridge.to_arrow_device(series)[5:11]
    pd.testing.assert_series_equal(
        bridge.from_arrow_device(part).to_pandas(), series.to_pandas().iloc[5:11]
    )


def test_slices_of_batches_keep_their_part_of_the_index():
    frame = bridge.from_arrow_device(pd.DataFrame({"a": range(10)}, pd.RangeIndex(100, 110)))
    _, second = bridge.to_arrow_device_stream(frame, max_rows=6)
    part = second[1:3]
    for source in (part, [part], bridge.to_arrow_device_stream(part)):
        found = bridge.from_arrow_device_stream(source)
        assert list(found.index.to_pandas()) == [107, 108]
    found = bridge.iter_arrow_device_stream(bridge.to_arrow_device_stream(part, max_rows=1))
    assert [frame.index.to_pandas()[0] for frame in found] == [107, 108]


def test_empty_slices_are_read_by_pandas():
    array = bridge.to_arrow_device(pa.table({"a": [1, None, 3], "b": ["x", None, "z"]}))
    assert array[2:2].to_pandas().to_dict("list") == {"a": [], "b": []}


def test_selected_columns_are_in_the_requested_order():
    schema = pa.schema(
        [
            pa.field("a", pa.int64(), metadata={"k": "v"}),
            pa.field("b", pa.string()),
            ("c", pa.null()),
        ],
        metadata={"whole": "kept"},
    )
    table = bridge.to_arrow_device(pa.table([[1, 2], ["x", None], [None, None]], schema=schema))
    whole = table.to_arrow()
    for names in (["b", "a"], ["a", "b", "c"], ["c"], []):
        part = table[names]
        check(part, whole.select(names))
        fields = [schema.field(name) for name in names]
        assert part.schema.equals(pa.schema(fields, schema.metadata), check_metadata=True)
        assert addresses(part) <= addresses(table)
    assert table[["b", "a"]][["a"]][1:].to_pylist() == [{"a": 2}]
    table.release()
    check(part, whole.select([]))


def test_selected_columns_of_a_frame_keep_a_selected_index():
    data = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "f": [0.5, 1.5]}, pd.Index([8, 9], name="i"))
    array = bridge.to_arrow_device(bridge.from_arrow_device(data))
    kept = bridge.from_arrow_device(array[["b", "i"]])
    pd.testing.assert_frame_equal(kept.to_pandas(), data[["b"]], check_dtype=False)
    dropped = bridge.from_arrow_device(array[["f", "a"]])
    assert isinstance(dropped, cudf.DataFrame)
    assert isinstance(dropped.index, cudf.RangeIndex)
    assert dropped.to_arrow().to_pydict() == {"f": [0.5, 1.5], "a": [1, 2]}


def test_invalid_selections_of_columns_and_rows_raise():
    table = bridge.to_arrow_device(pa.table({"a": [{"x": 1}], "b": [2]}))
    with pytest.raises(
        KeyError, match="\"columns: expected names in \\['a', 'b'\\], got \\['z'\\]\""
    ):
        table[["a", "z"]]
    with pytest.raises(ValueError, match=r"got \['a'\] more than once"):
        table[["a", "a"]]
    with pytest.raises(
        TypeError, match=r"columns: expected names of Arrow fields in \['a', 'b'\], got 1"
    ):
        table[["a", 1]]
    with pytest.raises(
        TypeError, match=r"expected a slice or the name of one field.* got \['x'\]$"
    ):
        table["a"][["x"]]
    with pytest.raises(ValueError, match="expected a slice with step 1, got step 2"):
        table[::2]
    table.release()
    for key in (slice(1), ["a"]):
        with pytest.raises(ValueError, match="released"):
            table[key]


def test_slice_keeps_the_source_alive():
    column, reference = owners.watched(pa.array([1, 2, 3]))
    array = bridge.to_arrow_device(plc.Table([column]))
    part = array[1:][["0"]]
    array.release()
    del array, column
    gc.collect()
    assert reference() is not None
    assert part.to_pylist() == [{"0": 2}, {"0": 3}]
    del part
    gc.collect()
    assert reference() is None


def test_nested_slices_release_the_source_at_the_end():
    column, reference = owners.watched(pa.array(range(100_000)))
    array = bridge.to_arrow_device(column)
    del column
    while len(array) > 1:
        array = array[1:]
    assert array.to_pylist() == [99_999]
    del array
    gc.collect()
    assert reference() is None


def test_buffers_in_host_memory_support_the_buffer_protocol():
    array = bridge.to_arrow_device(pa.array([1.5, None, 3.5], pa.float32()))
    view = memoryview(array.buffer("data"))
    assert (view.format, view.shape, view.readonly) == ("f", (3,), True)
    assert [view[0], view[2]] == [1.5, 3.5]
    data = pa.py_buffer(array.buffer("data"))
    assert (data.address, data.size) == (array.to_arrow().buffers()[1].address, 12)
    array.release()
    del array
    gc.collect()
    assert view[2] == 3.5
    text = bridge.to_arrow_device(pa.array(["ab", "c"]))
    assert bytes(text.buffer("data")) == b"abc"
    assert memoryview(text.buffer("offsets")).tolist() == [0, 2, 3]
    with pytest.raises(BufferError):
        memoryview(bridge.to_arrow_device(pa.array([1], pa.decimal128(3))).buffer("data"))
