# SPDX-License-Identifier: Apache-2.0
"""Buffers of pickles in shared memory, and functions that other processes run on arrays."""

from __future__ import annotations

import gc
import pickle
from multiprocessing.shared_memory import SharedMemory

import pyarrow as pa

from testing.exchange.pickles import pickle_out_of_band, places


def padded(size):
    return -(-size // 64) * 64


def fill(block, buffers):
    """Copy buffers to a block, one after the other; return where each begins."""
    begins, end = [], 0
    for view in map(memoryview, buffers):
        block.buf[end : end + view.nbytes] = view.cast("B")
        begins.append(end)
        end += padded(view.nbytes)
    return begins


def parts(block, begins, sizes):
    return [
        block.buf[begin : begin + size].toreadonly()
        for begin, size in zip(begins, sizes, strict=True)
    ]


def read(name, data, pieces):
    """Load a pickle over a block; return the offsets of the array's buffers in it, and the rows."""
    block = SharedMemory(name)
    try:
        (start, _), *_ = places([block.buf])
        array = pickle.loads(data, buffers=parts(block, *zip(*pieces, strict=True)))
        found = [address - start for address, _ in places(pickle_out_of_band(array)[1])]
        rows = pa.ipc.read_record_batch(pa.record_batch(array).serialize(), pa.schema(array))
        del array
        gc.collect()
    finally:
        # Fails while an object refers to the block.
        block.close()
    return found, rows
