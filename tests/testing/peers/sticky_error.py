# SPDX-License-Identifier: Apache-2.0
"""An export is released after a CUDA error that nothing clears. A script: the error stays with it.

Its argument says whose export it is, "ours" or "theirs"; it prints what became of the release.
"""

from __future__ import annotations

import ctypes
import os
import sys

import pyarrow as pa
import pylibcudf as plc

import cudf_arrow_bridge as bridge
from testing.peers.arrays import RELEASE, struct_of

WRITE = 'extern "C" __global__ void write(int* to) { *to = 1; }'


def break_the_context():
    """Write to an address that is nobody's, which ends all use of the device in this process."""
    import cupy
    import numpy as np

    cupy.RawKernel(WRITE, "write")((1,), (1,), (np.uint64(16),))
    try:
        cupy.cuda.Device().synchronize()
    except cupy.cuda.runtime.CUDARuntimeError:
        return
    raise AssertionError("the address is somebody's")


def main(whose):
    column = plc.Column.from_arrow(pa.array([1, 2, 3]))
    exporter = bridge.to_arrow_device(column) if whose == "ours" else column
    _schema, capsule = exporter.__arrow_c_device_array__()
    array = struct_of(capsule).array
    break_the_context()
    RELEASE(array.release)(ctypes.addressof(array))
    print("kept" if array.release else "released", flush=True)
    # Python's own end would free memory of a device that is gone.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
