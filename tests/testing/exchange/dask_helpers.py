# SPDX-License-Identifier: Apache-2.0
"""A Dask cluster of two workers, and tasks that its workers import."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import distributed
import pyarrow as pa

import cudf_arrow_bridge as cab
from testing.device import wait_until


def table_of(count, start=0):
    return pa.table(
        {
            "a": range(start, start + count),
            "b": [None if i % 3 == 0 else f"b{i}" for i in range(start, start + count)],
            "c": pa.array([f"c{i % 4}" for i in range(count)]).dictionary_encode(),
            "d": [[i, None] for i in range(count)],
        }
    )


TABLE = table_of(100)
SECOND = table_of(50, start=100)
BOTH = pa.concat_tables([TABLE, SECOND])


@contextmanager
def two_workers(**options: Any) -> Iterator[distributed.Client]:
    """Start two workers, by default processes; yield a client."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", **options
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def tasks_of(client: distributed.Client) -> list[str]:
    """Return the keys of all tasks of the scheduler."""
    return client.run_on_scheduler(_tasks)


def is_nothing_left(client: distributed.Client) -> bool:
    """Return whether the scheduler forgets all tasks after a test has dropped its references."""
    # The client keeps exceptions of tasks, whose tracebacks refer to objects of the test.
    for state in list(client.futures.values()):
        if state.exception is not None:
            state.exception.__traceback__ = None
    gc.collect()
    return wait_until(lambda: not tasks_of(client))


def _tasks(dask_scheduler: Any) -> list[str]:
    return list(dask_scheduler.tasks)


def batch(index: int) -> pa.RecordBatch:
    return pa.record_batch({"index": [index] * 3, "text": ["a", None, str(index)]})


def array(index: int) -> cab.DeviceArray:
    return cab.to_arrow_device(batch(index))


def array_after(event: str, index: int) -> cab.DeviceArray:
    """Return an array after the cluster's event of this name is set."""
    assert distributed.Event(event).wait(60)
    return array(index)


def fail(index: int) -> None:
    raise KeyError(f"task {index}")


def rows_read_by_task(futures: list[distributed.Future]) -> list[dict[str, Any]]:
    """Return the rows of futures, read within a task."""
    with distributed.worker_client():
        return pa.table(cab.to_arrow_device_stream(futures)).to_pylist()


class Maker:
    """An actor that makes arrays."""

    def array(self, index: int) -> cab.DeviceArray:
        return array(index)


def read_so_far() -> int:
    """Return the number of bytes that this process has read from files."""
    with open("/proc/self/io") as counters:
        name, value = counters.readline().split()
    assert name == "rchar:"
    return int(value)


def pid_of(*_: Any) -> int:
    return os.getpid()


def sum_of(array: cab.DeviceArray, column: str) -> int:
    return int(array[column].to_arrow().to_numpy().sum())


def device_type(array: cab.DeviceArray) -> int:
    return int(array.device_type)
