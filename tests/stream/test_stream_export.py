# SPDX-License-Identifier: Apache-2.0
"""Exported streams: their rows, the sizes of their batches, and when batches are made."""

from __future__ import annotations

import gc
import io
import random
import weakref

import cudf
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing.host import to_plc
from testing.peers.arrow_cpp import reader_of
from testing.peers.streams import Consumer, Delayed, StreamOnly
from testing.samples import TYPES, values

ROWS = 70
BATCH = pa.record_batch(
    {
        "number": pa.array([None if i % 7 == 0 else i for i in range(ROWS)], pa.int32()),
        "text": pa.array([None if i % 5 == 0 else f"text {i}" for i in range(ROWS)]),
        "flag": pa.array([i % 3 == 0 for i in range(ROWS)]),
        "list": pa.array([list(range(i % 4)) for i in range(ROWS)], pa.list_(pa.int64())),
        # cuDF stores codes in this width, so that all sources have one schema.
        "category": pa.DictionaryArray.from_arrays(
            pa.array([i % 3 for i in range(ROWS)], pa.int8()), ["a", "c", "b"]
        ),
    }
)
HALVES = [BATCH.slice(0, 40), BATCH.slice(40)]


def values_of(stream):
    return pa.table(StreamOnly(stream)).to_pylist()


def lengths(stream):
    return [batch.num_rows for batch in pa.RecordBatchReader.from_stream(StreamOnly(stream))]


@pytest.mark.parametrize("max_rows", [1, 3, 8, 31, 32, 33, ROWS - 1, ROWS, ROWS + 1, 10**9, None])
@pytest.mark.parametrize("read", [pa.RecordBatchReader.from_stream, reader_of])
def test_frame_is_split_by_max_rows(max_rows, read):
    frame = bridge.from_arrow_device(BATCH)
    batches = list(read(bridge.to_arrow_device_stream(frame, max_rows=max_rows)))
    size = min(max_rows or ROWS, ROWS)
    if 64 <= size < ROWS:
        size = 64  # the largest size with which each batch starts at a word of the masks
    full, rest = divmod(ROWS, size)
    assert [b.num_rows for b in batches] == [size] * full + [rest] * bool(rest)
    for batch in batches:
        batch.validate(full=True)
    assert pa.Table.from_batches(batches).to_pylist() == BATCH.to_pylist()


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("nulls", ["none", "some", "all"])
def test_a_column_of_any_type_is_split(type_, nulls):
    whole = values(type_, ROWS, nulls)
    stream = bridge.to_arrow_device_stream(to_plc(whole), max_rows=9)
    chunks = pa.chunked_array(StreamOnly(stream))
    chunks.validate(full=True)
    assert [len(chunk) for chunk in chunks.chunks] == [9] * 7 + [7]
    assert chunks.to_pylist() == whole.to_pylist()


def test_splitting_copies_nothing():
    column = to_plc(pa.array(np.arange(ROWS)))
    begin = column.data().ptr
    found = []
    for batch in bridge.to_arrow_device_stream(plc.Table([column]), max_rows=16):
        (data,) = [b for b in batch.buffers() if b.name.endswith("data")]
        found.append(data.address - begin)
        assert data.zero_copy
    assert found == [0, 128, 256, 384, 512]


@pytest.mark.parametrize("seed", range(5))
def test_objects_of_random_types_and_sizes_are_streamed(seed):
    rng = random.Random(seed)
    pieces, at = [], 0
    while at < ROWS:
        size = min(rng.choice([0, 0, 1, 2, 7, 30]), ROWS - at)
        pieces.append(BATCH.slice(at, size))
        at += size
    # Batches of one stream may have dictionaries of their own.
    objects = [rng.choice([lambda p: p, bridge.from_arrow_device])(piece) for piece in pieces]
    max_rows = rng.choice([None, 1, 3, 100])
    assert values_of(bridge.to_arrow_device_stream(objects, max_rows=max_rows)) == BATCH.to_pylist()


def test_an_empty_frame_is_one_empty_batch():
    frame = bridge.from_arrow_device(BATCH.slice(0, 0))
    for max_rows in (None, 5):
        (batch,) = pa.RecordBatchReader.from_stream(
            StreamOnly(bridge.to_arrow_device_stream(frame, max_rows=max_rows))
        )
        assert batch.num_rows == 0
        assert batch.schema.names == BATCH.schema.names


def test_batches_of_frame_without_columns_have_rows():
    frame = cudf.DataFrame(index=cudf.RangeIndex(10))
    batches = list(bridge.to_arrow_device_stream(frame, max_rows=4))
    assert [len(batch) for batch in batches] == [4, 4, 2]


