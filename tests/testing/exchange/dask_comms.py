# SPDX-License-Identifier: Apache-2.0
"""Functions that send objects over the transports of distributed, within one process."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pyarrow as pa
from distributed.comm import connect, listen
from distributed.protocol import to_serialize

import cudf_arrow_bridge as cab


def address_of(frame):
    return np.frombuffer(frame, "u1").ctypes.data


def send_over(address, objects):
    """Send objects over a transport, one after the other; return the received objects."""

    async def run():
        async def answer(comm):
            for obj in objects:
                await comm.write({"data": to_serialize(obj)})
            await comm.read()
            await comm.close()

        async with listen(address, answer) as listener:
            comm = await connect(listener.contact_address)
            found = [(await comm.read())["data"] for _ in objects]
            await comm.write("all of it")
            await comm.close()
        return found

    return asyncio.run(run())


@contextmanager
def noting_memory(module):
    """Collect the addresses of memory that a transport's module allocates to receive into."""
    received = set()
    allocate = module.host_array

    def noting(size):
        memory = allocate(size)
        received.add(address_of(memory))
        return memory

    with mock.patch.object(module, "host_array", noting):
        yield received


def arrays_to_send():
    """Yield arrays of few and many rows and columns."""
    for columns, rows in ((1, 10), (1, 100_000), (1, 1_000_000), (100, 1000), (3, 50_000)):
        # Headers of several lengths, so that the buffers after them have several addresses.
        for length in range(1, 4):
            names = [f"{'x' * length}{i}" for i in range(columns)]
            yield cab.to_arrow_device(pa.table(dict.fromkeys(names, pa.array(np.arange(rows)))))


def bodies_elsewhere(array, received, largest=None):
    """Return the addresses of an array's buffers, up to a size, that are not received memory."""
    buffers = [buffer for buffer in array.buffers() if buffer.size]
    assert buffers
    return [
        buffer.address
        for buffer in buffers
        if (largest is None or buffer.size <= largest) and buffer.address not in received
    ]
