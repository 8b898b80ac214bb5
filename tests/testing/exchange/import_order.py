# SPDX-License-Identifier: Apache-2.0
"""Import the bridge and other packages in several orders, and print the outcomes.

Each order has its own fork of this process, which has not imported the bridge. Standard input has
a pickle of the frames of an array of 1500 rows, which `distributed` has serialized.
"""

from __future__ import annotations

import json
import pickle
import sys
from importlib.util import find_spec

import pandas  # noqa: F401
import pyarrow as pa
import pylibcudf  # noqa: F401

from testing.processes import in_fork

LATE = ["dask", "distributed", "ray"] + [
    f"cudf_arrow_bridge{name}" for name in ("", ".ipc", ".dask", ".ray")
]


def loaded():
    return [name for name in LATE if name in sys.modules]


def exchange_without_pickles():
    """Modules that only pickles need are imported by the first pickle."""
    import copy

    import cudf_arrow_bridge as cab

    array = cab.to_arrow_device(pa.array([1]), copy=True)
    pa.table(cab.to_arrow_device_stream([pa.record_batch({"a": [1]})]))
    copy.deepcopy(copy.copy(array))
    assert loaded() == ["cudf_arrow_bridge"], loaded()
    pickle.dumps(array)
    assert loaded() == ["cudf_arrow_bridge", "cudf_arrow_bridge.ipc"], loaded()
    return "passed"


def distributed_first():
    """The serializers are registered."""
    from dask.sizeof import sizeof
    from distributed.protocol import deserialize, serialize

    import cudf_arrow_bridge as cab

    assert "cudf_arrow_bridge.dask" not in loaded()
    array = cab.to_arrow_device(pa.table({"a": [1, None, 3]}))
    header, frames = serialize(array, serializers=("dask",), on_error="raise")
    assert header["serializer"] == "dask", header
    assert pa.record_batch(deserialize(header, frames)).to_pydict() == {"a": [1, None, 3]}
    assert sizeof(array) == array.nbytes
    return "passed"


def only_distributed():
    """The process deserializes arrays."""
    from distributed.protocol import deserialize

    assert "cudf_arrow_bridge" not in sys.modules
    found = deserialize(*pickle.load(sys.stdin.buffer))
    assert type(found).__module__ == "cudf_arrow_bridge.arrow.device_array"
    assert len(found) == 1500
    return "passed"


def dask_cuda_first():
    """Device arrays are registered as device objects."""
    if find_spec("dask_cuda") is None:
        return "no dask_cuda"
    import dask_cuda.device_host_file  # noqa: F401
    from dask_cuda.is_device_object import is_device_object

    import cudf_arrow_bridge as cab

    assert "cudf_arrow_bridge.arrow.device_array" not in sys.modules
    array = cab.to_arrow_device(pa.table({"a": ["x"]}))
    type(array).device_type = cab.DeviceType.CUDA
    assert is_device_object(array)
    return "passed"


def main():
    assert loaded() == []
    yield exchange_without_pickles.__name__, in_fork(exchange_without_pickles)
    import distributed  # noqa: F401

    for order in (distributed_first, only_distributed, dask_cuda_first):
        yield order.__name__, in_fork(order)


if __name__ == "__main__":
    print(json.dumps(dict(main())))
