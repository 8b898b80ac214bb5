# SPDX-License-Identifier: Apache-2.0
"""Arrays between the processes of a cluster, `to_futures` and `to_dataframe`.

Workers read files; other data is sent to the workers.
"""

from __future__ import annotations

import asyncio
import doctest
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import cudf_arrow_bridge as cab

pytest.importorskip("distributed")
pytest.importorskip("dask.dataframe")
import dask
import distributed

from testing.exchange import crossings
from testing.exchange import dask_helpers as tasks
from testing.exchange.crossings import BATCHES
from testing.host import table_without_protocols
from testing.processes import Process

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


#: By default, UCX logs to the standard output, where the programs write their answers.
UCX = {"UCX_TLS": "tcp,self,sm", "UCX_LOG_FILE": "stderr", "UCX_WARN_UNUSED_ENV_VARS": "n"}


def test_workers_exchange_arrays_of_every_type(client):
    first, second = client.scheduler_info()["workers"]
    sent = client.submit(crossings.arrays_by_name, list(BATCHES), workers=[first])
    process = client.submit(tasks.pid_of, workers=[first], pure=False)
    wrong, count = client.submit(crossings.differences, sent, process, workers=[second]).result()
    assert wrong == []
    assert count > 10 * len(BATCHES)


@pytest.mark.parametrize("direct", [False, True])
def test_gather_and_scatter_keep_the_arrays(client, direct):
    first, second = client.scheduler_info()["workers"]
    sent = client.submit(crossings.arrays_by_name, list(BATCHES)[::9], workers=[first])
    gathered = client.gather(sent, direct=direct)
    assert crossings.differences(gathered, 0)[0] == []
    # In a list, because `scatter` makes a future of each value of a dictionary.
    (scattered,) = client.scatter([gathered], workers=[first], direct=direct, hash=False)
    read = client.submit(crossings.differences, scattered, 0, workers=[second], pure=False)
    assert read.result()[0] == []


def test_ucx_transport_sends_arrays_of_many_types_and_copies_no_bodies():
    """UCX uses TCP. The arrays go from a process to itself, by the transport of distributed."""
    pytest.importorskip("ucxx", reason="the extra ucx is not installed", exc_type=ImportError)
    pytest.importorskip("distributed_ucxx", reason="the extra ucx is not installed")
    with Process("testing.exchange.dask_ucx", **UCX) as process:
        process.ask("arrays_that_differ")
        wrong, count = process.answer()
        assert wrong == []
        assert count > 2 * len(BATCHES)
        process.ask("copied")
        assert process.answer() == [15, 0]


@pytest.mark.exhaustive
def test_workers_exchange_arrays_over_ucx():
    pytest.importorskip("distributed_ucxx", reason="the extra ucx is not installed")
    with Process("testing.exchange.dask_ucx", **UCX) as process:
        process.ask("between_workers")
        wrong, count, device_types = process.answer()
    assert (wrong, device_types) == ([], ["CPU"])
    assert count > len(BATCHES)


def read(futures):
    return pa.table(cab.to_arrow_device_stream(futures))


def lengths(client, futures):
    return client.gather(client.map(len, futures))


def test_to_futures_combines_row_groups_up_to_the_block_size(client, parquet):
    metadata = pq.read_metadata(parquet / "1.parquet")
    # Later row groups are larger.
    sizes = [metadata.row_group(index).total_byte_size for index in range(4)]
    for blocksize, expected in (
        (1, [25, 25, 25, 25, 50]),
        (sizes[0] + sizes[1], [50, 25, 25, 50]),
        (sum(sizes) - 1, [75, 25, 50]),
        ("1 MiB", [100, 50]),
    ):
        futures = cab.dask.to_futures(parquet, client=client, blocksize=blocksize)
        assert lengths(client, futures) == expected
        assert read(futures).equals(tasks.BOTH)


def test_to_futures_accepts_all_forms_of_file_names(client, parquet):
    union = ds.dataset([ds.dataset(parquet / "1.parquet"), ds.dataset(parquet / "2.parquet")])
    for name in (str(parquet / "*.parquet"), union, f"file://{parquet}"):
        futures = cab.dask.to_futures(name, client=client)
        assert lengths(client, futures) == [100, 50]
        assert read(futures).equals(tasks.BOTH)


