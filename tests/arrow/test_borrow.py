# SPDX-License-Identifier: Apache-2.0
"""Test `DeviceArray.borrow`: shared arrays whose end is ordered on the owner's stream."""

from __future__ import annotations

import asyncio
import threading
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.stream.fences import FenceSet
from cudf_arrow_bridge.arrow import device_array
from cudf_arrow_bridge.cuda import event_loops
from cudf_arrow_bridge.cuda.streams import CUDF_HANDLE, DEFAULT_HANDLE, PER_THREAD_HANDLE, Stream

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="uses invalid stream handles")

#: Handles of the caller's streams.
OWNER, BORROWER, OTHER = 0x5150, 0x6160, 0x7170


@pytest.fixture
def array():
    frame = cab.from_arrow_device(pa.record_batch({"a": [1, 2, 3]}))
    return cab.to_arrow_device(frame, stream=OWNER)


@pytest.fixture
def calls(monkeypatch):
    """Record the orders: the stream that waits, the stream that it waits for, and the device."""
    recorded = []
    monkeypatch.setattr(device_array, "order_after", lambda *order: recorded.append(order))
    return recorded


def end(owner, borrower):
    return (owner, borrower, -1)


@pytest.mark.parametrize(("stream", "handle"), [(BORROWER, BORROWER), (None, CUDF_HANDLE)])
def test_end_of_a_borrow_orders_the_owners_stream_after_the_borrowers(array, calls, stream, handle):
    with array.borrow(stream=stream) as borrowed:
        assert calls == []
        assert borrowed._array.stream.handle == borrowed["a"]._array.stream.handle == handle
    assert array._array.stream.handle == OWNER
    assert calls == [end(OWNER, handle)]
    assert borrowed.is_released
    with pytest.raises(ValueError, match="released"):
        len(borrowed)
    assert pa.record_batch(array).num_rows == 3


def test_entry_makes_the_borrowers_stream_wait(array, monkeypatch):
    borrow = array.borrow(stream=BORROWER)
    waiting = []
    handle = property(lambda stream: waiting.append(stream._handle) or stream._handle)
    monkeypatch.setattr(Stream, "handle", handle)
    with borrow:
        assert waiting == [BORROWER]


def test_exception_in_the_context_ends_the_borrow(array, calls):
    with pytest.raises(KeyError, match="mine"), array.borrow(stream=BORROWER) as borrowed:
        raise KeyError("mine")
    assert calls == [end(OWNER, BORROWER)]
    assert borrowed.is_released


def test_borrowed_array_shares_the_buffers_of_its_owner(array):
    with array.borrow(stream=BORROWER) as borrowed:
        assert borrowed is not array
        assert borrowed.buffers() == array.buffers()
        assert borrowed.schema == array.schema
        batch = pa.record_batch(borrowed)
        assert batch.to_pydict() == {"a": [1, 2, 3]}
        assert batch.column(0).buffers()[1].address == array.buffers()[-1].address
        column = np.asarray(borrowed["a"])
        assert column.ctypes.data == array.buffers()[-1].address
        assert np.from_dlpack(borrowed["a"]).tolist() == [1, 2, 3]
        assert borrowed.as_requested(pa.schema([("b", pa.int64())])).column_names == ["b"]
    # The objects of the consumers outlive the borrow.
    assert column.tolist() == [1, 2, 3]
    assert batch.to_pydict() == {"a": [1, 2, 3]}


def test_borrowed_array_keeps_index_labels():
    frame = cab.from_arrow_device(pd.DataFrame({"a": [1]}, index=pd.Index([5], name="key")))
    with cab.to_arrow_device(frame).borrow() as borrowed:
        assert cab.from_arrow_device(borrowed).to_pandas().index.tolist() == [5]


def test_borrowed_array_outlives_the_release_of_its_owner(array, calls):
    with array.borrow(stream=BORROWER) as borrowed:
        array.release()
        assert pa.record_batch(borrowed).num_rows == 3
    assert calls == [end(OWNER, BORROWER)]


