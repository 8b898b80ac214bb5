# SPDX-License-Identifier: Apache-2.0
"""Spilling of exported and imported frames in device memory, and writes to shared frames."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
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
    exported = cab.to_arrow_device(frame)
    assert len(locks(frame)) == 1
    assert everything(manager) == 0
    assert pa.array(exported.to_host()).to_pylist() == BATCH.to_pylist()
    assert not any(owner.exposed for owner in owners(frame))
    exported.release()
    del exported
    gc.collect()
    assert everything(manager) > 0
    assert all(owner.is_spilled for owner in owners(frame))


def test_imported_frame_is_not_spilled(manager):
    exported = cab.to_arrow_device(own_frame())
    imported = cab.from_arrow_device(exported)
    addresses = [buffer.address for buffer in exported.buffers()]
    del exported
    assert everything(manager) == 0
    assert not any(owner.spillable or owner.exposed for owner in owners(imported))
    again = cab.to_arrow_device(imported)
    assert [buffer.address for buffer in again.buffers()] == addresses
    # Shallow copies share the memory. cuDF may spill the results that it computes.
    assert owners(imported.copy(deep=False)) == owners(imported)
    computed = imported["0"] + 1
    assert everything(manager) > 0
    assert computed.to_arrow().to_pylist() == [row + 1 for row in ROWS]


def test_uploaded_frame_can_be_spilled(manager):
    imported = cab.from_arrow_device(BATCH)
    assert everything(manager) > 0
    assert all(owner.is_spilled for owner in owners(imported))
    assert frame_rows(imported) == BATCH.to_pylist()


WRITTEN = [-1, -1, -1, *ROWS[3:]]


@pytest.mark.parametrize("spilling", [False, True])
def test_write_to_a_frame_changes_neither_exports_nor_other_imports(spilling, request):
    if spilling:
        request.getfixturevalue("manager")
    frame = own_frame()
    exported = cab.to_arrow_device(frame)
    one, other = cab.from_arrow_device(exported), cab.from_arrow_device(exported)
    for written in (frame, one):
        written.iloc[0:3, 0] = -1
        assert written["0"].to_arrow().to_pylist() == WRITTEN
        assert other["0"].to_arrow().to_pylist() == ROWS
        assert pa.array(exported.to_host()).to_pylist() == BATCH.to_pylist()


def test_write_through_the_array_interface_changes_the_export():
    """docs/ownership.md warns about it."""
    import cupy

    frame = own_frame()
    exported = cab.to_arrow_device(frame)
    cupy.array(frame["0"])[:] = -1
    assert exported["0"].to_pylist() == ROWS
    cupy.asarray(frame["0"])[:3] = -1
    assert exported["0"].to_pylist() == WRITTEN
