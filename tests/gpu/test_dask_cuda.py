# SPDX-License-Identifier: Apache-2.0
"""Workers of dask-cuda: one process for each GPU, which is device 0 in its process."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from testing.device import GPU

pytestmark = GPU

BATCH = pa.record_batch({"a": [1, None, 3], "b": ["x", None, ""]})


def cross():
    """Export and import a frame on a worker. Return the devices and the rows."""
    import os

    import cudf_arrow_bridge as bridge

    assert bridge.has_gpu()
    frame = bridge.from_arrow_device(BATCH)
    exported = bridge.to_arrow_device(frame)
    back = bridge.from_arrow_device(exported)
    rows = pa.array(bridge.to_arrow_device(back).to_host()).to_pylist()
    return os.environ["CUDA_VISIBLE_DEVICES"], int(exported.device_type), exported.device_id, rows


@pytest.fixture(scope="module")
def client():
    dask_cuda = pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only")
    from distributed import Client

    with (
        dask_cuda.LocalCUDACluster(dashboard_address=None) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


def test_every_worker_has_its_own_gpu(client):
    found = client.run(cross)
    places = [place for place, *_ in found.values()]
    assert len({place.split(",")[0] for place in places}) == len(places)
    for _, device_type, device_id, rows in found.values():
        assert (device_type, device_id) == (bridge.DeviceType.CUDA, 0)
        assert rows == BATCH.to_pylist()


@pytest.mark.parametrize("column", ["a", "b", None])
def test_arrays_move_to_the_host_and_to_disk_and_back(column, tmp_path):
    pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    from dask_cuda.device_host_file import DeviceHostFile

    table = pa.table({"a": [1, 2, 3] * 1000, "b": ["x", None, ""] * 1000})
    frame = bridge.from_arrow_device(table)
    make = (lambda: frame) if column is None else (lambda: frame[column])
    size = bridge.to_arrow_device(make()).nbytes
    limits = {"device_memory_limit": int(1.5 * size), "memory_limit": int(1.5 * size)}
    storage = DeviceHostFile(str(tmp_path), **limits)
    keys = ("first", "second", "third")
    for key in keys:
        storage[key] = bridge.to_arrow_device(make())
    places = storage.device, storage.host, storage.disk
    assert [set(place) for place in places] == [{"third"}, {"second"}, {"first"}]
    for key in keys:
        found = storage[key]
        assert found.device_type == bridge.DeviceType.CUDA
        assert found.equals(bridge.to_arrow_device(make()))
