# SPDX-License-Identifier: Apache-2.0
"""`to_dataframe`: workers make frames from files and from data that is sent to them."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from testing.exchange import dask_helpers as tasks

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

FRAMES = {
    "plain": pd.DataFrame({"a": range(10), "b": [f"b{i}" for i in range(10)]}),
    "index": pd.DataFrame({"a": range(10)}, index=pd.Index(range(20, 30), name="key")),
    "range": pd.DataFrame({"a": range(10)}, index=pd.RangeIndex(5, 25, 2, name="key")),
    "times": pd.DataFrame({"t": pd.date_range("2026-01-01", periods=10, tz="Europe/Berlin")}),
    "floats": pd.DataFrame({"x": np.linspace(0, 1, 10), "y": [True, False] * 5}),
}


def same(found, expected):
    """Check that frames are equal except for the type of strings, which Dask chooses."""
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_column_type=False)
    strings = [name for name in expected if expected[name].dtype.kind not in "biufM"]
    assert found.dtypes.drop(strings).equals(expected.dtypes.drop(strings))
    return True


@pytest.mark.parametrize("name", FRAMES)
def test_to_dataframe_of_a_frame_keeps_its_rows(scheduler, name):
    frame = FRAMES[name]
    sent = cab.dask.to_dataframe(frame, to="pandas", max_rows=4)
    assert sent.npartitions == 3
    assert not sent.known_divisions
    assert same(sent.compute(), frame)
    assert same(sent._meta, frame.iloc[:0])


@pytest.mark.parametrize("name", FRAMES)
def test_to_dataframe_of_a_file_has_a_partition_for_each_row_group(scheduler, tmp_path, name):
    frame = FRAMES[name]
    path = tmp_path / "frame.parquet"
    frame.to_parquet(path, row_group_size=4)
    found = cab.dask.to_dataframe(path, to="pandas", blocksize=1)
    assert found.npartitions == 3
    assert same(found._meta, frame.iloc[:0])
    expected = pd.read_parquet(path)
    computed = found.compute()
    if isinstance(frame.index, pd.RangeIndex):
        # Each partition has its own range index.
        computed, expected = computed.reset_index(drop=True), expected.reset_index(drop=True)
    assert same(computed, expected)
    assert found.map_partitions(len).compute().tolist() == [4, 4, 2]


def test_files_are_read_when_partitions_are_computed(scheduler, parquet):
    frame = cab.dask.to_dataframe(parquet, to="pandas", columns=["a"], blocksize=1)
    assert frame.npartitions == 5
    assert int(frame.partitions[4]["a"].sum().compute()) == sum(range(100, 150))
    (parquet / "2.parquet").unlink()
    assert int(frame.partitions[:4]["a"].sum().compute()) == sum(range(100))
    with pytest.raises(FileNotFoundError):
        frame["a"].sum().compute()


def test_partitions_are_made_on_the_workers(client, parquet):
    workers = {*client.run(os.getpid).values()}
    for source in (parquet, tasks.TABLE):
        frame = cab.dask.to_dataframe(source, to="pandas")
        assert {*frame.map_partitions(tasks.pid_of, meta=(None, int)).compute()} <= workers


def test_to_dataframe_of_a_series_returns_a_series(scheduler):
    series = cab.dask.to_dataframe(pd.Series([1, 2, 3], name="a"), to="pandas", max_rows=2)
    assert series.compute().tolist() == [1, 2, 3]
    assert (series.name, series.npartitions, int(series.sum().compute())) == ("a", 2, 6)


def test_to_dataframe_accepts_files_with_different_categories(scheduler, parquet):
    frame = cab.dask.to_dataframe(parquet, to="pandas", columns=["c"], blocksize=1)
    assert not frame["c"].cat.known
    assert frame["c"].astype("object").compute().tolist() == tasks.BOTH["c"].to_pylist()


def test_dask_dataframe_is_exported_as_a_stream(scheduler, parquet):
    frame = cab.dask.to_dataframe(parquet, to="pandas", columns=["a"], blocksize=1)
    filtered = frame[frame["a"] % 2 == 1]
    found = pa.table(cab.to_arrow_device_stream(filtered)).column("a").to_pylist()
    assert found == [value for value in tasks.BOTH["a"].to_pylist() if value % 2]
