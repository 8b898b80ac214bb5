# SPDX-License-Identifier: Apache-2.0
"""How fast bodies of IPC messages leave and enter a GPU: ``python -m benchmarks.gpu.bandwidth``.

Beside plain copies of pinned memory.
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
    # What is measured is the installed package, not the sources that stand beside this folder.
    sys.path.append(sys.path.pop(0))

import numpy as np
import pyarrow as pa

import cudf_arrow_bridge as cab

from ..reporting.report import context
from ..ways import OURS, drain

__all__ = ["SIZE", "bandwidths", "lines"]

#: Bytes that are moved when it counts.
SIZE = 400_000_000
_QUICK_SIZE = 400_000
_ROUNDS = 10
_PINNED = "pinned copy"


class _Nowhere:
    """Takes what is written and keeps nothing."""

    def write(self, data: Any) -> int:
        return memoryview(data).nbytes


def bandwidths(size: int) -> dict[str, dict[str, float]] | None:
    """Return GB/s of each way, by direction; None without a GPU.

    Parameters
    ----------
    size
        Bytes that are moved.
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
    """Return GB/s, the median of several calls after one that is not counted."""
    call()
    taken = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return size / statistics.median(taken) / 1e9


def lines(found: dict[str, dict[str, float]] | None) -> list[str]:
    """Say what was found, or why nothing was."""
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
