# SPDX-License-Identifier: Apache-2.0
"""Frames that cuDF spills, and writes to frames that others read, on device memory."""

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


def test_what_is_lent_is_not_spilled(manager):
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


def test_what_was_spilled_is_lent(manager):
    frame = own_frame()
    assert everything(manager) > 0
    exported = bridge.to_arrow_device(frame)
    assert exported.device_type == bridge.DeviceType.CUDA
    assert everything(manager) == 0
    assert pa.array(exported.to_host()).to_pylist() == BATCH.to_pylist()


def test_what_is_borrowed_is_not_spilled(manager):
    exported = bridge.to_arrow_device(own_frame())
    imported = bridge.from_arrow_device(exported)
    addresses = [buffer.address for buffer in exported.buffers()]
    del exported
    assert everything(manager) == 0
    assert not any(owner.spillable or owner.exposed for owner in owners(imported))
    again = bridge.to_arrow_device(imported)
    assert [buffer.address for buffer in again.buffers()] == addresses
    # Shallow copies stay shallow, and what cuDF computes is cuDF's to spill.
    assert owners(imported.copy(deep=False)) == owners(imported)
    computed = imported["0"] + 1
    assert everything(manager) > 0
    assert computed.to_arrow().to_pylist() == [row + 1 for row in ROWS]


def test_an_import_survives_pickling(manager):
    import pickle

    imported = bridge.from_arrow_device(BATCH)
    again = pickle.loads(pickle.dumps(imported))
    assert frame_rows(again) == frame_rows(imported) == BATCH.to_pylist()


def write(frame):
    """Overwrite a column in place, as far as cuDF does that."""
    frame.iloc[0:3, 0] = -1


WRITTEN = [-1, -1, -1, *ROWS[3:]]


@pytest.mark.parametrize("spilling", [False, True])
def test_writes_leave_what_was_lent_as_it_was(spilling, request):
    if spilling:
        request.getfixturevalue("manager")
    frame = own_frame()
    exported = bridge.to_arrow_device(frame)
    write(frame)
    assert frame["0"].to_arrow().to_pylist() == WRITTEN
    assert pa.array(exported.to_host()).to_pylist() == BATCH.to_pylist()


@pytest.mark.parametrize("spilling", [False, True])
def test_writes_leave_what_was_borrowed_as_it_was(spilling, request):
    if spilling:
        request.getfixturevalue("manager")
    producer = own_frame()
    imported = bridge.from_arrow_device(bridge.to_arrow_device(producer))
    write(imported)
    assert imported["0"].to_arrow().to_pylist() == WRITTEN
    assert producer["0"].to_arrow().to_pylist() == ROWS


def test_two_imports_of_one_array_are_written_apart():
    exported = bridge.to_arrow_device(own_frame())
    one, other = bridge.from_arrow_device(exported), bridge.from_arrow_device(exported)
    write(one)
    assert one["0"].to_arrow().to_pylist() == WRITTEN
    assert other["0"].to_arrow().to_pylist() == ROWS
