# SPDX-License-Identifier: Apache-2.0
"""Device memory in Dask: workers of one GPU and of several, serializers, spilling, and UCX."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from testing.device import GPU, on_device, rows
from testing.ipc.samples import CUTS
from testing.processes import PYTHONPATH
from testing.samples import TYPES

pytest.importorskip("distributed", reason="the extra dask is not installed")

import distributed
from distributed import protocol

from testing.exchange import dask_helpers as tasks

pytestmark = GPU

TABLE = pa.table({"a": range(300), "b": ["x", None, ""] * 100, "c": [[1], None, []] * 100})
#: By default, UCX logs to the standard output, where the programs write their answers.
UCX = {"UCX_TLS": "tcp,self,sm,cuda_copy,cuda_ipc", "UCX_LOG_FILE": "stderr"}


@pytest.mark.parametrize("scheme", ["tcp", "ucx"])
def test_workers_exchange_arrays(scheme):
    """TCP uses the serializers of host memory, UCX those of device memory."""
    if scheme == "ucx":
        for name in ("ucxx", "distributed_ucxx", "cuda.core"):
            pytest.importorskip(name, reason="the extra ucx is not installed", exc_type=ImportError)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "testing.exchange.dask_gpu", scheme],
        env=os.environ | {"PYTHONPATH": PYTHONPATH} | UCX,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wrong, count, device_types = json.loads(done.stdout.splitlines()[-1])
    assert wrong == []
    assert count == len(TYPES) * len(CUTS)
    assert device_types == ["CUDA"]


def test_cuda_serializer_shares_device_memory():
    array = cab.to_arrow_device(cab.from_arrow_device(TABLE))
    header, (first, *frames) = protocol.serialize(array, serializers=("cuda",), on_error="raise")
    assert first.nbytes == 0
    addresses = [frame.__cuda_array_interface__["data"][0] for frame in frames]
    assert addresses == [buffer.address for buffer in array.buffers() if buffer.size]
    found = protocol.deserialize(header, [first, *frames])
    assert [buffer.address for buffer in found.buffers() if buffer.size] == addresses
    assert found.device_type == cab.DeviceType.CUDA
    assert pa.record_batch(found.to_host()).to_pydict() == TABLE.to_pydict()


def test_cuda_serializer_copies_pinned_memory_to_host_frames():
    import rmm.mr

    column = on_device(pa.array([1, None, 3]), mr=rmm.mr.PinnedHostMemoryResource())
    array = cab.to_arrow_device(column)
    assert array.device_type == cab.DeviceType.CUDA_HOST
    header, frames = protocol.serialize(array, serializers=("cuda",), on_error="raise")
    assert all(isinstance(frame, memoryview) for frame in frames)
    found = protocol.deserialize(header, frames)
    assert found.device_type == cab.DeviceType.CPU
    assert found.to_pylist() == [1, None, 3]


def test_spilled_arrays_are_copied_to_the_host_and_back(tmp_path):
    from dask.sizeof import sizeof
    from distributed.spill import SpillBuffer

    array = cab.to_arrow_device(cab.from_arrow_device(TABLE))
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
    assert found.device_type == cab.DeviceType.CUDA
    assert pa.record_batch(found.to_host()).to_pydict() == TABLE.to_pydict()


@pytest.fixture(scope="module")
def client():
    with tasks.two_workers() as connected:
        yield connected


FLAT = TABLE.select(["a", "b"])


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(FLAT, path, row_group_size=100)
    return path


@pytest.mark.parametrize("kind", ["files", "sent"])
def test_futures_are_in_device_memory_on_the_workers(client, parquet, kind):
    if kind == "files":
        futures = cab.dask.to_futures(parquet, client=client, blocksize=1)
    else:
        futures = cab.dask.to_futures(FLAT, client=client, max_rows=100)
    assert client.gather(client.map(tasks.device_type, futures)) == [cab.DeviceType.CUDA] * 3
    batches = list(cab.to_arrow_device_stream(futures))
    assert {batch.device_type for batch in batches} == {cab.DeviceType.CUDA}
    assert [row for batch in batches for row in rows(batch)] == FLAT.to_pylist()


@pytest.mark.parametrize("to", ["cudf", "pandas", None])
def test_to_dataframe_makes_frames_of_the_requested_library(client, parquet, to):
    if to != "pandas":
        pytest.importorskip("dask_cudf", reason="dask_cudf is not installed")
    frame = cab.dask.to_dataframe(parquet, to=to)
    assert int(frame["a"].sum().compute()) == sum(range(300))
    kept = frame[frame["a"] > 290].compute()
    assert type(kept).__module__.split(".")[0] == (to or "cudf")
    assert len(kept) == 9


def cross():
    """Export and import a frame on a worker. Return the devices and the rows."""
    assert cab.has_gpu()
    exported = cab.to_arrow_device(cab.from_arrow_device(TABLE))
    back = cab.from_arrow_device(exported)
    found = pa.array(cab.to_arrow_device(back).to_host()).to_pylist()
    return os.environ["CUDA_VISIBLE_DEVICES"], int(exported.device_type), exported.device_id, found


def test_every_worker_of_dask_cuda_has_its_own_gpu():
    dask_cuda = pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only")
    with (
        dask_cuda.LocalCUDACluster(dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = client.run(cross)
    places = [place for place, *_ in found.values()]
    assert len({place.split(",")[0] for place in places}) == len(places)
    for _, device_type, device_id, result in found.values():
        assert (device_type, device_id) == (cab.DeviceType.CUDA, 0)
        assert result == TABLE.to_pylist()


@pytest.mark.parametrize("column", ["a", "b", None])
def test_arrays_of_dask_cuda_move_to_the_host_and_to_disk_and_back(column, tmp_path):
    pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    from dask_cuda.device_host_file import DeviceHostFile

    table = pa.table({"a": [1, 2, 3] * 1000, "b": ["x", None, ""] * 1000})
    frame = cab.from_arrow_device(table)
    make = (lambda: frame) if column is None else (lambda: frame[column])
    size = cab.to_arrow_device(make()).nbytes
    limits = {"device_memory_limit": int(1.5 * size), "memory_limit": int(1.5 * size)}
    storage = DeviceHostFile(str(tmp_path), **limits)
    keys = ("first", "second", "third")
    for key in keys:
        storage[key] = cab.to_arrow_device(make())
    places = storage.device, storage.host, storage.disk
    assert [set(place) for place in places] == [{"third"}, {"second"}, {"first"}]
    for key in keys:
        found = storage[key]
        assert found.device_type == cab.DeviceType.CUDA
        assert found.equals(cab.to_arrow_device(make()))


def test_ucx_example_sends_bodies_by_cuda_ipc(tmp_path):
    """UCX logs the transports of each kind of message and memory."""
    pytest.importorskip("ucxx", reason="the extra ucx is not installed", exc_type=ImportError)
    pytest.importorskip("cupy")
    from testing.ipc.ucx_example import run_example

    output, protocols = run_example(tmp_path, UCX_TLS="tcp,self,sm,cuda_copy,cuda_ipc")
    assert "of metadata" in output
    assert "from iov" not in protocols
    _, *sends = protocols.split("tagged message by ucp_tag_send*")
    assert any("from cuda" in send[:60] and "cuda_ipc" in send for send in sends)
