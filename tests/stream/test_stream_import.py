# SPDX-License-Identifier: Apache-2.0
"""Imported streams, as one frame or as separate frames, and the lifetime of their memory."""

from __future__ import annotations

import gc
from itertools import pairwise

import cudf
import nanoarrow
import numpy as np
import pandas as pd
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.host import to_arrow
from testing.host_frames import (
    assert_same_index,
    assert_same_object,
    frame,
    index,
    multi,
    numbers,
)
from testing.peers.arrays import DeviceOnly
from testing.peers.arrow_cpp import DeviceStream
from testing.peers.streams import DeviceStreamOnly, StreamOnly, StreamProducer
from testing.samples import TYPES, values

ROWS = 50
BATCH = pa.record_batch(
    {
        "number": pa.array([None if i % 7 == 0 else i for i in range(ROWS)], pa.int32()),
        "text": pa.array([None if i % 5 == 0 else f"text {i}" for i in range(ROWS)]),
        "list": pa.array([list(range(i % 4)) for i in range(ROWS)], pa.list_(pa.int64())),
    }
)


def reader(*sizes, batch=BATCH):
    """Return a reader of the first rows of a batch, in batches of these sizes."""
    ends = np.cumsum([0, *sizes])
    parts = [batch.slice(begin, end - begin) for begin, end in pairwise(ends)]
    return pa.RecordBatchReader.from_batches(batch.schema, parts)


PRODUCERS = {
    "host stream": StreamOnly,
    "device stream of Arrow C++": DeviceStream,
    "an iterable of device arrays": lambda r: map(DeviceOnly, r),
    "our own stream": lambda r: DeviceStreamOnly(cab.to_arrow_device_stream(r)),
    "nanoarrow": lambda r: StreamOnly(nanoarrow.c_array_stream(r)),
}


def rows(obj):
    return pa.record_batch(cab.to_arrow_device(obj)).to_pylist()


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("sizes", [(50,), (0, 25, 0, 0, 25)])
def test_batches_are_concatenated_into_one_frame(producer, sizes):
    found = cab.from_arrow_device_stream(PRODUCERS[producer](reader(*sizes)))
    assert isinstance(found, cudf.DataFrame)
    assert rows(found) == BATCH.to_pylist()
    assert found.index.equals(cudf.RangeIndex(ROWS))


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
def test_batches_are_imported_as_separate_frames(producer, to):
    frames = cab.from_arrow_device_stream(
        PRODUCERS[producer](reader(20, 0, 30)), concat=False, to=to
    )
    found = list(frames)
    assert {type(f) for f in found} == {cudf.DataFrame if to == "cudf" else plc.Table}
    if to == "cudf":
        assert [len(f) for f in found] == [20, 0, 30]
        assert [row for f in found for row in rows(f)] == BATCH.to_pylist()


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_columns_of_any_type_are_concatenated(type_):
    whole = values(type_, 60, "some")
    chunks = pa.chunked_array([whole.slice(0, 13), whole.slice(13, 0), whole.slice(13)], type_)
    found = cab.from_arrow_device_stream(StreamOnly(chunks), to="pylibcudf", kind="column")
    assert found.size() == 60
    assert to_arrow(found, type_).to_pylist() == whole.to_pylist()


def test_batches_of_different_dictionaries_are_concatenated():
    parts = [["b", "a", "b"], ["c", "a"], ["b", None]]
    chunks = pa.chunked_array([pa.array(part).dictionary_encode() for part in parts])
    found = cab.from_arrow_device_stream(StreamOnly(chunks))
    assert isinstance(found.dtype, cudf.CategoricalDtype)
    array = pa.array(cab.to_arrow_device(found))
    assert array.to_pylist() == ["b", "a", "b", "c", "a", "b", None]
    assert array.dictionary.to_pylist() == ["b", "a", "c"]


def test_one_batch_is_not_copied():
    begin = BATCH["number"].buffers()[1].address
    found = cab.from_arrow_device_stream(StreamOnly(reader(ROWS)), to="pylibcudf")
    assert found.columns()[0].data().ptr == begin
    for number, table in enumerate(
        cab.from_arrow_device_stream(StreamOnly(reader(32, 18)), to="pylibcudf", concat=False)
    ):
        assert table.columns()[0].data().ptr == begin + number * 4 * 32


@pytest.mark.parametrize("take", [cab.from_arrow_device, cab.from_arrow_device_stream])
def test_stream_without_batches_is_imported_as_an_empty_frame(take):
    schema = pa.schema(
        [
            *BATCH.schema,
            ("category", pa.dictionary(pa.int8(), pa.string())),
            ("null", pa.null()),
            ("runs", pa.list_(pa.run_end_encoded(pa.int16(), pa.int64()))),
        ]
    )
    empty = pa.RecordBatchReader.from_batches(schema, [])
    found = take(StreamOnly(empty))
    assert isinstance(found, cudf.DataFrame)
    assert list(found.columns) == schema.names
    assert len(found) == 0
    assert found["category"].dtype == "category"
    series = take(StreamOnly(pa.chunked_array([], pa.list_(pa.int8()))))
    assert isinstance(series, cudf.Series)
    assert len(series) == 0