def test_borrowed_array_can_be_borrowed_again(array, calls):
    with array.borrow(stream=BORROWER) as borrowed, borrowed.borrow(stream=OTHER) as again:
        assert pa.record_batch(again).num_rows == 3
    # BORROWER waits for OTHER, and OWNER waits for BORROWER.
    assert calls == [end(BORROWER, OTHER), end(OWNER, BORROWER)]


def test_borrow_can_be_repeated_but_not_entered_twice(array, calls):
    borrow = array.borrow(stream=BORROWER)
    with borrow:
        with pytest.raises(RuntimeError, match="borrowed"):
            borrow.__enter__()
        assert calls == []
    with borrow as borrowed:
        assert len(borrowed) == 3
    assert calls == [end(OWNER, BORROWER)] * 2


def test_wrong_uses_of_borrows_are_rejected(array):
    borrow = array.borrow(stream=BORROWER)
    with pytest.raises(RuntimeError, match="borrow"):
        borrow.__exit__(None, None, None)
    with pytest.raises(ValueError, match=r"^stream: .*-1"):
        array.borrow(stream=-1)
    array.release()
    with pytest.raises(ValueError, match="released"):
        borrow.__enter__()


def test_per_thread_stream_of_another_thread_is_the_legacy_stream(array, calls):
    borrow = array.borrow(stream=PER_THREAD_HANDLE)

    def use_array():
        with borrow:
            pass

    thread = threading.Thread(target=use_array)
    thread.start()
    thread.join()
    assert calls == [end(OWNER, DEFAULT_HANDLE)]


def test_dropped_borrows_leave_the_array_usable(array):
    array.borrow(stream=BORROWER).__enter__()
    assert pa.record_batch(array).num_rows == 3


@pytest.mark.parametrize("error", [None, KeyError("mine")])
def test_async_borrow_adds_a_fence_before_its_end(array, calls, monkeypatch, error):
    class Recorder(FenceSet):
        def add_stream(self, stream, device):
            calls.append((stream.handle, device))
            return super().add_stream(stream, device)

    monkeypatch.setattr(event_loops, "FenceSet", Recorder)

    async def use_array():
        async with array.borrow(stream=BORROWER) as borrowed:
            found.append(borrowed)
            array.release()
            assert pa.record_batch(borrowed).to_pydict() == {"a": [1, 2, 3]}
            if error is not None:
                raise error

    found = []
    with nullcontext() if error is None else pytest.raises(type(error)):
        asyncio.run(use_array())
    assert found[0].is_released
    assert calls == [(BORROWER, -1), end(OWNER, BORROWER)]


def test_async_borrow_ends_when_its_fence_fails(array, calls, monkeypatch):
    class Refusing(FenceSet):
        def add_stream(self, *_):
            raise RuntimeError("no fence today")

    monkeypatch.setattr(event_loops, "FenceSet", Refusing)

    async def use_array():
        async with array.borrow(stream=BORROWER) as borrowed:
            found.append(borrowed)

    found = []
    with pytest.raises(RuntimeError, match="no fence today"):
        asyncio.run(use_array())
    assert calls == [end(OWNER, BORROWER)]
    assert found[0].is_released


def test_exit_that_cannot_order_the_streams_releases_the_borrowed_array(array, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no event today")

    monkeypatch.setattr(device_array, "order_after", refuse)
    with pytest.raises(RuntimeError, match="no event today"), array.borrow() as borrowed:
        pass
    assert borrowed.is_released
    assert not array.is_released


def test_array_without_a_stream_can_be_borrowed(array, calls):
    with array.to_host().borrow(stream=BORROWER) as borrowed:
        assert pa.record_batch(borrowed).num_rows == 3
    assert calls == [end(DEFAULT_HANDLE, BORROWER)]
