# SPDX-License-Identifier: Apache-2.0
"""Device arrays in Ray are copied to the host, and back to the device."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import GPU
from testing.exchange import ray_cluster as cluster

ray = cluster.ray

# Ray warns about its own settings. `GPU` allows all warnings.
pytestmark = GPU

TABLE = pa.table(
    {
        "a": pa.array([1, None, 3] * 1000),
        "b": pa.array(["x", None, ""] * 1000),
        "c": pa.array([[1], None, [2, 3]] * 1000),
        "d": pa.array([True, None, False] * 1000),
    }
)


@pytest.fixture(scope="module", autouse=True)
def running():
    with cluster.running_cluster(num_gpus=1):
        yield


def on_device():
    return cab.to_arrow_device(cab.from_arrow_device(TABLE))


def rows_of(array):
    return pa.table(array.to_host()).to_pylist()


def test_array_of_the_object_store_is_on_the_device():
    array = on_device()
    assert array.device_type == cab.DeviceType.CUDA
    found = ray.get(ray.put(array))
    assert (found.device_type, found.device_id) == (array.device_type, array.device_id)
    assert rows_of(found) == TABLE.to_pylist()
    part = ray.get(ray.put(cab.to_arrow_device(cab.from_arrow_device(found)[5:14])))
    assert rows_of(part) == TABLE[5:14].to_pylist()


def test_tasks_with_a_gpu_get_arrays_on_the_device():
    def double(array):
        frame = cab.from_arrow_device(array)
        frame["a"] = frame["a"] * 2
        return int(array.device_type), cab.to_arrow_device(frame)

    device_type, found = ray.get(ray.remote(num_gpus=1)(double).remote(on_device()))
    assert device_type == cab.DeviceType.CUDA
    assert found.device_type == cab.DeviceType.CUDA
    assert [row["a"] for row in rows_of(found)[:3]] == [2, None, 6]


def test_tasks_without_a_gpu_get_arrays_on_the_host():
    def where(array):
        return int(array.device_type), pa.table(array).to_pylist()

    # Ray does not hide the GPUs from tasks that request none.
    hidden = {"env_vars": {"CUDA_VISIBLE_DEVICES": ""}}
    task = ray.remote(num_gpus=0, runtime_env=hidden)(where)
    device_type, rows = ray.get(task.remote(on_device()))
    assert device_type == cab.DeviceType.CPU
    assert rows == TABLE.to_pylist()


def test_stream_of_a_dataset_is_on_the_device():
    dataset = cab.ray.to_dataset(cab.from_arrow_device(TABLE), max_rows=1000)
    batches = list(cab.to_arrow_device_stream(dataset))
    assert {batch.device_type for batch in batches} == {cab.DeviceType.CUDA}
    assert [row for batch in batches for row in rows_of(batch)] == TABLE.to_pylist()
