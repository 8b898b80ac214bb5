# SPDX-License-Identifier: Apache-2.0
"""Arrays that are lent for the time of a context, whose end is ordered on the owner's stream."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge._core.loans import DeviceLoan
from cudf_arrow_bridge.arrow import loans
from cudf_arrow_bridge.cuda.streams import CUDF_HANDLE, LEGACY_HANDLE, PER_THREAD_HANDLE

pytestmark = pytest.mark.skipif(bridge.has_gpu(), reason="names streams that there are not")

#: Handles of streams of the caller.
OWNER, BORROWER, OTHER = 0x5150, 0x6160, 0x7170


@pytest.fixture
def array():
    frame = bridge.from_arrow_device(pa.record_batch({"a": [1, 2, 3]}))
    return bridge.to_arrow_device(frame, stream=OWNER)


@pytest.fixture
def calls(monkeypatch):
    """What loans are asked to do: "begin", "fence" or "end", and the handles of both streams."""
    made = []

    class Recorder:
        def __init__(self, exported, borrower):
            self._loan = DeviceLoan(exported, borrower)
            self._exported = exported
            self._streams = (exported.stream.handle, borrower.handle)
            made.append(("begin", *self._streams))

        def add_fence(self, fences):
            made.append(("fence", *self._streams))
            return self._loan.add_fence(fences)

        def end(self):
            self._loan.end()
            made.append(("end", *self._streams))

    monkeypatch.setattr(loans, "DeviceLoan", Recorder)
    return made


def begin_and_end(owner, borrower):
    return [("begin", owner, borrower), ("end", owner, borrower)]


def test_the_owners_stream_follows_the_borrowers(array, calls):
    with array.borrow(stream=BORROWER):
        assert calls == [("begin", OWNER, BORROWER)]
    assert calls == begin_and_end(OWNER, BORROWER)


def test_borrowers_work_on_the_stream_of_cudf_unless_told(array, calls):
    with array.borrow():
        pass
    assert calls == begin_and_end(OWNER, CUDF_HANDLE)


def test_an_exception_ends_a_loan_as_well(array, calls):
    with pytest.raises(KeyError, match="mine"), array.borrow(stream=BORROWER) as lent:
        raise KeyError("mine")
    assert calls == begin_and_end(OWNER, BORROWER)
    assert lent.is_released


def test_what_is_lent_has_the_same_buffers(array):
    with array.borrow(stream=BORROWER) as lent:
        assert lent is not array
        assert lent.buffers() == array.buffers()
        assert lent.schema == array.schema
        batch = pa.record_batch(lent)
        assert batch.to_pydict() == {"a": [1, 2, 3]}
        assert batch.column(0).buffers()[1].address == array.buffers()[-1].address
        column = np.asarray(lent["a"])
        assert column.ctypes.data == array.buffers()[-1].address
        assert np.from_dlpack(lent["a"]).tolist() == [1, 2, 3]
        assert lent.as_requested(pa.schema([("b", pa.int64())])).column_names == ["b"]
    # What consumers took is theirs.
    assert column.tolist() == [1, 2, 3]
    assert batch.to_pydict() == {"a": [1, 2, 3]}


def test_consumers_are_told_the_stream_that_waits_already(array):
    with array.borrow(stream=BORROWER) as lent:
        assert lent._array.stream.handle == BORROWER
        assert lent["a"]._array.stream.handle == BORROWER
    assert array._array.stream.handle == OWNER


def test_labels_come_along():
    frame = bridge.from_arrow_device(pd.DataFrame({"a": [1]}, index=pd.Index([5], name="key")))
    with bridge.to_arrow_device(frame).borrow() as lent:
        assert bridge.from_arrow_device(lent).to_pandas().index.tolist() == [5]


def test_the_end_releases_what_was_lent_and_no_more(array):
    with array.borrow(stream=BORROWER) as lent:
        pass
    assert lent.is_released
    assert not array.is_released
    for use in (len, pa.record_batch, np.asarray):
        with pytest.raises(ValueError, match="the device array was released"):
            use(lent)
    assert pa.record_batch(array).num_rows == 3


def test_what_is_lent_outlives_its_owner(array, calls):
    with array.borrow(stream=BORROWER) as lent:
        array.release()
        assert pa.record_batch(lent).num_rows == 3
    assert calls == begin_and_end(OWNER, BORROWER)


def test_a_released_array_is_not_lent(array):
    array.release()
    loan = array.borrow(stream=BORROWER)
    with pytest.raises(ValueError, match="the device array was released"):
        loan.__enter__()


def test_several_loans_at_once_end_in_any_order(array, calls):
    first, second = array.borrow(stream=BORROWER), array.borrow(stream=OTHER)
    one = first.__enter__()
    two = second.__enter__()
    first.__exit__(None, None, None)
    assert one.is_released
    assert pa.record_batch(two).num_rows == 3
    second.__exit__(None, None, None)
    assert calls == [
        ("begin", OWNER, BORROWER),
        ("begin", OWNER, OTHER),
        ("end", OWNER, BORROWER),
        ("end", OWNER, OTHER),
    ]


def test_what_is_lent_can_be_lent_on(array, calls):
    with array.borrow(stream=BORROWER) as lent, lent.borrow(stream=OTHER) as again:
        assert pa.record_batch(again).num_rows == 3
    # The borrower waits for whom it lent to, and the owner for the borrower.
    assert calls == [
        ("begin", OWNER, BORROWER),
        ("begin", BORROWER, OTHER),
        ("end", BORROWER, OTHER),
        ("end", OWNER, BORROWER),
    ]


def test_a_loan_can_be_repeated_but_not_begun_twice(array, calls):
    loan = array.borrow(stream=BORROWER)
    with loan:
        with pytest.raises(RuntimeError, match="a loan that has begun found"):
            loan.__enter__()
        assert len(calls) == 1
    with loan as lent:
        assert len(lent) == 3
    assert calls == begin_and_end(OWNER, BORROWER) * 2


def test_a_loan_ends_once(array):
    loan = array.borrow(stream=BORROWER)
    with pytest.raises(RuntimeError, match="a loan that has not begun found"):
        loan.__exit__(None, None, None)


def test_a_stream_is_refused_at_once(array):
    with pytest.raises(ValueError, match="stream=-1 found"):
        array.borrow(stream=-1)
    with pytest.raises(TypeError, match="a stream of type str found"):
        array.borrow(stream="mine")


def test_a_threads_default_stream_is_that_of_who_borrows(array, calls):
    loan = array.borrow(stream=PER_THREAD_HANDLE)

    def lend():
        with loan:
            pass

    thread = threading.Thread(target=lend)
    thread.start()
    thread.join()
    assert calls == begin_and_end(OWNER, LEGACY_HANDLE)


def test_loans_that_are_forgotten_end(array):
    array.borrow(stream=BORROWER).__enter__()
    DeviceLoan(array._array, array._array.stream)
    assert pa.record_batch(array).num_rows == 3


def test_asyncio_waits_at_both_ends(array, calls):
    async def lend():
        async with array.borrow(stream=BORROWER) as lent:
            found = pa.record_batch(lent).to_pydict()
        return lent, found

    lent, found = asyncio.run(lend())
    assert found == {"a": [1, 2, 3]}
    assert lent.is_released
    assert calls == [
        ("begin", OWNER, BORROWER),
        ("fence", OWNER, BORROWER),
        ("end", OWNER, BORROWER),
    ]


def test_asyncio_ends_loans_of_failed_and_cancelled_tasks(array, calls):
    async def fail():
        async with array.borrow(stream=BORROWER):
            raise KeyError("mine")

    async def lend_for_ever(begun):
        async with array.borrow(stream=BORROWER):
            begun.set()
            await asyncio.Event().wait()

    async def cancel():
        begun = asyncio.Event()
        task = asyncio.create_task(lend_for_ever(begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(fail())
    asyncio.run(cancel())
    assert [call for call in calls if call[0] == "end"] == [("end", OWNER, BORROWER)] * 2


def test_a_loan_whose_fence_fails_ends_all_the_same(array, calls, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no fence today")

    monkeypatch.setattr(loans.DeviceLoan, "add_fence", refuse)

    async def lend():
        async with array.borrow(stream=BORROWER) as lent:
            found.append(lent)

    found = []
    with pytest.raises(RuntimeError, match="no fence today"):
        asyncio.run(lend())
    assert calls == begin_and_end(OWNER, BORROWER)
    assert found[0].is_released
