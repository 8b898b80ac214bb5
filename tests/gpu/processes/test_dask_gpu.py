# SPDX-License-Identifier: Apache-2.0
"""Device memory between the processes of a Dask cluster, by both families of serializers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from testing.device import GPU, on_device
from testing.ipc.samples import CUTS
from testing.processes import PYTHONPATH
from testing.samples import TYPES

pytestmark = GPU

TABLE = pa.table({"a": [1, None, 3] * 100, "b": ["x", None, ""] * 100, "c": [[1], None, []] * 100})
#: By default, UCX logs to the standard output, where the programs write their answers.
UCX = {"UCX_TLS": "tcp,self,sm,cuda_copy,cuda_ipc", "UCX_LOG_FILE": "stderr"}


@pytest.fixture
def protocol():
    return pytest.importorskip("distributed", reason="the extra dask is not installed").protocol


@pytest.mark.parametrize("scheme", ["tcp", "ucx"])
def test_workers_exchange_arrays(scheme):
    """TCP uses the serializers of host memory, UCX those of device memory."""
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    if scheme == "ucx":
        for name in ("ucxx", "distributed_ucxx", "cuda.core"):
            pytest.importorskip(name, reason="the extra ucx is not installed", exc_type=ImportError)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "testing.exchange.dask_gpu", scheme],
        env=os.environ | {"PYTHONPATH": PYTHONPATH} | UCX,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wrong, count, device_types = json.loads(done.stdout.splitlines()[-1])
    assert wrong == []
    assert count == len(TYPES) * len(CUTS)
    assert device_types == ["CUDA"]


def test_cuda_serializer_shares_device_memory(protocol):
    array = bridge.to_arrow_device(bridge.from_arrow_device(TABLE))
    header, (first, *frames) = protocol.serialize(array, serializers=("cuda",), on_error="raise")
    assert first.nbytes == 0
    addresses = [frame.__cuda_array_interface__["data"][0] for frame in frames]
    assert addresses == [buffer.address for buffer in array.buffers() if buffer.size]
    found = protocol.deserialize(header, [first, *frames])
    assert [buffer.address for buffer in found.buffers() if buffer.size] == addresses
    assert found.device_type == bridge.DeviceType.CUDA
    assert pa.record_batch(found.to_host()).to_pydict() == TABLE.to_pydict()


def test_cuda_serializer_copies_pinned_memory_to_host_frames(protocol):
    import rmm.mr

    column = on_device(pa.array([1, None, 3]), mr=rmm.mr.PinnedHostMemoryResource())
    array = bridge.to_arrow_device(column)
    assert array.device_type == bridge.DeviceType.CUDA_HOST
    header, frames = protocol.serialize(array, serializers=("cuda",), on_error="raise")
    assert all(isinstance(frame, memoryview) for frame in frames)
    found = protocol.deserialize(header, frames)
    assert found.device_type == bridge.DeviceType.CPU
    assert found.to_pylist() == [1, None, 3]


def test_spilled_arrays_are_copied_to_the_host_and_back(protocol, tmp_path):
    from dask.sizeof import sizeof
    from distributed.spill import SpillBuffer

    array = bridge.to_arrow_device(bridge.from_arrow_device(TABLE))
    _, frames = protocol.serialize(array, serializers=("dask",), on_error="raise")
    assert all(isinstance(frame, memoryview) for frame in frames)
    size = sizeof(array)
    spilled = SpillBuffer(str(tmp_path), target=int(1.5 * size))
    spilled["first"] = array
    del array, frames
    spilled["second"] = 0
    assert spilled.evict() == size
    assert set(spilled.disk) == {"first"}
    found = spilled["first"]
    assert found.device_type == bridge.DeviceType.CUDA
    assert pa.record_batch(found.to_host()).to_pydict() == TABLE.to_pydict()
