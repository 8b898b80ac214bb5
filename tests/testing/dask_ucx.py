# SPDX-License-Identifier: Apache-2.0
"""Arrays of every type over UCX, between the workers of a cluster; prints what came of it.

A process of its own: UCX is there until the end of one.
"""

from __future__ import annotations

import json

import distributed

from testing import dask_tasks
from testing.crossings import BATCHES


def main() -> None:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="ucx"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        first, second = client.scheduler_info()["workers"]
        made = client.submit(dask_tasks.make_types, list(BATCHES), workers=[first])
        process = client.submit(dask_tasks.process_of_worker, workers=[first])
        read = client.submit(dask_tasks.read_types, made, process, workers=[second])
        wrong, counts = read.result(timeout=120)
        print(json.dumps([[first, second], wrong, counts]), flush=True)


if __name__ == "__main__":
    main()
