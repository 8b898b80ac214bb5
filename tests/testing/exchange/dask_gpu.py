# SPDX-License-Identifier: Apache-2.0
"""Send device memory between two workers on one GPU, and print the result.

It runs in its own process, with the protocol as its argument. UCX stays active until the process
ends.
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


def send():
    return list(arrays()), os.getpid()


def read(sent):
    """Return the arrays that differ from the originals, their number and their device types."""
    found, process = sent
    assert os.getpid() != process
    wrong = [
        f"array {i}: {original.schema}"
        for i, (array, original) in enumerate(zip(found, arrays(), strict=True))
        if not contents(array.to_host()).equals(contents(original.to_host()), check_metadata=True)
    ]
    return wrong, len(found), sorted({array.device_type.name for array in found})


def main(protocol):
    from testing.exchange import dask_gpu, dask_helpers

    with dask_helpers.two_workers(protocol=protocol) as client:
        first, second = client.scheduler_info()["workers"]
        # The function of the imported module: workers cannot import it from "__main__".
        sent = client.submit(dask_gpu.send, workers=[first])
        return client.submit(dask_gpu.read, sent, workers=[second]).result(timeout=200)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])), flush=True)
