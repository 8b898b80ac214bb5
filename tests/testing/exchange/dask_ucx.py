# SPDX-License-Identifier: Apache-2.0
"""A process that sends arrays over distributed's UCX transport.

UCX stays active until the process ends.
"""

from __future__ import annotations

import distributed_ucxx.ucxx

from testing.exchange import crossings, dask_comms, dask_gpu
from testing.exchange.crossings import BATCHES, contents
from testing.processes import obey


def arrays_that_differ():
    """Yield the names of arrays that UCX changes, and the number of arrays."""
    names = list(BATCHES)[::4]
    sent = [(name, array) for name in names for array in crossings.arrays_of(name)]
    found = dask_comms.send_over("ucx://127.0.0.1", [array for _, array in sent])
    wrong = [
        name
        for (name, original), array in zip(sent, found, strict=True)
        if not contents(array).equals(contents(original), check_metadata=True)
    ]
    yield wrong, len(found)


def between_workers():
    """Yield the result of `dask_gpu` for two worker processes that use UCX."""
    yield dask_gpu.main("ucx")


def copied():
    """Yield the number of arrays, and of buffers outside the memory that UCX receives into."""
    sent = list(dask_comms.arrays_to_send())
    with dask_comms.noting_memory(distributed_ucxx.ucxx) as received:
        found = dask_comms.send_over("ucx://127.0.0.1", sent)
    pairs = zip(found, sent, strict=True)
    assert all(contents(array).equals(contents(original)) for array, original in pairs)
    yield len(found), sum(len(dask_comms.bodies_elsewhere(array, received)) for array in found)


if __name__ == "__main__":
    obey(arrays_that_differ=arrays_that_differ, between_workers=between_workers, copied=copied)