def test_stream_without_batches_needs_a_requested_schema():
    stream = bridge.to_arrow_device_stream([], requested_schema=BATCH.schema)
    found = pa.table(StreamOnly(stream))
    assert found.schema.equals(BATCH.schema)
    assert found.num_rows == 0
    with pytest.raises(ValueError, match=r"the stream has neither a schema nor a batch$"):
        _ = bridge.to_arrow_device_stream([]).schema


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
    stream = bridge.to_arrow_device_stream(source)
    repr(stream)
    assert source.made == 0
    assert stream.schema.names == ["0"]
    assert stream.device_type == bridge.DeviceType.CPU
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


@pytest.mark.parametrize("protocol", ["__arrow_c_stream__", "__arrow_c_device_stream__"])
@pytest.mark.parametrize("pulled", [0, 1, 2, 7])
def test_batches_outlive_a_stream_that_is_released_early(protocol, pulled):
    frame = bridge.from_arrow_device(BATCH.select(["number"]))
    consumer = Consumer(getattr(bridge.to_arrow_device_stream(frame, max_rows=10), protocol)())
    del frame
    kept = []
    for _ in range(pulled):
        code, out = consumer.next()
        assert code == 0
        kept.append(out)
    consumer.release()
    found = [
        pa.RecordBatch._import_from_c(
            __import__("ctypes").addressof(getattr(out, "array", out)),
            BATCH.select(["number"]).schema,
        )
        for out in kept
    ]
    assert [row for b in found for row in b.to_pylist()] == [
        {"number": row["number"]} for row in BATCH.to_pylist()[: pulled * 10]
    ]


def test_deletion_of_an_unused_capsule_closes_the_source():
    closed = []

    def batches():
        try:
            yield BATCH
            yield BATCH
        finally:
            closed.append(True)

    stream = bridge.to_arrow_device_stream(batches())
    capsule = stream.__arrow_c_device_stream__()
    assert not closed
    del capsule, stream
    gc.collect()
    assert closed == [True]


def test_a_generator_is_consumed_once():
    frame = bridge.from_arrow_device(BATCH)
    stream = bridge.to_arrow_device_stream(frame for _ in range(1))
    taken = stream.__arrow_c_stream__()
    assert stream.is_released
    for again in (
        lambda: stream.__arrow_c_stream__(),
        lambda: stream.__arrow_c_device_stream__(),
        lambda: stream.__arrow_c_schema__(),
        lambda: list(stream),
        lambda: stream.schema,
        lambda: next(iter(stream)),
    ):
        with pytest.raises(ValueError, match="a generator can be consumed once"):
            again()
    assert "consumed" in repr(stream)
    del taken


def test_each_iteration_starts_at_the_first_batch():
    stream = bridge.to_arrow_device_stream(bridge.from_arrow_device(BATCH), max_rows=30)
    batches = iter(stream)
    assert iter(batches) is batches
    first = next(batches)
    assert len(first) == 30
    assert [len(batch) for batch in batches] == [30, 10]
    assert next(batches, None) is None
    assert [len(batch) for batch in stream] == [30, 30, 10]
    assert first.schema.names == BATCH.schema.names


def test_release_frees_batches_that_were_not_consumed():
    source = Watched(3)
    with bridge.to_arrow_device_stream(source) as stream:
        batches = iter(stream)
        next(batches)
        assert stream.schema
    stream.release()
    gc.collect()
    assert not source.alive
    with pytest.raises(ValueError, match="released"):
        next(batches)
    assert "released" in repr(stream)


def test_consumer_can_read_after_the_stream_is_released():
    stream = bridge.to_arrow_device_stream(bridge.from_arrow_device(BATCH), max_rows=30)
    reader = pa.RecordBatchReader.from_stream(StreamOnly(stream))
    stream.release()
    assert reader.read_all().to_pylist() == BATCH.to_pylist()


class Partitioned:
    def __init__(self, frames):
        self.partitions = frames


def frames():
    return [bridge.from_arrow_device(BATCH.slice(at, 35)) for at in (0, 35)]


