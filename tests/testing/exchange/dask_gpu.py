# SPDX-License-Identifier: Apache-2.0
"""Device memory from one worker to the other, on one GPU; prints what came of it.

A process of its own: the protocol, its argument, may be UCX's, which is there until the end of one.
"""

from __future__ import annotations

import json
import os
import sys

import cudf_arrow_bridge as cab
from testing import samples
from testing.exchange.crossings import contents
from testing.ipc.samples import batches_of


def arrays():
    for type_ in samples.TYPES:
        for batch in batches_of(type_):
            yield cab.to_arrow_device(batch)


def make():
    return list(arrays()), os.getpid()


def read(made):
    """What is other than it was made, and the number and the types of memory of what came."""
    found, process = made
    assert os.getpid() != process
    wrong = [
        f"array {i}: {original.schema}"
        for i, (array, original) in enumerate(zip(found, arrays(), strict=True))
        if not contents(array.to_host()).equals(contents(original.to_host()), check_metadata=True)
    ]
    return wrong, len(found), sorted({array.device_type.name for array in found})


def main(protocol):
    import distributed

    from testing.exchange import dask_gpu

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", protocol=protocol
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        first, second = client.scheduler_info()["workers"]
        # Not this module's own, which is called "__main__" here.
        made = client.submit(dask_gpu.make, workers=[first])
        return client.submit(dask_gpu.read, made, workers=[second]).result(timeout=300)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])), flush=True)
