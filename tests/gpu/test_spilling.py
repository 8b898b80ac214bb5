# SPDX-License-Identifier: Apache-2.0
"""Spilling of exported and imported frames in device memory, and writes to shared frames."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from testing.device import GPU, frame_rows
from testing.spilling import locks, owners, turn_on

pytestmark = GPU

ROWS = list(range(10_000))
BATCH = pa.record_batch({"0": ROWS, "1": [None if i % 7 == 0 else f"text {i}" for i in ROWS]})


@pytest.fixture
def manager(monkeypatch):
    """A spill manager like that of `CUDF_SPILL=on`."""
    return turn_on(monkeypatch)


def own_frame():
    """A frame in cuDF's own memory."""
    import cudf

    return cudf.DataFrame.from_arrow(pa.Table.from_batches([BATCH]))


def everything(manager):
    return manager.spill_device_memory(1 << 62)


def test_exported_frame_is_not_spilled_before_the_release(manager):
    frame = own_frame()
    exported = bridge.to_arrow_device(frame)
    assert len(locks(frame)) == 1
    assert everything(manager) == 0
    assert pa.array(exported.to_host()).to_pylist() == BATCH.to_pylist()
    assert not any(owner.exposed for owner in owners(frame))
    exported.release()
    del exported
    gc.collect()
    assert everything(manager) > 0
    assert all(owner.is_spilled for owner in owners(frame))


def test_copied_export_does_not_prevent_spilling(manager):
    frame = own_frame()
    copied = bridge.to_arrow_device(frame, copy=True)
    bridge.drain_releases()
    assert everything(manager) > 0
    assert all(owner.is_spilled for owner in owners(frame))
    assert pa.array(copied.to_host()).to_pylist() == BATCH.to_pylist()


def test_export_of_a_spilled_frame_is_in_device_memory(manager):
    frame = own_frame()
    assert everything(manager) > 0
    exported = bridge.to_arrow_device(frame)
    assert exported.device_type == bridge.DeviceType.CUDA
    assert everything(manager) == 0
    assert pa.array(exported.to_host()).to_pylist() == BATCH.to_pylist()


def test_imported_frame_is_not_spilled(manager):
    exported = bridge.to_arrow_device(own_frame())
    imported = bridge.from_arrow_device(exported)
    addresses = [buffer.address for buffer in exported.buffers()]
    del exported
    assert everything(manager) == 0
    assert not any(owner.spillable or owner.exposed for owner in owners(imported))
    again = bridge.to_arrow_device(imported)
    assert [buffer.address for buffer in again.buffers()] == addresses
    # Shallow copies share the memory. cuDF may spill the results that it computes.
    assert owners(imported.copy(deep=False)) == owners(imported)
    computed = imported["0"] + 1
    assert everything(manager) > 0
    assert computed.to_arrow().to_pylist() == [row + 1 for row in ROWS]


def test_uploaded_frame_can_be_spilled(manager):
    imported = bridge.from_arrow_device(BATCH)
    assert everything(manager) > 0
    assert all(owner.is_spilled for owner in owners(imported))
    assert frame_rows(imported) == BATCH.to_pylist()


def test_exported_range_index_is_not_spilled(manager):
    import cudf

    exported = bridge.to_arrow_device(cudf.RangeIndex(len(ROWS)))
    assert everything(manager) == 0
    assert pa.array(exported.to_host()).to_pylist() == ROWS


def test_imported_frame_can_be_pickled(manager):
    import pickle

    imported = bridge.from_arrow_device(BATCH)
    again = pickle.loads(pickle.dumps(imported))
    assert frame_rows(again) == frame_rows(imported) == BATCH.to_pylist()


def write(frame):
    """Overwrite rows of a column, in place where cuDF does that."""
    frame.iloc[0:3, 0] = -1


WRITTEN = [-1, -1, -1, *ROWS[3:]]


@pytest.mark.parametrize("spilling", [False, True])
def test_write_to_an_exported_frame_does_not_change_the_export(spilling, request):
    if spilling:
        request.getfixturevalue("manager")
    frame = own_frame()
    exported = bridge.to_arrow_device(frame)
    write(frame)
    assert frame["0"].to_arrow().to_pylist() == WRITTEN
    assert pa.array(exported.to_host()).to_pylist() == BATCH.to_pylist()


@pytest.mark.parametrize("spilling", [False, True])
def test_write_to_an_imported_frame_does_not_change_the_producer(spilling, request):
    if spilling:
        request.getfixturevalue("manager")
    producer = own_frame()
    imported = bridge.from_arrow_device(bridge.to_arrow_device(producer))
    write(imported)
    assert imported["0"].to_arrow().to_pylist() == WRITTEN
    assert producer["0"].to_arrow().to_pylist() == ROWS


def test_write_to_an_import_does_not_change_another_import():
    exported = bridge.to_arrow_device(own_frame())
    one, other = bridge.from_arrow_device(exported), bridge.from_arrow_device(exported)
    write(one)
    assert one["0"].to_arrow().to_pylist() == WRITTEN
    assert other["0"].to_arrow().to_pylist() == ROWS


def test_write_through_the_array_interface_changes_the_export():
    """docs/ownership.md warns about it."""
    import cupy

    frame = own_frame()
    exported = bridge.to_arrow_device(frame)
    cupy.array(frame["0"])[:] = -1
    assert exported["0"].to_pylist() == ROWS
    cupy.asarray(frame["0"])[:3] = -1
    assert exported["0"].to_pylist() == WRITTEN