def test_dask_partitions_are_computed_one_by_one():
    source = Delayed(frames())
    stream = bridge.to_arrow_device_stream(source, max_rows=20)
    batches = iter(stream)
    assert [len(next(batches)), len(next(batches))] == [20, 15]
    assert len(source.made) == 1
    assert [len(batch) for batch in batches] == [20, 15]
    assert lengths(bridge.to_arrow_device_stream(Partitioned(frames()))) == [35, 35]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            lambda: pa.Table.from_batches([BATCH.slice(0, 40), BATCH.slice(40)]), id="table"
        ),
        pytest.param(
            lambda: pa.RecordBatchReader.from_batches(BATCH.schema, HALVES),
            id="reader",
        ),
        pytest.param(lambda: list(HALVES), id="list"),
        pytest.param(lambda: iter(HALVES), id="iterator"),
        pytest.param(
            lambda: bridge.to_arrow_device_stream(BATCH, max_rows=40), id="our own stream"
        ),
        pytest.param(
            lambda: [bridge.to_arrow_device(BATCH.slice(at, 40)) for at in (0, 40)],
            id="device arrays",
        ),
        pytest.param(lambda: [pa.Table.from_batches(HALVES[:1]), frames_from(40)], id="mixed"),
    ],
)
@pytest.mark.parametrize(("max_rows", "sizes"), [(None, [40, 30]), (25, [25, 15, 25, 5])])
def test_batches_of_every_source_are_split_by_max_rows(source, max_rows, sizes):
    stream = bridge.to_arrow_device_stream(source(), max_rows=max_rows)
    batches = list(pa.RecordBatchReader.from_stream(StreamOnly(stream)))
    assert [batch.num_rows for batch in batches] == sizes
    assert pa.Table.from_batches(batches).to_pylist() == BATCH.to_pylist()


def frames_from(at):
    return bridge.from_arrow_device(BATCH.slice(at))


@pytest.mark.parametrize("groups", [0, 1, 3])
def test_a_parquet_file_is_read_by_row_groups(tmp_path, groups):
    path = tmp_path / "file.parquet"
    table = pa.Table.from_batches([BATCH]).select(["number", "text", "flag"])
    with pq.ParquetWriter(path, table.schema) as writer:
        for group in range(groups):
            writer.write_table(table.slice(group * 20, 20))
    for source in (path, str(path), [path]):
        found = pa.table(StreamOnly(bridge.to_arrow_device_stream(source)))
        assert found.schema.equals(table.schema)
        assert found.to_pylist() == table.slice(0, groups * 20).to_pylist()
    if groups:
        assert lengths(bridge.to_arrow_device_stream(path)) == [20] * groups


@pytest.mark.parametrize("source", [42, None, pytest.param(object(), id="object")], ids=repr)
def test_objects_without_batches_are_rejected_at_once(source):
    with pytest.raises(TypeError, match="an object of type"):
        bridge.to_arrow_device_stream(source)


@pytest.mark.parametrize("max_rows", [0, -1])
def test_max_rows_below_1_is_rejected(max_rows):
    with pytest.raises(ValueError, match=f"max_rows: expected at least 1, got {max_rows}$"):
        bridge.to_arrow_device_stream(BATCH, max_rows=max_rows)


def test_requested_schema_with_another_number_of_fields_is_rejected():
    stream = bridge.to_arrow_device_stream(BATCH)
    with pytest.raises(ValueError, match="expected a requested schema of 5 fields, got 1"):
        stream.__arrow_c_device_stream__(pa.schema([("a", pa.int8())]).__arrow_c_schema__())
    with pytest.raises(NotImplementedError, match="later"):
        stream.__arrow_c_device_stream__(later=1)
    assert values_of(stream) == BATCH.to_pylist()


WANTED = pa.schema(
    [
        pa.field("n", pa.int32(), metadata={"k": "v"}),
        pa.field("text", pa.large_string()),
        pa.field("flag", pa.bool_()),
        pa.field("list", pa.large_list(pa.field("item", pa.int64()))),
        pa.field("category", pa.string()),
    ]
)
#: Sources of the same rows.
ORIGINS = {
    "frame": lambda: bridge.from_arrow_device(BATCH),
    "generator of frames": lambda: (bridge.from_arrow_device(half) for half in HALVES),
    "generator of batches": lambda: iter(HALVES),
    "arrays": lambda: [bridge.to_arrow_device(half) for half in HALVES],
    "stream": lambda: pa.table(pa.Table.from_batches(HALVES)),
}


@pytest.mark.parametrize("max_rows", [None, 9])
@pytest.mark.parametrize("origin", ORIGINS)
def test_requested_schema_applies_to_all_batches(origin, max_rows):
    stream = bridge.to_arrow_device_stream(ORIGINS[origin](), max_rows=max_rows)
    found = pa.RecordBatchReader.from_stream(StreamOnly(stream), schema=WANTED).read_all()
    found.validate(full=True)
    assert [field.type for field in found.schema] == [field.type for field in WANTED]
    assert found.schema.names == WANTED.names
    assert found.schema.field("n").metadata == {b"k": b"v"}
    assert found.to_pylist() == BATCH.rename_columns(WANTED.names).to_pylist()


def test_requested_schema_after_the_first_export_is_ignored():
    for look in (lambda stream: stream.schema, lambda stream: stream.device_type):
        stream = bridge.to_arrow_device_stream(iter(HALVES))
        look(stream)
        capsule = stream.__arrow_c_stream__(WANTED.__arrow_c_schema__())
        schema = pa.RecordBatchReader._import_from_c_capsule(capsule).schema
        assert schema.field("text").type == pa.string()


