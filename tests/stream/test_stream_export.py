# SPDX-License-Identifier: Apache-2.0
"""Exported streams: their rows, the sizes of their batches, and when batches are made."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from ctypes import addressof

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.host import to_plc
from testing.peers.arrow_cpp import reader_of
from testing.peers.streams import BATCH, HALVES, Consumer, StreamOnly
from testing.samples import TYPES, values

ROWS = BATCH.num_rows
PROTOCOLS = ["__arrow_c_stream__", "__arrow_c_device_stream__"]


@pytest.mark.parametrize("max_rows", [1, 33, ROWS - 1, ROWS, 10**9, None])
@pytest.mark.parametrize("read", [pa.RecordBatchReader.from_stream, reader_of])
def test_frame_is_split_by_max_rows(max_rows, read):
    frame = cab.from_arrow_device(BATCH)
    batches = list(read(cab.to_arrow_device_stream(frame, max_rows=max_rows)))
    size = min(max_rows or ROWS, ROWS)
    if 64 <= size < ROWS:
        size = 64  # the largest size with which each batch starts at a word of the masks
    full, rest = divmod(ROWS, size)
    assert [b.num_rows for b in batches] == [size] * full + [rest] * bool(rest)
    for batch in batches:
        batch.validate(full=True)
    assert pa.Table.from_batches(batches).to_pylist() == BATCH.to_pylist()


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_column_of_any_type_is_split(type_):
    whole = values(type_, ROWS, "some")
    stream = cab.to_arrow_device_stream(to_plc(whole), max_rows=9)
    chunks = pa.chunked_array(StreamOnly(stream))
    chunks.validate(full=True)
    assert [len(chunk) for chunk in chunks.chunks] == [9] * 7 + [7]
    assert chunks.to_pylist() == whole.to_pylist()


def test_splitting_copies_nothing():
    column = to_plc(pa.array(np.arange(ROWS)))
    begin = column.data().ptr
    found = []
    for batch in cab.to_arrow_device_stream(plc.Table([column]), max_rows=16):
        (data,) = [b for b in batch.buffers() if b.name.endswith("data")]
        found.append(data.address - begin)
        assert data.zero_copy
    assert found == [0, 128, 256, 384, 512]


@pytest.mark.parametrize("seed", range(3))
def test_objects_of_random_types_and_sizes_are_streamed(seed):
    rng = random.Random(seed)
    pieces, at = [], 0
    while at < ROWS:
        size = min(rng.choice([0, 0, 1, 2, 7, 30]), ROWS - at)
        pieces.append(BATCH.slice(at, size))
        at += size
    # Batches of one stream may have dictionaries of their own.
    objects = [rng.choice([lambda p: p, cab.from_arrow_device])(piece) for piece in pieces]
    max_rows = rng.choice([None, 1, 3, 100])
    stream = cab.to_arrow_device_stream(objects, max_rows=max_rows)
    assert pa.table(StreamOnly(stream)).to_pylist() == BATCH.to_pylist()


def test_an_empty_frame_is_one_empty_batch():
    frame = cab.from_arrow_device(BATCH.slice(0, 0))
    for max_rows in (None, 5):
        (batch,) = pa.RecordBatchReader.from_stream(
            StreamOnly(cab.to_arrow_device_stream(frame, max_rows=max_rows))
        )
        assert batch.num_rows == 0
        assert batch.schema.names == BATCH.schema.names


class Watched:
    """A source whose batches are counted: how many were made, how many are alive."""

    def __init__(self, count):
        self.made, self.count, self.alive = 0, count, weakref.WeakSet()

    def __iter__(self):
        for _ in range(self.count):
            self.made += 1
            source = to_plc(BATCH["number"])
            table = plc.Table([source])
            self.alive.add(source.data())
            del source
            yield table
            del table


def test_batches_are_made_when_they_are_requested():
    source = Watched(5)
    stream = cab.to_arrow_device_stream(source)
    repr(stream)
    assert source.made == 0
    assert stream.schema.names == ["0"]
    assert stream.device_type == cab.DeviceType.CPU
    assert source.made == 1
    consumer = Consumer(stream.__arrow_c_device_stream__())
    assert consumer.struct.device_type == 1
    assert source.made == 1
    for made in (1, 2, 3):
        assert consumer.rows() == ROWS
        assert source.made == made
        gc.collect()
        # The source still holds its last batch, and no other.
        assert len(source.alive) <= 1
    consumer.release()
    gc.collect()
    assert source.made == 3
    assert not source.alive
    for batch in stream:
        assert len(batch) == ROWS
        del batch
        gc.collect()
        assert len(source.alive) <= 1
    gc.collect()
    assert not source.alive


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_batches_outlive_a_stream_that_is_released_early(protocol):
    numbers = BATCH.select(["number"])
    frame = cab.from_arrow_device(numbers)
    consumer = Consumer(getattr(cab.to_arrow_device_stream(frame, max_rows=10), protocol)())
    del frame
    structs = [consumer.next()[1] for _ in range(2)]
    consumer.release()
    arrays = [getattr(struct, "array", struct) for struct in structs]
    found = [pa.RecordBatch._import_from_c(addressof(x), numbers.schema) for x in arrays]
    assert found == [numbers.slice(0, 10), numbers.slice(10, 10)]


SPLIT = {
    "table": lambda: pa.Table.from_batches(HALVES),
    "reader": lambda: pa.RecordBatchReader.from_batches(BATCH.schema, HALVES),
    "iterator": lambda: iter(HALVES),
    "our stream": lambda: cab.to_arrow_device_stream(BATCH, max_rows=40),
    "device arrays": lambda: list(map(cab.to_arrow_device, HALVES)),
    "mixed": lambda: [pa.Table.from_batches(HALVES[:1]), cab.from_arrow_device(HALVES[1])],
}


@pytest.mark.parametrize("source", SPLIT.values(), ids=SPLIT)
@pytest.mark.parametrize(("max_rows", "sizes"), [(None, [40, 30]), (25, [25, 15, 25, 5])])
def test_batches_of_every_source_are_split_by_max_rows(source, max_rows, sizes):
    stream = cab.to_arrow_device_stream(source(), max_rows=max_rows)
    batches = list(pa.RecordBatchReader.from_stream(StreamOnly(stream)))
    assert [batch.num_rows for batch in batches] == sizes
    assert pa.Table.from_batches(batches).to_pylist() == BATCH.to_pylist()


def test_options_apply_to_arrays_that_were_exported_before():
    column = to_plc(pa.array([0, 1, 2, None, *range(20)]).slice(3))
    exported = cab.to_arrow_device(column)
    assert exported._array.offset == 3
    assert cab.to_arrow_device(exported, compact=True)._array.offset == 0
    (batch,) = cab.to_arrow_device_stream(exported, compact=True)
    assert batch._array.offset == 0
    assert pa.array(batch).to_pylist() == [None, *range(20)]


@pytest.mark.parametrize("type_", [pa.float16(), pa.string_view()], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_batches_of_any_size_have_one_schema_with_max_rows(type_, seed):
    """Batches with at most max_rows rows keep the types of their messages, others are imported."""
    choose = random.Random(seed)
    sizes = [choose.choice([0, 1, 63, 512, 700, 2000]) for _ in range(6)]
    numbers = pa.float16() if type_ == pa.float16() else pa.string()
    columns = [pa.array(range(size)).cast(numbers).cast(type_) for size in sizes]
    expected = pa.table([pa.chunked_array(columns)], ["x"])
    message = pa.BufferOutputStream()
    with pa.ipc.new_stream(message, expected.schema) as writer:
        writer.write_table(expected)
    arrays = list(cab.ipc.open_stream(message.getvalue()))
    stream = cab.to_arrow_device_stream(arrays, max_rows=512)
    found = pa.table(stream)
    assert found.schema.equals(pa.schema(stream.schema))
    assert found.to_pydict() == expected.to_pydict()


def test_consumer_can_call_from_other_threads():
    """Calls are serialised, but each comes from a different thread."""
    made_on = []

    def batches():
        for at in range(0, 40, 10):
            made_on.append(threading.get_ident())
            yield cab.from_arrow_device(BATCH.slice(at, 10))

    consumer = Consumer(cab.to_arrow_device_stream(batches()).__arrow_c_device_stream__())
    rows = []
    for _ in range(6):
        thread = threading.Thread(target=lambda: rows.append(consumer.rows()))
        thread.start()
        thread.join()
    thread = threading.Thread(target=consumer.release)
    thread.start()
    thread.join()
    assert rows == [10, 10, 10, 10, None, None]
    assert threading.get_ident() not in made_on[1:]