@pytest.mark.parametrize(
    ("ending", "write"), [("arrow", cab.ipc.write_file), ("arrows", cab.ipc.write_stream)]
)
def test_to_futures_reads_arrow_files(client, tmp_path, ending, write):
    for number, table in enumerate((tasks.TABLE, tasks.SECOND)):
        write(table, tmp_path / f"{number}.{ending}", max_rows=30)
    futures = cab.dask.to_futures(tmp_path, client=client, columns=["d", "a"])
    assert lengths(client, futures) == [100, 50]
    assert read(futures).equals(tasks.BOTH.select(["d", "a"]))


def test_to_futures_reads_csv_files_with_common_types(client, tmp_path):
    csv.write_csv(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "1.csv")
    csv.write_csv(pa.table({"a": [0.5], "b": ["z"]}), tmp_path / "2.csv")
    futures = cab.dask.to_futures(tmp_path, client=client, filter=pc.field("a") > 0.7)
    # A task alone cannot infer the types of the other file.
    assert [array.schema.types for array in client.gather(futures)] == [
        [pa.float64(), pa.string()]
    ] * 2
    assert read(futures).to_pydict() == {"a": [1.0, 2.0], "b": ["x", "y"]}


def test_to_futures_reads_partitioned_folders(client, tmp_path):
    ds.write_dataset(
        pa.table({"a": range(6), "year": [2024, 2025] * 3}),
        tmp_path,
        format="parquet",
        partitioning=["year"],
        partitioning_flavor="hive",
    )
    futures = cab.dask.to_futures(tmp_path, client=client)
    assert read(futures).to_pydict() == {"a": [0, 2, 4, 1, 3, 5], "year": [2024] * 3 + [2025] * 3}
    later = cab.dask.to_futures(tmp_path, client=client, filter=pc.field("year") > 2024)
    assert lengths(client, later) == [3]


def test_filter_omits_row_groups_and_rows(client, parquet):
    options = {"columns": ["b", "a"], "filter": pc.field("a") >= 60}
    futures = cab.dask.to_futures(parquet, client=client, blocksize=1, **options)
    assert lengths(client, futures) == [15, 25, 50]
    assert read(futures).equals(tasks.BOTH.slice(60).select(["b", "a"]))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_filter_that_selects_no_rows_keeps_the_schema(client, tmp_path, ending):
    ds.write_dataset(tasks.TABLE, tmp_path, format=ending)
    none = pc.field("a") > 1000
    (future,) = cab.dask.to_futures(tmp_path, client=client, columns=["a", "c"], filter=none)
    assert len(future.result()) == 0
    assert read(future).schema.equals(tasks.TABLE.select(["a", "c"]).schema)
    frame = cab.dask.to_dataframe(tmp_path, filter=none)
    assert len(frame) == 0
    assert [*frame.columns] == tasks.TABLE.column_names


def test_client_reads_only_the_metadata_of_files(client, tmp_path):
    path = tmp_path / "large.parquet"
    values = np.random.default_rng(1).integers(0, 2**60, 2_000_000)
    pq.write_table(pa.table({"a": values}), path, compression="none", row_group_size=500_000)
    size = path.stat().st_size
    here = tasks.read_so_far()
    there = sum(client.run(tasks.read_so_far).values())
    futures = cab.dask.to_futures(path, client=client, blocksize=1)
    frame = cab.dask.to_dataframe(path, to="pandas", blocksize=1)
    total = client.submit(sum, client.map(tasks.sum_of, futures, ["a"] * 4)).result()
    assert total == values.sum()
    assert int(frame["a"].sum().compute()) == values.sum()
    assert tasks.read_so_far() - here < size / 4
    # The workers read the file once for the futures, and once for the frame.
    assert sum(client.run(tasks.read_so_far).values()) - there > 2 * size


def test_restarted_worker_reads_files_again_and_loses_sent_data(client, parquet):
    worker, _ = client.scheduler_info()["workers"]
    with dask.annotate(workers=[worker], allow_other_workers=True):
        read_there = cab.dask.to_futures(parquet, client=client)
    with dask.annotate(workers=[worker]):
        sent = cab.dask.to_futures(tasks.TABLE, client=client)
    distributed.wait([*read_there, *sent])
    assert {*client.who_has([*read_there, *sent]).values()} == {(worker,)}
    client.restart_workers([worker], timeout=60)
    assert read(read_there).equals(tasks.BOTH)
    with pytest.raises(distributed.client.FutureCancelledError):
        read(sent)


