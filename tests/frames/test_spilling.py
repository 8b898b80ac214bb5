# SPDX-License-Identifier: Apache-2.0
"""Spilling by cuDF: memory of exports and of producers is locked against it."""

from __future__ import annotations

import gc
import threading

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.frames import frame_to_columns
from testing.host_frames import column, frame, index, multi, numbers, series
from testing.owners import Counted
from testing.peers.arrays import SchemaOnly
from testing.spilling import HostBuffer, copy_to_host, locks, owners, turn_on

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

ROWS = list(range(100))


@pytest.fixture
def manager(monkeypatch):
    """Return a spill manager like that of `CUDF_SPILL=on`."""
    return turn_on(monkeypatch)


@pytest.fixture
def moving(manager, monkeypatch):
    """Let the manager move memory. Without a GPU, all of it is host memory."""
    import rmm

    monkeypatch.setattr(rmm.pylibrmm.device_buffer, "copy_ptr_to_host", copy_to_host)
    monkeypatch.setattr(rmm, "DeviceBuffer", HostBuffer)
    return manager


def text():
    return column(pa.array(["a", None, "ccc"]), pd.StringDtype(na_value=np.nan))


def category():
    return column(pa.array([0, 1, None], pa.uint8()), cudf.CategoricalDtype(text_values()))


def text_values():
    return column(pa.array(["x", "y"]), pd.StringDtype(na_value=np.nan))


def lists():
    return column(pa.array([[1], None, [2, 3]]), cudf.ListDtype("int64"))


OBJECTS = {
    "frame": lambda: frame({"a": numbers(), "b": text(), "c": lists()}),
    "series": lambda: series(text(), "s"),
    "category": lambda: series(category(), "s"),
    "index": lambda: index(numbers()),
    "multi": lambda: multi([numbers(), text()], ["x", "y"]),
    "indexed": lambda: frame({"a": numbers()}, index=index(numbers())),
}


@pytest.fixture(params=OBJECTS)
def obj(request, manager):
    return OBJECTS[request.param]()


