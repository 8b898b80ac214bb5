# SPDX-License-Identifier: Apache-2.0
"""Clusters on this machine, one for each test module that uses them."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

#: Packages that the workers use. The bridge is not among them.
PACKAGES = ["dask.dataframe", "distributed", "pyarrow.dataset", "pylibcudf", "pytest"]


@pytest.fixture(scope="module")
def workers():
    """The client of a Dask cluster of two processes, forks of one that imported `PACKAGES`."""
    import dask
    from distributed.utils import get_mp_context

    from testing.exchange import dask_helpers

    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(PACKAGES)
        with dask_helpers.two_workers() as connected:
            yield connected


@pytest.fixture
def client(workers):
    """The client. After a test, no tasks may stay on the scheduler."""
    from testing.exchange import dask_helpers

    yield workers
    assert dask_helpers.is_nothing_left(workers), dask_helpers.tasks_of(workers)


@pytest.fixture(params=["threads", "client"])
def scheduler(request):
    """The schedulers that Dask may use."""
    import dask

    if request.param == "client":
        request.getfixturevalue("client")
        yield
    else:
        with dask.config.set(scheduler=request.param):
            yield


@pytest.fixture
def parquet(tmp_path):
    """Write two files, with 4 row groups and with 1."""
    from testing.exchange.dask_helpers import SECOND, TABLE

    pq.write_table(TABLE, tmp_path / "1.parquet", row_group_size=25)
    pq.write_table(SECOND, tmp_path / "2.parquet")
    return tmp_path