def test_to_futures_rejects_a_missing_file_and_reads_a_replaced_file(client, parquet):
    futures = cab.dask.to_futures(parquet, client=client)
    distributed.wait(futures)
    (parquet / "2.parquet").unlink()
    assert read(futures).equals(tasks.BOTH)
    with pytest.raises(FileNotFoundError):
        cab.dask.to_futures(parquet / "2.parquet", client=client)
    (parquet / "2.parquet").symlink_to(parquet / "1.parquet")
    # The file is read again, although the futures of the old file still exist.
    assert read(cab.dask.to_futures(parquet / "2.parquet", client=client)).equals(tasks.TABLE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ([tasks.TABLE, tasks.SECOND.to_batches()[0]], [40, 40, 20, 40, 10]),
        (iter([tasks.TABLE]), [40, 40, 20]),
        (ds.dataset(tasks.TABLE), [40, 40, 20]),
        (tasks.TABLE["a"].chunk(0), [40, 40, 20]),
    ],
    ids=["list", "iterator", "dataset", "column"],
)
def test_to_futures_sends_data_that_is_not_in_files(client, source, expected):
    futures = cab.dask.to_futures(source, client=client, max_rows=40)
    assert lengths(client, futures) == expected
    arrays = [pa.array(array) for array in client.gather(futures)]
    rows = pa.chunked_array(arrays).to_pylist()
    if isinstance(rows[0], dict):
        assert rows == tasks.BOTH.to_pylist()[: sum(expected)]
    else:
        assert rows == [*range(100)]


def test_to_futures_sends_one_batch_at_a_time(client):
    held = []

    def batches():
        for index in range(4):
            held.append(len(tasks.tasks_of(client)))
            yield tasks.batch(index)

    futures = cab.dask.to_futures(batches(), client=client)
    assert held == [0, 1, 2, 3]
    assert lengths(client, futures) == [3] * 4


def test_to_futures_selects_columns_and_rows_of_a_dataset_in_memory(client):
    options = {"columns": ["a"], "filter": pc.field("a") > 90}
    futures = cab.dask.to_futures(ds.dataset(tasks.TABLE), client=client, **options)
    assert read(futures).to_pydict() == {"a": [*range(91, 100)]}


def test_to_futures_in_an_event_loop_accepts_only_files(client, parquet):
    async def main():
        async with distributed.Client(client.scheduler.address, asynchronous=True) as own:
            with pytest.raises(RuntimeError, match="another thread"):
                cab.dask.to_futures(tasks.TABLE, client=own)
            return await own.gather(own.map(len, cab.dask.to_futures(parquet, client=own)))

    assert asyncio.run(main()) == [100, 50]


def test_wrong_arguments_raise_errors(client, parquet):
    to_futures = cab.dask.to_futures
    with pytest.raises(ValueError, match=r"max_rows=3 .*blocksize="):
        to_futures(parquet, client=client, max_rows=3)
    with pytest.raises(KeyError, match="missing"):
        to_futures(parquet, client=client, columns=["missing"])
    with pytest.raises(ValueError, match=r"^columns: "):
        to_futures(tasks.TABLE, client=client, columns=["a"])
    with pytest.raises(ValueError, match=r"^to: .*'polars'"):
        cab.dask.to_dataframe(parquet, to="polars")
    with pytest.raises(ValueError, match=r'^to="cudf" needs a GPU'):
        cab.dask.to_dataframe(parquet, to="cudf")
    with pytest.raises(ValueError, match=r"schema.*batch"):
        cab.dask.to_dataframe([])


@pytest.mark.parametrize("name", cab.dask.__all__)
def test_docstring_examples_print_their_output(client, monkeypatch, name):
    monkeypatch.chdir(Path(__file__).parents[2])
    function = getattr(cab.dask, name)
    (test,) = doctest.DocTestFinder().find(function, name, globs={"cab": cab}, module=False)
    assert test.examples
    out = []
    assert not doctest.DocTestRunner().run(test, out=out.append).failed, "".join(out)


def test_to_futures_sends_tables_of_pylibcudf(client):
    columns = [pa.array([1, None, 3]), pa.array([True, None, False])]
    futures = cab.dask.to_futures(table_without_protocols(columns), client=client)
    assert list(read(futures).to_pydict().values()) == [column.to_pylist() for column in columns]
    frame = cab.dask.to_dataframe(table_without_protocols(columns), to="pandas")
    assert list(frame.compute()["0"].dropna()) == [1, 3]


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