WAYS = {
    "array": cab.to_arrow_device,
    "stream": lambda obj: list(cab.to_arrow_device_stream(obj, max_rows=2)),
    "with its index": lambda obj: cab.to_arrow_device(obj, preserve_index=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_export_prevents_spilling_until_it_is_deleted(obj, way):
    assert all(owner.spillable for owner in owners(obj))
    exported = WAYS[way](obj)
    assert not any(owner.spillable for owner in owners(obj))
    assert not any(owner.exposed for owner in owners(obj))
    del exported
    gc.collect()
    assert all(owner.spillable for owner in owners(obj))


def test_copy_does_not_prevent_spilling(obj):
    copied = cab.to_arrow_device(obj, copy=True)
    gc.collect()
    assert all(owner.spillable for owner in owners(obj))
    copied.release()


def test_each_export_has_one_spill_lock(obj):
    first = cab.to_arrow_device(obj)
    assert len(locks(obj)) == 1
    second = cab.to_arrow_device(obj)
    assert len(locks(obj)) == 2
    first.release()
    gc.collect()
    assert len(locks(obj)) == 1
    second.release()


def test_spill_lock_lasts_until_the_last_consumer_is_deleted(manager):
    whole = frame({"a": numbers(), "b": text()})
    memory = owners(whole)
    read = pa.record_batch(cab.to_arrow_device(whole)).column(1)
    del whole
    gc.collect()
    assert not any(owner.spillable for owner in memory)
    held = [read]
    del read
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert all(owner.spillable for owner in memory)
    memory.clear()


def test_export_takes_its_own_lock_if_another_thread_holds_one(moving):
    made = series(column(pa.array(ROWS), np.dtype("int64")))
    (memory,) = owners(made)
    inside, leave = threading.Event(), threading.Event()

    def compute():
        with made._column.access(mode="read", scope="internal"):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=compute)
    thread.start()
    inside.wait()
    exported = cab.to_arrow_device(made)
    leave.set()
    thread.join()
    assert not memory.spillable
    assert moving.spill_device_memory(1) == 0
    assert pa.array(exported).to_pylist() == ROWS


def test_export_unspills_spilled_memory(moving):
    made = series(column(pa.array(ROWS), np.dtype("int64")))
    (memory,) = owners(made)
    assert moving.spill_device_memory(1) == memory.size
    assert memory.is_spilled
    exported = cab.to_arrow_device(made)
    assert not memory.is_spilled
    assert exported.buffers()[-1].address == memory._ptr
    assert moving.spill_device_memory(1) == 0
    assert pa.array(exported).to_pylist() == ROWS
    assert not memory.exposed


SCHEMAS = {
    "accessor": lambda obj: obj.arrow_device.schema,
    "capsule": lambda obj: pa.field(SchemaOnly(obj.arrow_device)),
    "stream": lambda obj: cab.to_arrow_device_stream([obj], max_rows=2).schema,
    "dropped index": lambda obj: cab.to_arrow_device_stream(obj, preserve_index=False).schema,
}


@pytest.mark.parametrize("read_schema", SCHEMAS.values(), ids=SCHEMAS)
def test_reading_the_schema_unspills_no_memory(obj, moving, read_schema):
    preserve_index = False if read_schema is SCHEMAS["dropped index"] else None
    exported = cab.to_arrow_device(obj, preserve_index=preserve_index)
    expected = exported.schema
    if read_schema is SCHEMAS["capsule"]:
        expected = pa.field(SchemaOnly(exported))
    exported.release()
    del exported
    gc.collect()
    memory = owners(obj)
    moving.spill_device_memory(10**9)
    assert all(owner.is_spilled for owner in memory)
    assert read_schema(obj).equals(expected, check_metadata=True)
    assert all(owner.is_spilled and owner.spillable for owner in memory)


def adopted():
    """Return imports whose memory is the producer's."""
    texts = pa.array(["x", "y", "x"]).dictionary_encode()
    batch = pa.record_batch({"a": [1, None, 3], "b": ["x", None, ""], "c": [[1], [2], None]})
    return [
        cab.from_arrow_device(batch),
        cab.from_arrow_device(texts),
        cab.from_dlpack(np.arange(6.0)),
        cab.from_arrow_device(cab.to_arrow_device(frame({"a": numbers()}))),
    ]


def test_imported_memory_is_unknown_to_the_spill_manager(manager):
    for imported in adopted():
        assert not any(owner.spillable or owner.exposed for owner in owners(imported))
    known = manager.buffers()
    assert not {owner for imported in adopted() for owner in owners(imported)} & set(known)


BOOLS = pa.array([True, None, False])
NUMBERS = pa.array([1, None, 3])


#: Imports of which all memory is allocated by the import.
ALLOCATED = {
    "bools": lambda mr: cab.from_arrow_device(BOOLS.slice(1), mr=mr, copy=True),
    "halves": lambda mr: cab.from_arrow_device(pa.array([0.5, 1], pa.float16()), mr=mr),
    "copy": lambda mr: cab.from_arrow_device(
        pa.record_batch({"a": NUMBERS, "b": ["x", None, "yy"]}), mr=mr, copy=True
    ),
    "tensor": lambda mr: cab.from_dlpack(np.arange(6.0), mr=mr, copy=True),
    "list": lambda mr: cab.from_arrow_device(
        pa.array([[True], [False, True]], pa.large_list(pa.bool_())), mr=mr
    ),
}


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("make", ALLOCATED.values(), ids=ALLOCATED)
def test_memory_that_an_import_allocates_can_be_spilled(moving, make, resource):
    counted = Counted()
    imported = make(counted.resource if resource else None)
    expected = cab.to_arrow_device(imported).to_pylist()
    memory = owners(imported)
    assert all(owner.spillable for owner in memory)
    assert set(moving.buffers()) == set(memory)
    assert bool(counted.in_use) == resource
    moving.spill_device_memory(10**9)
    assert all(owner.is_spilled for owner in memory)
    assert not counted.in_use
    assert cab.to_arrow_device(imported).to_pylist() == expected


def test_only_allocated_levels_of_an_import_can_be_spilled(manager):
    imported = cab.from_arrow_device(pa.record_batch({"a": NUMBERS, "b": BOOLS}))
    spillable = {owner.size for owner in owners(imported) if owner.spillable}
    assert spillable == {3}, "the bytes of the bools"


def test_written_range_index_cannot_be_spilled(moving, monkeypatch):
    def on_device(values, dtype, location):
        made = np.arange(values.start, values.stop, values.step, dtype)
        span = HostBuffer(made.ctypes.data, made.nbytes)
        return plc.Column(plc.DataType(plc.TypeId.INT64), len(values), span, None, 0, 0, [])

    def share_later(*arguments):
        # The sequence may not have run on the stream of the export yet.
        assert moving.spill_device_memory(10**9) == 0
        return share_columns(*arguments)

    share_columns = frame_to_columns.share_columns
    monkeypatch.setattr(frame_to_columns.convert, "sequence", on_device)
    monkeypatch.setattr(frame_to_columns, "share_columns", share_later)
    exported = cab.to_arrow_device(cudf.RangeIndex(2, 8, 3))
    assert exported.to_pylist() == [2, 5]


def test_export_during_a_write_locks_the_memory_that_it_reads(moving):
    made = series(column(pa.array(ROWS), np.dtype("int64")))
    (memory,) = owners(made)
    with made._column.data.access(mode="write", scope="internal"):
        exported = cab.to_arrow_device(made)
    assert owners(made) == [memory]
    assert exported.buffers()[-1].address == memory._ptr
    assert not memory.spillable


def test_memoryview_for_pickling_does_not_move_imported_memory(moving):
    imported = cab.from_arrow_device(pa.array(ROWS))
    (memory,) = owners(imported)
    address = memory.ptr
    assert np.frombuffer(memory.memoryview(), "int64").tolist() == ROWS
    assert (memory.ptr, memory.is_spilled) == (address, False)


def test_deep_copy_of_an_imported_buffer_is_spillable(moving):
    imported = cab.from_arrow_device(pa.array(ROWS))
    copied = imported._column.data.copy(deep=True)
    assert copied.owner.spillable
    assert moving.buffers() == (copied.owner,)


def test_write_to_an_import_does_not_change_the_producer(moving):
    array = pa.array(ROWS)
    imported = cab.from_arrow_device(array)
    buffer = imported._column.data
    with buffer.access(mode="write", scope="internal"):
        np.frombuffer((np.ctypeslib.ctypes.c_char * 800).from_address(buffer.ptr), "int64")[:] = 0
    assert array.to_pylist() == ROWS
    assert pa.array(cab.to_arrow_device(imported)).to_pylist() == [0] * 100
    assert moving.buffers() == (buffer.owner,)