def test_batches_without_columns_have_rows():
    made = frame({}, labels=pd.Index([], dtype=object), index=cudf.RangeIndex(10))
    for max_rows in (None, 3):
        found = cab.from_arrow_device_stream(cab.to_arrow_device_stream(made, max_rows=max_rows))
        assert found.shape == (10, 0)


def test_stream_of_structs_is_imported_as_a_table():
    chunks = pa.chunked_array([pa.array([{"a": 1}, {"a": 2}])])
    found = cab.from_arrow_device_stream(StreamOnly(chunks))
    assert isinstance(found, cudf.DataFrame)
    assert isinstance(cab.from_arrow_device_stream(StreamOnly(chunks), kind="column"), cudf.Series)
    again = cab.to_arrow_device_stream(StreamOnly(chunks))
    assert pa.table(StreamOnly(again)).column_names == ["a"]


INDEXES = {
    "default": cudf.RangeIndex(12),
    "range": cudf.RangeIndex(5, 41, 3, name="at"),
    "downwards": cudf.RangeIndex(40, 16, -2),
    "stored": index(numbers(12, 100), "key"),
    "two levels": multi([numbers(12), numbers(12, 50)], ["a", None]),
}


@pytest.mark.parametrize("rows", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("max_rows", [None, 5])
@pytest.mark.parametrize("wrap", [lambda s: s, DeviceStreamOnly, StreamOnly])
def test_index_of_a_frame_is_restored(rows, max_rows, wrap):
    made = frame({"x": numbers(12), 7: numbers(12, 9)}, index=rows)
    size = max_rows or 12

    def stream():
        return wrap(cab.to_arrow_device_stream(made, max_rows=max_rows))

    assert_same_object(cab.from_arrow_device_stream(stream()), made)
    first = 0
    for piece in cab.from_arrow_device_stream(stream(), concat=False):
        assert len(piece) == min(size, 12 - first)
        if isinstance(rows, cudf.RangeIndex):
            assert_same_index(piece.index, rows[first : first + size])
        else:
            assert piece.index.names == rows.names
        first += len(piece)
    assert first == 12


def test_index_of_a_batch_counts_from_the_first_row_of_its_own_frame():
    """This also holds for frames with the same metadata, whose batches share a schema."""
    for sizes in ((5, 5), (5, 6)):
        parts = [frame({"x": numbers(size)}) for size in sizes]
        batches = list(cab.to_arrow_device_stream(parts, max_rows=3))
        found = [cab.from_arrow_device(batch).index for batch in batches]
        wanted = [cudf.RangeIndex(size)[begin : begin + 3] for size in sizes for begin in (0, 3)]
        for one, other in zip(found, wanted, strict=True):
            assert_same_index(one, other)


def test_batches_keep_their_index_in_another_stream():
    made = frame({"x": numbers(12)}, index=cudf.RangeIndex(5, 41, 3))
    for max_rows in (None, 4):
        batches = (batch for batch in cab.to_arrow_device_stream(made, max_rows=5))
        again = cab.to_arrow_device_stream(batches, max_rows=max_rows)
        begin = 0
        for batch in again:
            rows = made.index[begin : begin + len(batch)]
            assert_same_index(cab.from_arrow_device(batch).index, rows)
            begin += len(batch)
        assert begin == 12


def test_column_labels_without_a_json_form_are_kept():
    class Label:
        pass

    label = Label()
    made = frame([numbers(4)], labels=pd.Index([label], dtype=object))
    for wrap in (lambda s: s, DeviceStreamOnly):
        found = cab.from_arrow_device_stream(wrap(cab.to_arrow_device_stream(made)))
        assert found.columns[0] is label
    parts = cab.to_arrow_device_stream(cab.to_arrow_device(made), max_rows=2)
    assert cab.from_arrow_device_stream(parts).columns[0] is label


def test_range_index_stored_by_pandas_is_restored():
    table = pa.Table.from_pandas(pd.DataFrame({"x": range(9)}, index=pd.RangeIndex(2, 20, 2)))
    stream = StreamOnly(pa.Table.from_batches(table.to_batches(max_chunksize=4)))
    assert_same_index(cab.from_arrow_device(stream).index, cudf.RangeIndex(2, 20, 2))
    *_, last = cab.from_arrow_device_stream(stream, concat=False)
    *_, batch = cab.to_arrow_device_stream(stream)
    for piece in (last, cab.from_arrow_device(batch)):
        assert_same_index(piece.index, cudf.RangeIndex(18, 20, 2))


def test_batches_are_pulled_when_they_are_requested():
    source = StreamProducer(BATCH.schema, [BATCH, BATCH, BATCH])
    frames = cab.from_arrow_device_stream(source, concat=False)
    assert source.pulls == 0
    next(frames)
    assert (source.pulls, source.releases) == (1, 0)
    kept = next(frames)
    assert source.pulls == 2
    frames.close()
    assert (source.pulls, source.releases) == (2, 1)
    assert rows(kept) == BATCH.to_pylist()


@pytest.mark.parametrize("batches", [0, 1, 3])
@pytest.mark.parametrize("concat", [True, False])
def test_stream_is_released_once(batches, concat):
    source = StreamProducer(BATCH.schema, [BATCH] * batches)
    found = cab.from_arrow_device_stream(source, concat=concat)
    total = len(found) if concat else sum(len(f) for f in found)
    assert total == batches * ROWS
    del found
    gc.collect()
    assert source.releases == 1
    assert source.pulls == batches + 1


def test_deletion_of_an_unused_iterator_of_frames_releases_the_stream():
    source = StreamProducer(BATCH.schema, [BATCH])
    frames = cab.from_arrow_device_stream(source, concat=False)
    del frames
    gc.collect()
    assert source.releases == 1
    assert source.pulls == 0


def test_more_rows_than_a_column_holds_need_concat_false():
    nulls = pa.nulls(1 << 30)
    chunks = pa.chunked_array([nulls, nulls, nulls])
    with pytest.raises(OverflowError, match="concat=False"):
        cab.from_arrow_device_stream(StreamOnly(chunks), to="pylibcudf")
    with pytest.raises(OverflowError, match="concat=False"):
        cab.from_arrow_device(StreamOnly(chunks), to="pylibcudf")
    found = cab.from_arrow_device_stream(StreamOnly(chunks), to="pylibcudf", concat=False)
    assert [column.size() for column in found] == [1 << 30] * 3


def test_nullability_may_differ_in_an_iterable():
    """pylibcudf 26.10 derives nullability from the data of each batch."""
    one = pa.record_batch([pa.array([1])], pa.schema([pa.field("a", pa.int64(), nullable=False)]))
    other = pa.record_batch([pa.array([None, 2])], pa.schema([pa.field("a", pa.int64())]))
    found = cab.from_arrow_device_stream([DeviceOnly(one), DeviceOnly(other)])
    assert rows(found) == [{"a": 1}, {"a": None}, {"a": 2}]


def test_iter_arrow_device_stream_equals_import_with_concat_false():
    batches = [BATCH.slice(0, 3), BATCH.slice(3)]
    options = {"columns": [BATCH.schema.names[0]], "to": "pylibcudf"}
    found = list(cab.iter_arrow_device_stream(iter(batches), **options))
    expected = list(cab.from_arrow_device_stream(iter(batches), concat=False, **options))
    assert [one.num_rows() for one in found] == [3, len(BATCH) - 3]
    assert list(map(rows, found)) == list(map(rows, expected))


#: The length of a string: six of them have more characters than 32-bit offsets can count.
PART = 400 << 20


@pytest.mark.exhaustive
@pytest.mark.parametrize("take", [cab.from_arrow_device_stream, lambda batches: batches])
def test_strings_beyond_2_gib_are_concatenated_as_large_strings(take):
    """Three strings of 400 MiB, of the characters 0, 1 and 2, in lists of two batches."""
    characters = np.repeat(np.frombuffer(b"012", "uint8"), PART)
    offsets = np.arange(4, dtype="int32") * PART
    strings = pa.StringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(characters))
    batch = pa.record_batch([pa.ListArray.from_arrays([0, 1, 3], strings)], ["a"])
    batches = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])
    result = pa.record_batch(cab.to_arrow_device(take(batches)))["a"]
    assert result.type == pa.list_(pa.large_string())
    result.validate(full=False)
    _, offsets, characters = result.flatten().buffers()
    assert np.frombuffer(offsets, "int64").tolist() == [PART * i for i in range(7)]
    found = np.frombuffer(characters, "uint8").reshape(6, PART)
    for row, character in zip(found, b"012012", strict=True):
        assert (row[0], row.min(), row.max()) == (character,) * 3


def test_lists_of_too_many_elements_are_an_error():
    size = 1 << 30
    elements = pa.Array.from_buffers(pa.int8(), size, [None, pa.py_buffer(np.zeros(size, "int8"))])
    batch = pa.record_batch([pa.ListArray.from_arrays([0, size], elements)], ["a"])
    batches = pa.RecordBatchReader.from_batches(batch.schema, [batch] * 2)
    with pytest.raises(OverflowError, match=r"column 'a'.*to_arrow_device_stream"):
        cab.to_arrow_device(batches)
