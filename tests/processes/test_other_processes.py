# SPDX-License-Identifier: Apache-2.0
"""Arrays are sent to another process and back with Python's standard library."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.shared_memory import SharedMemory

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.exchange import shared_blocks
from testing.exchange.pickles import adopted, batch_in, pickle_out_of_band
from testing.ipc import samples
from testing.processes import PATIENCE

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


@pytest.fixture(scope="module")
def pool():
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        yield executor


def test_process_pool_returns_arrays_of_every_type(pool):
    batches = [batch for type_ in samples.TYPES for batch in samples.batches_of(type_)]
    arrays = [adopted(batch.schema, [batch])[0] for batch in batches]
    back = pool.submit(copy.copy, arrays).result(PATIENCE)
    for array, batch in zip(back, batches, strict=True):
        found = batch_in(array)
        assert found.schema.equals(batch.schema, check_metadata=True)
        assert found.equals(batch)


def test_arrays_of_two_processes_use_one_block_of_shared_memory(pool):
    """One process writes buffers to shared memory; another makes arrays over the same memory."""
    batch = samples.batch_of(pa.list_(pa.string())).select(["some", "list", "struct"])
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
