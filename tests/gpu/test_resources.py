# SPDX-License-Identifier: Apache-2.0
"""Device type, contents and stream order of memory of each rmm resource."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.device import (
    GPU,
    ROWS,
    Address,
    as_cupy,
    expect_values,
    on_device,
    pylibcudf_rows,
    read_target,
    rows,
    side_stream,
    sliced,
    unnamed,
    zeros,
)
from testing.peers.arrays import DeviceOnly, HostOnly, column_from, struct_of

pytestmark = GPU

TYPES = [pa.int64(), pa.bool_(), pa.string(), *samples.NESTED]


def test_export_reports_the_device_type_of_the_memory(resource):
    """libcudf 26.10 reports all memory as CUDA memory of the current device."""
    import cupy

    column = on_device(pa.array([1, None, 3]))
    exported = cab.to_arrow_device(column)
    assert exported.device_type.name == resource[1]
    _, capsule = exported.__arrow_c_device_array__()
    struct = struct_of(capsule)
    assert struct.device_type == exported.device_type
    assert struct.device_id == exported.device_id == cupy.cuda.Device().id
    assert struct.sync_event
    assert list(struct.reserved) == [0, 0, 0]
    as_cuda = cab.to_arrow_device(column, device_type="cuda")
    assert as_cuda.device_type.name == resource[1].removesuffix("_MANAGED")


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_slices_in_memory_of_each_resource_round_trip(resource, type_):
    array = samples.values(type_, samples.MANY, "some")
    column = on_device(array)
    for offset, size in [(0, samples.MANY), (9, 65), (33, 0)]:
        exported = cab.to_arrow_device(sliced(column, offset, size))
        expected = unnamed(array.slice(offset, size).to_pylist())
        assert unnamed(rows(exported)) == expected
        assert pylibcudf_rows(column_from(exported)) == expected


def test_conversions_are_allocated_from_the_given_resource(resource):
    import rmm.mr

    packed, unpacked = (rmm.mr.StatisticsResourceAdaptor(resource[0]) for _ in range(2))
    exported = cab.to_arrow_device(on_device(pa.array([True, False])), mr=packed)
    assert packed.allocation_counts.current_bytes >= 1
    assert rows(exported) == [True, False]
    column = column_from(exported, mr=unpacked)
    assert unpacked.allocation_counts.current_bytes >= 2
    del column


def test_upload_of_small_columns_allocates_one_block_until_the_last_is_freed(counted):
    batch = pa.record_batch({str(i): pa.array([i, None, 3]) for i in range(100)})
    before = counted.allocation_counts
    table = cab.from_arrow_device(batch, to="pylibcudf")
    after = counted.allocation_counts
    assert after.total_count - before.total_count == 1
    last = table.columns()[7]
    del table
    assert counted.allocation_counts.current_count == after.current_count
    assert pylibcudf_rows(last) == [7, None, 3]
    del last
    cab.drain_releases()
    assert counted.allocation_counts.current_count == before.current_count


def test_export_of_bools_allocates_temporary_memory_once(counted):
    table = plc.Table([on_device(pa.array([True, None, False])) for _ in range(100)])
    before = counted.allocation_counts.total_count
    exported = cab.to_arrow_device(table)
    assert counted.allocation_counts.total_count - before == len(table.columns()) + 1
    assert exported.num_rows == 3


def test_import_of_strings_with_nulls_allocates_temporary_memory_once(counted):
    """libcudf allocates temporary memory as well when it counts the nulls of all columns."""
    strings = pa.array(["a", None, "bc"])
    exported = cab.to_arrow_device(plc.Table([on_device(strings) for _ in range(100)]))
    before = counted.allocation_counts.total_count
    imported = cab.from_arrow_device(DeviceOnly(exported), to="pylibcudf")
    assert counted.allocation_counts.total_count - before <= 6
    assert pylibcudf_rows(imported.columns()[0]) == strings.to_pylist()


def test_export_and_import_do_not_wait_for_a_slow_producer(resource, late):
    producer, consumer, found = side_stream(), side_stream(), read_target()
    exported = cab.to_arrow_device(late.column(producer, resource[0]), stream=producer)
    column = column_from(exported, stream=consumer)
    late.copy(as_cupy(column.data()), found, consumer, cycles=0)
    assert not producer.done
    assert not consumer.done
    expect_values(found, consumer)


def test_host_protocol_waits_for_the_data(resource, late):
    """The host protocol has no event for consumers, so that the values must be complete."""
    producer = side_stream()
    exported = cab.to_arrow_device(late.column(producer, resource[0]), stream=producer)
    assert pa.array(HostOnly(exported)).to_pylist() == list(range(ROWS))


def test_freed_memory_is_not_reused_before_the_reader_is_done(resource, late):
    """The reader still runs when the resource could reuse the memory."""
    import rmm

    reader, found = side_stream(), read_target()
    buffer = zeros(resource[0])
    as_cupy(buffer)[:] = late.values
    address = buffer.ptr
    int32 = plc.DataType(plc.TypeId.INT32)
    exported = cab.to_arrow_device(plc.Column.from_rmm_buffer(buffer, int32, ROWS, []))
    column = column_from(exported, stream=reader)
    del buffer, exported
    source = Address(column.data().ptr)
    assert source.ptr == address
    late.copy(as_cupy(source), found, reader)
    del column
    assert not reader.done
    # Memory that is freed too early would be reused on the stream that allocated it.
    others = [rmm.DeviceBuffer(size=4 * ROWS, mr=resource[0]) for _ in range(4)]
    for other in others:
        as_cupy(other).fill(-2)
    # Some resources wait for the device before they allocate.
    assert reader.done or address not in [other.ptr for other in others]
    expect_values(found, reader)
