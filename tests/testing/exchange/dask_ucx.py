# SPDX-License-Identifier: Apache-2.0
"""Send arrays of many types over distributed's UCX transport, and print the result.

It runs in its own process, because UCX stays active until the process ends.
"""

from __future__ import annotations

import json

import distributed_ucxx.ucxx

from testing.exchange import crossings, dask_comms
from testing.exchange.crossings import BATCHES, contents


def arrays_that_differ():
    """Return the names of arrays that UCX changes, and the number of arrays."""
    names = list(BATCHES)[::4]
    sent = [(name, array) for name in names for array in crossings.arrays_of(name)]
    found = dask_comms.send_over("ucx://127.0.0.1", [array for _, array in sent])
    wrong = [
        name
        for (name, original), array in zip(sent, found, strict=True)
        if not contents(array).equals(contents(original), check_metadata=True)
    ]
    return wrong, len(found)


def copied():
    """Return the number of arrays, and of buffers outside the memory that UCX receives into."""
    sent = list(dask_comms.arrays_to_send())
    with dask_comms.noting_memory(distributed_ucxx.ucxx) as received:
        found = dask_comms.send_over("ucx://127.0.0.1", sent)
    pairs = zip(found, sent, strict=True)
    assert all(contents(array).equals(contents(original)) for array, original in pairs)
    return len(found), sum(len(dask_comms.bodies_elsewhere(array, received)) for array in found)


if __name__ == "__main__":
    print(json.dumps([arrays_that_differ(), copied()]), flush=True)
