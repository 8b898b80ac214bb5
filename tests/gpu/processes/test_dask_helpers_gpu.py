# SPDX-License-Identifier: Apache-2.0
"""Two worker processes on one GPU read files into device memory and make cuDF frames."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as bridge
from testing.device import GPU, rows

pytest.importorskip("distributed")

from testing.exchange import dask_helpers as tasks

pytestmark = GPU

TABLE = pa.table({"a": range(100), "b": [None if i % 3 == 0 else f"b{i}" for i in range(100)]})


@pytest.fixture(scope="module")
def client():
    with tasks.two_workers() as connected:
        yield connected


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(TABLE, path, row_group_size=25)
    return path


def test_files_are_read_into_device_memory(client, parquet):
    futures = bridge.dask.to_futures(parquet, client=client, blocksize=1)
    assert client.gather(client.map(tasks.device_type, futures)) == [bridge.DeviceType.CUDA] * 4
    batches = list(bridge.to_arrow_device_stream(futures))
    assert {batch.device_type for batch in batches} == {bridge.DeviceType.CUDA}
    assert [row for batch in batches for row in rows(batch)] == TABLE.to_pylist()


def test_sent_tables_are_in_device_memory_on_the_workers(client):
    futures = bridge.dask.to_futures(TABLE, client=client, max_rows=40)
    assert client.gather(client.map(tasks.device_type, futures)) == [bridge.DeviceType.CUDA] * 3
    batches = bridge.to_arrow_device_stream(futures)
    assert [row for batch in batches for row in rows(batch)] == TABLE.to_pylist()


@pytest.mark.parametrize("to", ["cudf", "pandas", None])
@pytest.mark.parametrize("kind", ["files", "sent"])
def test_to_dataframe_makes_frames_of_the_requested_library(client, parquet, kind, to):
    if to != "pandas":
        pytest.importorskip("dask_cudf", reason="dask_cudf is not installed")
    source = parquet if kind == "files" else TABLE
    frame = bridge.dask.to_dataframe(source, to=to)
    assert int(frame["a"].sum().compute()) == sum(range(100))
    kept = frame[frame["a"] > 90].compute()
    assert type(kept).__module__.split(".")[0] == (to or "cudf")
    assert len(kept) == 9