def test_batch_that_contradicts_the_requested_schema_is_an_error():
    batches = [pa.record_batch({"x": [1, 2]}), pa.record_batch({"x": [1, None]})]
    stream = bridge.to_arrow_device_stream(iter(batches))
    wanted = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    reader = pa.RecordBatchReader._import_from_c_capsule(
        stream.__arrow_c_stream__(wanted.__arrow_c_schema__())
    )
    assert not reader.schema.field("x").nullable
    assert reader.read_next_batch().to_pydict() == {"x": [1, 2]}
    with pytest.raises(ValueError, match="'x'"):
        reader.read_next_batch()


@pytest.mark.parametrize("protocol", ["__arrow_c_stream__", "__arrow_c_device_stream__"])
def test_get_next_after_the_end_returns_the_end_again(protocol):
    stream = bridge.to_arrow_device_stream(bridge.from_arrow_device(BATCH), max_rows=40)
    consumer = Consumer(getattr(stream, protocol)())
    assert [consumer.rows() for _ in range(5)] == [40, 30, None, None, None]
    assert consumer.error() is None
    code, schema = consumer.schema()
    assert (code, schema.names) == (0, BATCH.schema.names)
    consumer.release()


@pytest.mark.parametrize("groups", [0, 1])
def test_file_without_rows_keeps_its_columns(tmp_path, groups):
    path = tmp_path / "empty.parquet"
    with pq.ParquetWriter(path, BATCH.schema) as writer:
        for _ in range(groups):
            writer.write_table(pa.Table.from_batches([BATCH.slice(0, 0)]))
    assert pq.read_metadata(path).num_row_groups == groups
    found = pa.table(StreamOnly(bridge.to_arrow_device_stream(path)))
    assert (found.num_rows, found.column_names) == (0, BATCH.schema.names)


def test_batch_of_a_stream_can_be_exported_with_a_requested_schema():
    frame = bridge.from_arrow_device(BATCH)
    wanted = BATCH.schema.set(1, pa.field("text", pa.large_string()))
    for batch in bridge.to_arrow_device_stream(frame, max_rows=40):
        exported = bridge.to_arrow_device(batch, requested_schema=wanted)
        assert exported.schema.field("text").type == pa.large_string()
        found = pa.record_batch(exported)
        found.validate(full=True)
        assert found.column("text").to_pylist() == pa.record_batch(batch).column("text").to_pylist()
        index = bridge.from_arrow_device(exported).index
        assert index.equals(bridge.from_arrow_device(batch).index)
        with pytest.raises(ValueError, match="expected a requested schema of 5 fields, got 1"):
            bridge.to_arrow_device(batch, requested_schema=pa.schema([("a", pa.int8())]))


def test_options_apply_to_arrays_that_were_exported_before():
    column = to_plc(pa.array([0, 1, 2, None, *range(20)]).slice(3))
    exported = bridge.to_arrow_device(column)
    assert exported._array.offset == 3
    assert bridge.to_arrow_device(exported, compact=True)._array.offset == 0
    (batch,) = bridge.to_arrow_device_stream(exported, compact=True)
    assert batch._array.offset == 0
    assert pa.array(batch).to_pylist() == [None, *range(20)]


@pytest.mark.parametrize("type_", [pa.float16(), pa.string_view(), pa.int64()], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_batches_of_any_size_have_one_schema_with_max_rows(type_, seed):
    choose = random.Random(seed)
    sizes = [choose.choice([0, 1, 63, 512, 700, 2000]) for _ in range(6)]
    batches = [
        pa.record_batch([pa.array(range(size)).cast(pa.float16()).cast(type_)], ["x"])
        if type_ == pa.float16()
        else pa.record_batch([pa.array(range(size)).cast(pa.string()).cast(type_)], ["x"])
        for size in sizes
    ]
    expected = pa.Table.from_batches(batches)
    message = pa.BufferOutputStream()
    with pa.ipc.new_stream(message, expected.schema) as writer:
        writer.write_table(expected)
    arrays = list(bridge.ipc.open_stream(message.getvalue()))
    stream = bridge.to_arrow_device_stream(arrays, max_rows=512)
    found = pa.table(stream)
    assert found.schema.equals(pa.schema(stream.schema))
    assert found.to_pydict() == expected.to_pydict()
    for write, read in (
        (bridge.ipc.write_stream, pa.ipc.open_stream),
        (bridge.ipc.write_file, pa.ipc.open_file),
    ):
        sink = io.BytesIO()
        write(arrays, sink, max_rows=512)
        assert read(sink.getvalue()).read_all().to_pydict() == expected.to_pydict()
