# SPDX-License-Identifier: Apache-2.0
"""Streams of batches in device memory, also of files."""

from __future__ import annotations

import gc

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cli.file_round_trip import run_stages
from testing.device import (
    GPU,
    ROWS,
    as_cupy,
    frame_rows,
    on_device,
    read_target,
    rows,
    side_stream,
    synchronize,
    wait_until,
)
from testing.peers.streams import DeviceStreamOnly, StreamOnly

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
def test_stream_splits_a_frame_and_imports_join_the_batches(max_rows):
    frame = cab.from_arrow_device(BATCH)
    stream = cab.to_arrow_device_stream(frame, max_rows=max_rows)
    assert stream.device_type == cab.DeviceType.CUDA
    assert pa.table(stream).to_pylist() == BATCH.to_pylist()
    found = cab.from_arrow_device_stream(DeviceStreamOnly(stream))
    assert frame_rows(found) == BATCH.to_pylist()
    exported = cab.to_arrow_device(DeviceStreamOnly(cab.to_arrow_device_stream(found, max_rows=8)))
    assert exported.device_type == cab.DeviceType.CUDA
    assert exported.schema.names == BATCH.schema.names
    assert rows(exported) == BATCH.to_pylist()


def test_joined_batches_keep_the_order_of_categories():
    parts = [["b", "a", None], ["c", "a"], ["b", "c"]]
    chunks = pa.chunked_array([pa.array(part).dictionary_encode() for part in parts])
    found = cab.from_arrow_device_stream(StreamOnly(chunks))
    assert found.cat.categories.to_arrow().to_pylist() == ["b", "a", "c"]
    assert frame_rows(found) == [value for part in parts for value in part]


def test_every_batch_waits_for_its_own_event(late):
    producer, consumer = side_stream(), side_stream()
    targets = [read_target() for _ in range(3)]

    tables = (plc.Table([column]) for column in late.columns(len(targets), producer))
    stream = cab.to_arrow_device_stream(tables, stream=producer)
    found = cab.from_arrow_device_stream(
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
    stream = cab.to_arrow_device_stream(tables, stream=producer)
    found = cab.from_arrow_device_stream(stream, stream=consumer, to="pylibcudf")
    consumer.synchronize()
    assert as_cupy(found.columns()[0].data()).get().tolist() == [*range(ROWS)] * 2


def test_memory_is_constant_over_ten_thousand_batches(counted):
    """rmm counts the memory, because other processes may use the same GPU."""
    # Bools are converted both ways: each batch allocates.
    column = on_device(pa.array([i % 3 == 0 for i in range(400_000)]))
    stream = cab.to_arrow_device_stream(plc.Table([column]), max_rows=40)

    def in_use():
        return counted.allocation_counts.current_bytes

    held, looks = in_use(), 0
    for index, _table in enumerate(
        cab.from_arrow_device_stream(stream, concat=False, to="pylibcudf")
    ):
        if index % 2000 == 1000:
            gc.collect()
            synchronize()
            looks += 1
            # A few batches may still be in use; a leak of a thousand would be 40 KB and more.
            assert wait_until(lambda: in_use() < held + (1 << 12))
    assert looks == 5


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
    stages = run_stages(batch, {}, max_rows=100)
    assert stages.consumed.to_pydict() == stages.returned.to_pydict() == batch.to_pydict()


FILE = pa.table(
    {
        "number": pa.array([None if i % 7 == 0 else i for i in range(100)], pa.int32()),
        "time": pa.array(range(100), pa.timestamp("us", "Europe/Rome")),
        "text": pa.array([f"text {i}" for i in range(100)]),
        "flag": pa.array([i % 3 == 0 for i in range(100)]),
        "list": pa.array([list(range(i % 4)) for i in range(100)], pa.list_(pa.int64())),
        "price": pa.array(range(100), pa.int64()).cast(pa.decimal128(21, 2)),
    }
)


def read(source, **options):
    batches = list(cab.to_arrow_device_stream(source, **options))
    for batch in batches:
        assert batch.device_type == cab.DeviceType.CUDA
    return [len(batch) for batch in batches], [row for batch in batches for row in rows(batch)]


def test_files_are_read_by_row_groups_with_columns_and_filters(tmp_path):
    for i in range(2):
        pq.write_table(FILE.slice(50 * i, 50), tmp_path / f"{i}.parquet", row_group_size=40)
    assert cab.to_arrow_device_stream(tmp_path).schema.equals(FILE.schema)
    assert read(tmp_path) == ([40, 10, 40, 10], FILE.to_pylist())
    columns = ["text", "number"]
    assert read(tmp_path, columns=columns)[1] == FILE.select(columns).to_pylist()
    condition = pc.field("number") > 90
    _, found = read(tmp_path, columns=columns, filter=condition)
    assert found == FILE.filter(condition).select(columns).to_pylist()


def test_large_row_group_is_read_in_chunks(tmp_path, monkeypatch):
    from cudf_arrow_bridge.export.sources import datasets

    monkeypatch.setattr(datasets, "_CHUNK_BYTES", 1 << 20)
    table = pa.table({"a": pa.array(range(1 << 20))})
    pq.write_table(table, tmp_path / "0.parquet", data_page_size=1 << 16, use_dictionary=False)
    sizes, found = read(tmp_path)
    assert len(sizes) > 1
    assert [row["a"] for row in found] == table["a"].to_pylist()
