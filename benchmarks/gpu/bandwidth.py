# SPDX-License-Identifier: Apache-2.0
"""The bandwidth of IPC message bodies from and to a GPU: ``python -m benchmarks.gpu.bandwidth``.

The peers are plain copies of pinned memory.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Measure the installed package, not the sources next to this folder.
    sys.path.append(sys.path.pop(0))

import numpy as np
import pyarrow as pa

import cudf_arrow_bridge as cab

from ..exchanges import OURS, drain
from ..reporting.report import context

#: The number of bytes per transfer, except with --quick.
SIZE = 400_000_000
_QUICK_SIZE = 400_000
_ROUNDS = 10
_PINNED = "pinned copy"


class _Nowhere:
    """A sink that discards the data."""

    def write(self, data: Any) -> int:
        return memoryview(data).nbytes


def bandwidths(size: int) -> dict[str, dict[str, float]] | None:
    """Return the GB/s of each way by direction, or None without a GPU.

    Parameters
    ----------
    size
        The number of bytes per transfer.
    """
    if not cab.has_gpu():
        return None
    import cupy
    import pylibcudf as plc

    values = pa.table({"a": np.arange(size // 4, dtype="int32")})
    table = plc.Table.from_arrow(values)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, values.schema) as writer:
        writer.write_table(values)
    data = sink.getvalue()
    pinned, device = cupy.cuda.alloc_pinned_memory(size), cupy.empty(size, "uint8")
    stream = cupy.cuda.Stream(non_blocking=True)

    def copy(target: int, source: int, kind: int) -> None:
        cupy.cuda.runtime.memcpyAsync(target, source, size, kind, stream.ptr)
        stream.synchronize()

    def upload() -> None:
        drain(cab.ipc.open_stream(data))
        cupy.cuda.Device().synchronize()

    kinds = cupy.cuda.runtime
    return {
        "download": {
            OURS: _speed(size, lambda: cab.ipc.write_stream(table, _Nowhere())),
            _PINNED: _speed(
                size, lambda: copy(pinned.ptr, device.data.ptr, kinds.memcpyDeviceToHost)
            ),
        },
        "upload": {
            OURS: _speed(size, upload),
            _PINNED: _speed(
                size, lambda: copy(device.data.ptr, pinned.ptr, kinds.memcpyHostToDevice)
            ),
        },
    }


def _speed(size: int, call: Callable[[], object]) -> float:
    """Return the GB/s of the median of several calls after a warm-up call."""
    call()
    taken = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return size / statistics.median(taken) / 1e9


def lines(found: dict[str, dict[str, float]] | None) -> list[str]:
    """Format the results as lines of text, or the reason if there are none."""
    if found is None:
        return ["Left out: bandwidth to and from device memory, for want of a GPU."]
    return [
        f"{direction}: {', '.join(f'{speed:.1f} GB/s {name}' for name, speed in speeds.items())}"
        for direction, speeds in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.bandwidth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show that it works; no real numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args()
    results = bandwidths(_QUICK_SIZE if options.quick else SIZE)
    for line in lines(results):
        print(line)
    if options.json is not None:
        record = {**context(), "quick": options.quick, "results": results}
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
