# SPDX-License-Identifier: Apache-2.0
"""Queries of cudf-polars over data on a GPU, whose results stay there."""

from __future__ import annotations

import gc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from testing.device import (
    GPU,
    ROWS,
    Address,
    as_cupy,
    expect_values,
    read_target,
    side_stream,
    zeros,
)

pl = pytest.importorskip("polars")
pytest.importorskip("cudf_polars")

pytestmark = GPU

TABLE = pa.table({"key": ["x", "y", "x"], "value": [1, 2, 3]})
ENGINES = {"default": "gpu", "in memory": pl.GPUEngine(executor="in-memory", raise_on_fail=True)}


@pytest.fixture(params=ENGINES.values(), ids=ENGINES)
def engine(request):
    return request.param


def address_of(array, name):
    return array[name].buffers()[-1].address


def test_result_of_a_query_stays_on_the_gpu(engine):
    # The in-memory executor allocates managed memory.
    array = cab.polars.collect(
        pl.LazyFrame({"a": [1, 2, 3]}).filter(pl.col("a") > 1), engine=engine, device_type="cuda"
    )
    assert array.device_type == cab.DeviceType.CUDA
    assert array.to_host().to_pylist() == [{"a": 2}, {"a": 3}]
    frame = cab.from_arrow_device(array)
    assert address_of(cab.to_arrow_device(frame), "a") == address_of(array, "a")


def test_table_chunk_of_cudf_streaming_is_shared():
    cudf_streaming = pytest.importorskip("cudf_streaming")
    import rmm.mr
    from rapidsmpf.memory.buffer_resource import BufferResource
    from rmm.pylibrmm.stream import DEFAULT_STREAM

    table = cab.from_arrow_device(TABLE, to="pylibcudf")
    chunk = cudf_streaming.TableChunk.from_pylibcudf_table(
        table,
        DEFAULT_STREAM,
        exclusive_view=False,
        br=BufferResource(rmm.mr.get_current_device_resource()),
    )
    array = cab.to_arrow_device(chunk.table_view(), stream=chunk.stream)
    address = table.columns()[1].data().ptr
    del table, chunk
    gc.collect()
    assert array.children[1].buffers()[-1].address == address
    assert [column.to_host().to_arrow().to_pylist() for column in array.children] == [
        column.to_pylist() for column in TABLE.columns
    ]


def test_scan_of_a_frame_is_not_copied():
    frame = cab.from_arrow_device(TABLE)
    engine = ENGINES["in memory"]
    array = cab.polars.collect(cab.polars.scan(frame).select("value"), engine=engine)
    assert address_of(array, "value") == address_of(cab.to_arrow_device(frame), "value")


def test_seconds_are_read_at_all_levels(engine):
    at = pa.array([1, None], pa.timestamp("s"))
    spans = pa.array([[1, 2], None], pa.list_(pa.duration("s")))
    pair = pa.array([{"at": 1}, {"at": None}], pa.struct({"at": pa.timestamp("s")}))
    table = pa.table({"at": at, "spans": spans, "pair": pair})
    query = cab.polars.scan(cab.from_arrow_device(table))
    assert query.collect(engine=engine).equals(query.collect())


def test_row_groups_and_host_memory_are_scanned(engine, tmp_path):
    table = pa.table({"a": range(1_000), "b": [str(i) for i in range(1_000)]})
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=300)
    for source in (path, table):
        query = cab.polars.scan(source).filter(pl.col("a") % 3 == 0).sort("a", descending=True)
        assert query.collect(engine=engine).equals(query.collect())


def test_result_is_allocated_by_the_resource_of_the_engine():
    import rmm.mr

    resource = rmm.mr.StatisticsResourceAdaptor(rmm.mr.CudaMemoryResource())
    engine = pl.GPUEngine(executor="in-memory", memory_resource=resource)
    array = cab.polars.collect(pl.LazyFrame({"a": [1, 2, 3]}), engine=engine)
    assert array.device_type == cab.DeviceType.CUDA
    assert resource.allocation_counts.total_count > 0


def test_result_is_freed_after_a_borrower_has_read_it(pool, late):
    """A frame on its own stream is borrowed on another; the next query reuses the memory."""
    import pylibcudf as plc
    import rmm
    from cudf_polars.containers import Column, DataFrame, DataType
    from rmm.pylibrmm.stream import Stream

    side, reader, found, other = side_stream(), side_stream(), read_target(), zeros()
    made_on = Stream(side)
    buffer = rmm.DeviceBuffer(size=4 * ROWS, stream=made_on, mr=pool)
    late.copy(late.values, as_cupy(buffer), side, cycles=0)
    side.synchronize()
    address = buffer.ptr
    int32 = DataType(pl.Int32())
    column = plc.Column.from_rmm_buffer(buffer, int32.plc_type, ROWS, [])
    array = cab.to_arrow_device(DataFrame([Column(column, int32, name="a")], made_on))
    del buffer, column
    with array.borrow(stream=reader):
        late.copy(as_cupy(Address(address)), found, reader)
    del array
    reused = [rmm.DeviceBuffer(size=4 * ROWS, stream=made_on, mr=pool) for _ in range(4)]
    assert address in [each.ptr for each in reused]
    for each in reused:
        late.copy(as_cupy(other), as_cupy(each), side, cycles=0)
    assert not reader.done
    expect_values(found, reader)
