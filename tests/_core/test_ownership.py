# SPDX-License-Identifier: Apache-2.0
"""Test which objects keep memory alive, and that each owner is released exactly once."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref

import nanoarrow.device
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.host import spans, to_plc
from testing.owners import STRUCT, watched
from testing.peers.arrays import (
    RELEASE,
    ArrowArray,
    Capsules,
    DeviceOnly,
    HostOnly,
    Producer,
    column_from,
    read,
    struct_of,
)


def test_capsules_outlive_the_device_array_and_its_source():
    column, gone = watched(STRUCT)
    exported = cab.to_arrow_device(column)
    capsules = exported.__arrow_c_device_array__()
    exported.release()
    exported.release()
    del column
    assert exported.is_released
    assert gone() is not None
    back = pa.array(Capsules(*capsules))
    assert [row["1"] for row in back.to_pylist()] == [row["b"] for row in STRUCT.to_pylist()]
    assert gone() is not None
    del back
    assert gone() is None


def test_unused_capsules_release_the_source():
    column, gone = watched(STRUCT)
    exported = cab.to_arrow_device(column)
    capsules = [exported.__arrow_c_device_array__(), exported.__arrow_c_array__()]
    del column, exported
    assert gone() is not None
    del capsules
    assert gone() is None


@pytest.mark.parametrize("child", [0, 1])
@pytest.mark.parametrize("parent_first", [True, False])
def test_moved_child_outlives_the_release_of_its_parent(child, parent_first):
    """In the C data interface, a struct whose content was moved is not released."""
    column, gone = watched(STRUCT)
    exported = cab.to_arrow_device(column)
    schema, capsule = exported.__arrow_c_device_array__()
    field = exported.schema.type.field(child)
    del column, exported, schema
    parent = struct_of(capsule).array
    moved = ArrowArray()
    ctypes.memmove(ctypes.addressof(moved), parent.children[child], ctypes.sizeof(ArrowArray))
    parent.children[child].contents.release = None
    if parent_first:
        RELEASE(parent.release)(ctypes.addressof(parent))
        assert not parent.release
        del capsule
    assert gone() is not None
    array = pa.Array._import_from_c(ctypes.addressof(moved), field.type)
    array.validate(full=True)
    assert array.to_pylist() == [row["ab"[child]] for row in STRUCT.to_pylist()]
    del array
    if not parent_first:
        assert gone() is not None
        del capsule
    assert gone() is None


def test_children_of_a_device_array_keep_the_source():
    column, gone = watched(STRUCT)
    first = cab.to_arrow_device(column).children[0]
    del column
    assert read(first).to_pylist() == list(range(100))
    del first
    assert gone() is None


def test_repeated_exports_leave_reference_counts_unchanged():
    column = to_plc(STRUCT)
    data = column.children()[0].data()
    alone = sys.getrefcount(column)
    exported = cab.to_arrow_device(column)
    before = sys.getrefcount(column), sys.getrefcount(data)
    for _ in range(100):
        capsules = exported.__arrow_c_device_array__()
        assert sys.getrefcount(column) == before[0]
        pa.array(exported)
    del capsules
    assert (sys.getrefcount(column), sys.getrefcount(data)) == before
    del exported
    assert sys.getrefcount(column) == alone


@pytest.mark.parametrize("type_", samples.TYPES, ids=str)
def test_import_is_released_once_when_its_last_buffer_is_freed(type_):
    array = samples.values(type_, samples.MANY, "some")
    addresses = {buffer.address for buffer in array.buffers() if buffer}
    producer = Producer(array)
    column = column_from(producer)
    assert producer.schema_releases == 1
    adopted = [span for span in spans(column) if span.ptr in addresses]
    assert bool(adopted) == (not pa.types.is_null(type_))
    del column
    while adopted:
        gc.collect()
        assert producer.releases == 0
        adopted.pop()
    assert producer.releases == 1


@pytest.mark.parametrize("converted_first", [True, False])
def test_converted_column_of_a_batch_does_not_keep_the_producer(converted_first):
    """Numbers and strings share the producer's memory; bools are converted to new memory."""
    flags = [True, False] * 50  # without a validity bitmap, which would be shared
    arrays = [pa.array(flags), pa.array(range(100)), pa.array(["x"] * 100)]
    producer = Producer(pa.record_batch(arrays, ["flags", "numbers", "words"]))
    converted, *shared = cab.from_arrow_device(producer, to="pylibcudf").columns()
    if converted_first:
        own = weakref.ref(converted.data())
        del converted
        assert own() is None
    while shared:
        assert producer.releases == 0
        shared.pop()
    assert producer.releases == 1
    if not converted_first:
        assert read(cab.to_arrow_device(converted)).to_pylist() == flags


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.exhaustive
@pytest.mark.parametrize("wrap", [DeviceOnly, HostOnly])
def test_repeated_round_trips_leak_no_memory(wrap):
    """In pylibcudf 26.10, private data and schemas leak."""

    def trip():
        batch = pa.RecordBatch.from_struct_array(pa.array(rows))
        exported = cab.to_arrow_device(wrap(batch))
        nanoarrow.device.c_device_array(exported)
        return pa.record_batch(exported).num_rows

    rows = [{"a": i, "b": str(i), "c": [True, None], "d": {"e": None}} for i in range(100)]
    for _ in range(100):
        trip()
    gc.collect()
    allocated = pa.total_allocated_bytes()
    growth = []
    for _ in range(3):
        before = resident()
        for _ in range(2000):
            assert trip() == 100
        gc.collect()
        growth.append(resident() - before)
    assert pa.total_allocated_bytes() == allocated
    # One leaked struct per trip adds a megabyte to each measurement; a new arena of the allocator
    # adds a megabyte to one measurement.
    assert min(growth) < 1_000_000
