# SPDX-License-Identifier: Apache-2.0
"""Lifetimes of the memory of pickled arrays. Released arrays and streams are not pickled."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import threading
import weakref

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import owners
from testing.exchange.pickles import (
    PICKLE_OPTIONS,
    adopted,
    batch_in,
    column_in,
    pickle_out_of_band,
    pickle_round_trip,
)
from testing.ipc import samples as ipc_samples
from testing.ipc.mutants import resident

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

#: The fields have the names that a column of pylibcudf gets.
STRUCT = pa.array([{"0": i, "1": None if i % 3 else str(i)} for i in range(100)])


class Body(bytearray):
    """Memory that supports weak references."""


def test_out_of_band_buffers_keep_their_source_alive():
    column, gone = owners.watched(STRUCT)
    array = cab.to_arrow_device(column)
    data, buffers = pickle_out_of_band(array)
    array.release()
    del array, column
    gc.collect()
    assert gone() is not None
    assert column_in(pickle.loads(data, buffers=buffers)).equals(STRUCT)
    buffers[:] = buffers[:1]
    gc.collect()
    assert gone() is not None, "each buffer by itself keeps the memory"
    buffers.clear()
    gc.collect()
    assert gone() is None


def test_unpickled_array_keeps_its_buffers_alive():
    data, buffers = pickle_out_of_band(cab.to_arrow_device(STRUCT))
    given = [Body(buffer) for buffer in buffers]
    alive = [weakref.ref(body) for body in given]
    array = pickle.loads(data, buffers=given)
    rows = pa.array(array)
    given.clear()
    gc.collect()
    assert all(body() is not None for body in alive)
    array.release()
    gc.collect()
    assert rows.equals(STRUCT)
    del rows
    gc.collect()
    assert all(body() is None for body in alive)


def test_rejected_buffers_are_released():
    data, buffers = pickle_out_of_band(cab.to_arrow_device(STRUCT))
    given = [Body(buffer) for buffer in buffers]
    given[-1] = Body(given[-1][:-1])
    alive = [weakref.ref(body) for body in given]
    with pytest.raises(ValueError, match=r"63.*64"):
        pickle.loads(data, buffers=given)
    given.clear()
    gc.collect()
    assert all(body() is None for body in alive)


def test_pickles_and_copies_do_not_leak_memory():
    batch = ipc_samples.batch_of(pa.dictionary(pa.int8(), pa.string()))
    (array,) = adopted(batch.schema, [batch])
    large = cab.to_arrow_device(pa.table({"a": range(20_000)}))

    def go(rounds):
        for _ in range(rounds):
            for way in ("protocol 2", "out of band"):
                pickle_round_trip(array, way)
                pickle_round_trip(large, way)
            copy.copy(large)
            copy.deepcopy(large)

    go(100)
    gc.collect()
    begin = resident()
    go(500)
    gc.collect()
    # A leak of the large array alone would be 80 MB.
    assert resident() - begin < 16 << 20


def test_several_threads_pickle_one_array():
    batch = ipc_samples.batch_of(pa.list_(pa.string()))
    (array,) = adopted(batch.schema, [batch])
    wrong = []

    def work():
        for way in [*PICKLE_OPTIONS, *PICKLE_OPTIONS]:
            for _ in range(10):
                if not pa.record_batch(pickle_round_trip(array, way)).equals(batch):
                    wrong.append(way)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("carry", [pickle.dumps, copy.copy, copy.deepcopy, pickle_round_trip])
def test_pickle_and_copy_of_a_released_array_raise_an_error(carry):
    array = cab.to_arrow_device(pa.array([1]))
    array.release()
    with pytest.raises(ValueError, match="released"):
        carry(array)


async def batches():
    yield pa.record_batch({"a": [1]})


STREAMS = {
    "DeviceArrayStream": lambda: cab.to_arrow_device_stream(pa.table({"a": [1]})),
    "AsyncDeviceArrayStream": lambda: cab.to_arrow_device_async(batches()),
}


@pytest.mark.parametrize("carry", [pickle.dumps, copy.deepcopy])
@pytest.mark.parametrize("name", STREAMS)
def test_pickle_and_copy_of_a_stream_raise_a_type_error(name, carry):
    async def main():
        stream = STREAMS[name]()
        message = f"an object of type {name} cannot be pickled or copied: pickle or copy the arrays"
        with pytest.raises(TypeError, match=message):
            carry(stream)
        return stream

    stream = asyncio.run(main())
    if name == "DeviceArrayStream":
        (array,) = pickle_round_trip(list(stream))
        assert batch_in(array).to_pylist() == [{"a": 1}]
