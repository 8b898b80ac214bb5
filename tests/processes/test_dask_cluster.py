# SPDX-License-Identifier: Apache-2.0
"""Device arrays between the processes of a Dask cluster."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import wait_until
from testing.exchange import dask_tasks
from testing.exchange.crossings import BATCHES, arrays_of, contents
from testing.processes import PYTHONPATH

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

#: A timeout in seconds that is long enough for a busy machine.
PATIENCE = 120
#: By default, UCX logs to the standard output, where the programs write their answers.
UCX = {"UCX_TLS": "tcp,self,sm", "UCX_LOG_FILE": "stderr", "UCX_WARN_UNUSED_ENV_VARS": "n"}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as running:
        yield running


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, timeout=PATIENCE) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


@pytest.fixture
def workers(client):
    return list(client.scheduler_info()["workers"])


def test_workers_exchange_arrays_of_every_type(client, workers):
    first, second = workers
    made = client.submit(dask_tasks.make_types, list(BATCHES), workers=[first])
    process = client.submit(dask_tasks.process_of_worker, workers=[first], pure=False)
    read = client.submit(dask_tasks.read_types, made, process, workers=[second])
    wrong, counts = read.result(timeout=PATIENCE)
    assert wrong == []
    assert counts["pyarrow"] > 10 * len(BATCHES)
    assert counts["polars"] > counts["pyarrow"] / 2


def test_gather_and_scatter_keep_the_arrays(client, workers):
    names = list(BATCHES)[::5]
    made = client.submit(dask_tasks.make_types, names, workers=workers[:1])
    for direct in (False, True):
        gathered = client.gather(made, direct=direct)
        for name in names:
            pairs = zip(gathered[name], arrays_of(name), strict=True)
            assert all(contents(found).equals(contents(expected)) for found, expected in pairs)
        for worker in workers:
            # In a list, because `scatter` makes a future of each value of a dictionary.
            (scattered,) = client.scatter([gathered], workers=[worker], direct=direct, hash=False)
            (other,) = set(workers) - {worker}
            read = client.submit(dask_tasks.read_types, scattered, 0, workers=[other], pure=False)
            assert read.result(timeout=PATIENCE)[0] == []


def test_task_takes_an_array_as_an_argument(client, workers):
    array = dask_tasks.numbered(3, 10)
    for worker in workers:
        sent = client.submit(dask_tasks.total, array, 3, workers=[worker], pure=False)
        assert sent.result(timeout=PATIENCE) == sum(range(3, 13))


def test_task_runs_again_after_its_worker_is_killed(client, workers, tmp_path):
    """The task runs again on any worker."""
    log = tmp_path / "made"
    first, second = workers
    processes = client.run(os.getpid)
    made = client.submit(
        *(dask_tasks.numbered, 5, 1000, str(log)), workers=[first], allow_other_workers=True
    )
    distributed.wait(made, timeout=PATIENCE)
    before = client.submit(dask_tasks.total, made, 5, workers=[second])
    assert before.result(timeout=PATIENCE) == sum(range(5, 1005))
    # The second worker now has a copy of `made`. No other worker has a copy of `only`.
    only = client.submit(
        *(dask_tasks.numbered, 7, 1000, str(log)), workers=[first], allow_other_workers=True
    )
    distributed.wait(only, timeout=PATIENCE)
    assert client.who_has([only])[only.key] == (first,)
    os.kill(processes[first], signal.SIGKILL)
    read = client.submit(dask_tasks.total, only, 7, workers=[second], allow_other_workers=True)
    assert read.result(timeout=PATIENCE) == sum(range(7, 1007))
    array = only.result(timeout=PATIENCE)
    assert pa.record_batch(array)["n"].to_pylist() == list(range(7, 1007))
    lines = log.read_text().split()
    assert len(lines) == 3
    assert lines[2] != lines[1] == lines[0] == str(processes[first])


@pytest.mark.exhaustive
def test_thousand_exchanges_of_arrays_do_not_leak_memory(client):
    """Each array has 60 KB. The scheduler and the client are in this process."""
    client.wait_for_workers(2, timeout=PATIENCE)
    first, second = client.scheduler_info()["workers"]

    def exchange(begin, count):
        indices = range(begin, begin + count)
        made = client.map(dask_tasks.numbered, indices, rows=2000, workers=[first], pure=False)
        read = client.map(dask_tasks.total, made, indices, workers=[second], pure=False)
        expected = [sum(range(index, index + 2000)) for index in indices]
        assert client.gather(read) == expected
        assert sum(len(array) for array in client.gather(made)) == 2000 * count

    exchange(0, 100)
    # Distributed keeps the arguments of its last tasks for a while.
    before, held = in_use(), arrays_held()
    for begin in range(0, 1000, 50):
        exchange(begin, 50)
    assert wait_until(lambda: not client.run_on_scheduler(dask_tasks.tasks_known), seconds=PATIENCE)
    assert arrays_held() <= held
    assert in_use() - before < 20e6
    assert client.run(dask_tasks.keys_held) == {first: [], second: []}


def arrays_held():
    gc.collect()
    return sum(type(obj) is cab.DeviceArray for obj in gc.get_objects())


def in_use():
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_workers_exchange_arrays_of_every_type_over_ucx():
    """The cluster runs in a process of its own. UCX uses TCP."""
    pytest.importorskip("ucxx", reason="the extra ucx is not installed", exc_type=ImportError)
    pytest.importorskip("distributed_ucxx", reason="the extra ucx is not installed")
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-m", "testing.exchange.dask_ucx"],
        env=os.environ | {"PYTHONPATH": PYTHONPATH} | UCX,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (workers, wrong, counts), copied = json.loads(done.stdout.splitlines()[-1])
    assert all(worker.startswith("ucx://") for worker in workers)
    assert wrong == []
    assert counts["pyarrow"] > 10 * len(BATCHES)
    assert copied == [15, 0]
