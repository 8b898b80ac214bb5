# SPDX-License-Identifier: Apache-2.0
"""Arrays are sent to another process and back with Python's standard library."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.shared_memory import SharedMemory

import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.exchange import shared_blocks
from testing.exchange.pickles import adopted, batch_in, column_in, echo, pickle_out_of_band
from testing.host_frames import assert_same_object, frame, numbers
from testing.ipc import samples as ipc_samples
from testing.peers.arrays import DeviceOnly
from testing.processes import PATIENCE

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
        yield executor


def there_and_back(pool, obj, function=echo):
    return pool.submit(function, obj).result(PATIENCE)


def test_process_pool_returns_arrays_of_every_type(pool):
    batches = [batch for type_ in ipc_samples.TYPES for batch in ipc_samples.batches_of(type_)]
    arrays = [adopted(batch.schema, [batch])[0] for batch in batches]
    back = there_and_back(pool, arrays)
    assert len(back) == len(batches)
    for array, batch in zip(back, batches, strict=True):
        found = batch_in(array)
        assert found.schema.equals(batch.schema, check_metadata=True)
        assert found.equals(batch)


def test_other_process_reads_the_rows_with_pyarrow(pool):
    """pyarrow's own pickles return the rows."""
    batch = ipc_samples.batch_of(pa.list_(pa.string()))
    (array,) = adopted(batch.schema, [batch])
    found = there_and_back(pool, DeviceOnly(array), pa.record_batch)
    assert found.equals(batch)
    assert there_and_back(pool, DeviceOnly(array["struct"]), pa.array).equals(batch["struct"])


def test_process_pool_keeps_the_labels_of_a_frame(pool):
    source = frame([numbers(), numbers(start=4)], pd.Index([frozenset("a"), 2], dtype=object))
    back = there_and_back(pool, cab.to_arrow_device(source))
    assert_same_object(cab.from_arrow_device(back), source)


def test_error_of_the_other_process_is_raised(pool):
    with pytest.raises(ValueError, match="released"):
        there_and_back(pool, 0, shared_blocks.released)


def test_queues_pass_arrays_between_processes():
    batch = ipc_samples.batch_of(pa.dictionary(pa.int8(), pa.string()))
    (array,) = adopted(batch.schema, [batch])
    there, back = SPAWN.Queue(), SPAWN.Queue()
    process = SPAWN.Process(target=shared_blocks.pass_on, args=(there, back))
    process.start()
    try:
        there.put(array)
        there.put({"a column": array["struct"]})
        assert batch_in(back.get(timeout=PATIENCE)).equals(batch)
        column = back.get(timeout=PATIENCE)["a column"]
        assert column_in(column).equals(batch["struct"])
        there.put(None)
        process.join(PATIENCE)
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()


def test_arrays_of_two_processes_use_one_block_of_shared_memory(pool):
    """One process writes buffers to shared memory; another makes arrays over the same memory."""
    batch = ipc_samples.batch_of(pa.list_(pa.string())).select(["some", "list", "struct"])
    batch = pa.concat_batches([batch] * 50)
    (array,) = adopted(batch.schema, [batch])
    data, buffers = pickle_out_of_band(array)
    sizes = [memoryview(buffer).nbytes for buffer in buffers]
    block = SharedMemory(create=True, size=sum(map(shared_blocks.padded, sizes)))
    try:
        begins = shared_blocks.fill(block, buffers)
        found, rows = pool.submit(
            shared_blocks.read, block.name, data, list(zip(begins, sizes, strict=True))
        ).result(PATIENCE)
        assert found == begins
        assert rows.equals(batch)
        # The other process has released the block. In this process an array still holds it.
        own = pickle.loads(data, buffers=shared_blocks.parts(block, begins, sizes))
        with pytest.raises(BufferError, match="exported pointers"):
            block.close()
        assert batch_in(own).equals(batch)
        own.release()
    finally:
        block.close()
        block.unlink()
