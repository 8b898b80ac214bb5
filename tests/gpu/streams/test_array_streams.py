# SPDX-License-Identifier: Apache-2.0
"""Streams of batches in device memory."""

from __future__ import annotations

import gc
from contextlib import nullcontext

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge.cli.file_round_trip import run_stages
from testing.device import (
    GPU,
    ROWS,
    as_cupy,
    frame_rows,
    on_device,
    pylibcudf_rows,
    read_target,
    rows,
    side_stream,
    synchronize,
    wait_until,
)
from testing.peers.arrays import DeviceOnly
from testing.peers.streams import Consumer, DeviceStreamOnly, StreamOnly

pytestmark = GPU

BATCH = pa.record_batch(
    {
        "number": pa.array([None if i % 7 == 0 else i for i in range(70)], pa.int32()),
        "text": pa.array([None if i % 5 == 0 else f"text {i}" for i in range(70)]),
        "flag": pa.array([i % 3 == 0 for i in range(70)]),
        "list": pa.array([list(range(i % 4)) for i in range(70)], pa.list_(pa.int64())),
        "category": pa.array([f"c{i * 7 % 3}" for i in range(70)]).dictionary_encode(),
    }
)


@pytest.mark.parametrize("max_rows", [1, 8, 33, 70, None])
def test_stream_splits_a_frame_and_the_import_joins_the_batches(max_rows):
    frame = bridge.from_arrow_device(BATCH)
    stream = bridge.to_arrow_device_stream(frame, max_rows=max_rows)
    assert stream.device_type == bridge.DeviceType.CUDA
    assert pa.table(stream).to_pylist() == BATCH.to_pylist()
    found = bridge.from_arrow_device_stream(DeviceStreamOnly(stream))
    assert frame_rows(found) == BATCH.to_pylist()


@pytest.mark.parametrize("max_rows", [8, 70])
def test_to_arrow_device_joins_the_batches_of_a_stream(max_rows):
    stream = bridge.to_arrow_device_stream(bridge.from_arrow_device(BATCH), max_rows=max_rows)
    exported = bridge.to_arrow_device(DeviceStreamOnly(stream))
    assert exported.device_type == bridge.DeviceType.CUDA
    assert exported.schema.names == BATCH.schema.names
    assert rows(exported) == BATCH.to_pylist()


def test_pylibcudf_reads_every_batch():
    frame = bridge.from_arrow_device(BATCH.select(["number", "text"]))
    found = []
    for batch in bridge.to_arrow_device_stream(frame, max_rows=9):
        table = plc.Table.from_arrow(DeviceOnly(batch))
        found += zip(*(pylibcudf_rows(column) for column in table.columns()), strict=True)
    assert found == [(row["number"], row["text"]) for row in BATCH.to_pylist()]


def test_joined_batches_keep_the_order_of_categories():
    parts = [["b", "a", None], ["c", "a"], ["b", "c"]]
    chunks = pa.chunked_array([pa.array(part).dictionary_encode() for part in parts])
    found = bridge.from_arrow_device_stream(StreamOnly(chunks))
    assert found.cat.categories.to_arrow().to_pylist() == ["b", "a", "c"]
    assert frame_rows(found) == [value for part in parts for value in part]


def test_dictionary_shared_by_all_batches_is_kept():
    values = pa.array(["z", "a", "never", "m"])
    codes = pa.array([0, 1, None, 3] * 20, pa.int8())
    whole = pa.DictionaryArray.from_arrays(codes, values, ordered=True)
    series = bridge.from_arrow_device(whole)
    found = bridge.from_arrow_device_stream(bridge.to_arrow_device_stream(series, max_rows=7))
    assert found.dtype.ordered
    assert found.cat.categories.to_arrow().to_pylist() == values.to_pylist()
    assert frame_rows(found) == whole.to_pylist()


def test_host_streams_are_uploaded():
    parts = [BATCH.slice(at, 10) for at in range(0, 70, 10)]
    found = bridge.from_arrow_device_stream(StreamOnly(pa.Table.from_batches(parts)))
    assert frame_rows(found) == BATCH.to_pylist()


def test_a_parquet_file_is_read_by_row_groups(tmp_path):
    import pyarrow.parquet as pq

    path = tmp_path / "file.parquet"
    pq.write_table(
        pa.Table.from_batches([BATCH.select(["number", "text"])]), path, row_group_size=20
    )
    batches = list(bridge.to_arrow_device_stream(path))
    assert [len(batch) for batch in batches] == [20, 20, 20, 10]
    assert [row for batch in batches for row in rows(batch)] == BATCH.select(
        ["number", "text"]
    ).to_pylist()


def test_every_batch_waits_for_its_own_event(late):
    producer, consumer = side_stream(), side_stream()
    targets = [read_target() for _ in range(3)]

    tables = (plc.Table([column]) for column in late.columns(len(targets), producer))
    stream = bridge.to_arrow_device_stream(tables, stream=producer)
    found = bridge.from_arrow_device_stream(
        DeviceStreamOnly(stream), stream=consumer, concat=False, to="pylibcudf"
    )
    for target, table in zip(targets, found, strict=True):
        late.copy(as_cupy(table.columns()[0].data()), target, consumer, cycles=0)
    assert not consumer.done
    consumer.synchronize()
    for target in targets:
        assert target.get().tolist() == list(range(ROWS))


def test_batches_are_joined_after_their_events(late):
    producer, consumer = side_stream(), side_stream()
    tables = [plc.Table([column]) for column in late.columns(2, producer)]
    stream = bridge.to_arrow_device_stream(tables, stream=producer)
    found = bridge.from_arrow_device_stream(stream, stream=consumer, to="pylibcudf")
    consumer.synchronize()
    assert as_cupy(found.columns()[0].data()).get().tolist() == [*range(ROWS)] * 2


def test_memory_is_constant_over_ten_thousand_batches(counted):
    """rmm counts the memory, because other processes may use the same GPU."""
    # Bools are converted both ways: each batch allocates.
    column = on_device(pa.array([i % 3 == 0 for i in range(400_000)]))
    stream = bridge.to_arrow_device_stream(plc.Table([column]), max_rows=40)

    def in_use():
        return counted.allocation_counts.current_bytes

    held, looks = in_use(), 0
    for index, _table in enumerate(
        bridge.from_arrow_device_stream(stream, concat=False, to="pylibcudf")
    ):
        if index % 2000 == 1000:
            gc.collect()
            synchronize()
            looks += 1
            # A few batches may still be in use; a leak of a thousand would be 40 KB and more.
            assert wait_until(lambda: in_use() < held + (1 << 12))
    assert looks == 5


def test_stream_can_be_released_before_its_end():
    column = on_device(pa.array(range(1000)))
    stream = bridge.to_arrow_device_stream(plc.Table([column]), max_rows=128)
    consumer = Consumer(stream.__arrow_c_device_stream__())
    assert consumer.struct.device_type == bridge.DeviceType.CUDA
    assert [consumer.rows(), consumer.rows()] == [128, 128]
    consumer.release()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([None if i % 6 == 0 else list(range(i % 4)) for i in range(300)]),
        pa.array([{"a": i, "b": str(i)} for i in range(300)]),
    ],
    ids=["list", "struct"],
)
def test_frames_of_nested_columns_round_trip_in_batches(column):
    """The steps of `cudf-arrow-bridge roundtrip --max-rows`."""
    batch = pa.record_batch({"a": column})
    stages = run_stages(batch, lambda _: nullcontext(), max_rows=100)
    assert stages.consumed.to_pydict() == stages.returned.to_pydict() == batch.to_pydict()
