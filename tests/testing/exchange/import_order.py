# SPDX-License-Identifier: Apache-2.0
"""A process that imports the bridge and other packages in several orders.

Each order has its own fork of this process, which has not imported the bridge.
"""

from __future__ import annotations

import pickle
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pandas  # noqa: F401
import pyarrow as pa
import pylibcudf  # noqa: F401

from testing.processes import in_fork, obey

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


def only_distributed(path):
    """The process deserializes an array of 1500 rows, whose frames a file has as a pickle."""
    from distributed.protocol import deserialize

    assert "cudf_arrow_bridge" not in sys.modules
    found = deserialize(*pickle.loads(Path(path).read_bytes()))
    assert type(found).__module__ == "cudf_arrow_bridge.arrow.device_array"
    assert len(found) == 1500


def dask_cuda_first():
    """Device arrays are registered as device objects."""
    import dask_cuda.device_host_file  # noqa: F401
    from dask_cuda.is_device_object import is_device_object

    import cudf_arrow_bridge as cab

    assert "cudf_arrow_bridge.arrow.device_array" not in sys.modules
    array = cab.to_arrow_device(pa.table({"a": ["x"]}))
    type(array).device_type = cab.DeviceType.CUDA
    assert is_device_object(array)


def outcomes(path):
    """Yield the outcomes of all orders."""
    assert loaded() == []
    found = [in_fork(lambda: exchange_without_pickles() or "passed")]
    import distributed  # noqa: F401

    orders = [distributed_first, partial(only_distributed, path)]
    if find_spec("dask_cuda") is not None:
        orders.append(dask_cuda_first)
    found += [in_fork(lambda order=order: order() or "passed") for order in orders]
    yield found


if __name__ == "__main__":
    obey(outcomes=outcomes)
