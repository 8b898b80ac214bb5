# SPDX-License-Identifier: Apache-2.0
"""Release an export after a sticky CUDA error, which makes the rest of the process unusable.

The script's argument selects the export of this package ("ours") or of pylibcudf ("theirs"). It
prints whether the array was released.
"""

from __future__ import annotations

import ctypes
import os
import sys

import pyarrow as pa
import pylibcudf as plc

import cudf_arrow_bridge as cab
from testing.peers.arrays import RELEASE, struct_of

WRITE = 'extern "C" __global__ void write(int* to) { *to = 1; }'


def break_the_context():
    """Write to an unmapped address, which makes the device unusable in this process."""
    import cupy
    import numpy as np

    cupy.RawKernel(WRITE, "write")((1,), (1,), (np.uint64(16),))
    try:
        cupy.cuda.Device().synchronize()
    except cupy.cuda.runtime.CUDARuntimeError:
        return
    raise AssertionError("the write to an unmapped address has not failed")


def main(whose):
    column = plc.Column.from_arrow(pa.array([1, 2, 3]))
    exporter = cab.to_arrow_device(column) if whose == "ours" else column
    _schema, capsule = exporter.__arrow_c_device_array__()
    array = struct_of(capsule).array
    break_the_context()
    RELEASE(array.release)(ctypes.addressof(array))
    print("kept" if array.release else "released", flush=True)
    # Python's exit would free memory of the unusable device.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
