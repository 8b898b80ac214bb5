# SPDX-License-Identifier: Apache-2.0
"""Send arrays of many types over UCX between the workers of a cluster, and print the result.

It runs in its own process, because UCX stays active until the process ends.
"""

from __future__ import annotations

import json

import distributed
import distributed_ucxx.ucxx

from testing.exchange import crossings, dask_comms, dask_helpers
from testing.exchange.crossings import BATCHES, contents


def between_workers():
    """Return the workers' addresses, the arrays that differ, and the number of arrays."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", protocol="ucx"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        first, second = client.scheduler_info()["workers"]
        sent = client.submit(crossings.arrays_by_name, list(BATCHES)[::4], workers=[first])
        process = client.submit(dask_helpers.pid_of, workers=[first])
        read = client.submit(crossings.differences, sent, process, workers=[second])
        wrong, counts = read.result(timeout=120)
        return [first, second], wrong, counts


def copied():
    """Return the number of arrays, and of buffers outside the memory that UCX receives into."""
    sent = list(dask_comms.arrays_to_send())
    with dask_comms.noting_memory(distributed_ucxx.ucxx) as received:
        found = dask_comms.send_over("ucx://127.0.0.1", sent)
    pairs = zip(found, sent, strict=True)
    assert all(contents(array).equals(contents(original)) for array, original in pairs)
    return len(found), sum(len(dask_comms.bodies_elsewhere(array, received)) for array in found)


if __name__ == "__main__":
    print(json.dumps([between_workers(), copied()]), flush=True)
