# SPDX-License-Identifier: Apache-2.0
"""`to_futures` and `to_dataframe`: files read on the workers, anything else sent to them."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import cudf_arrow_bridge as bridge

pytest.importorskip("distributed")
import dask
import distributed

from testing import dask_helpers as tasks

pytestmark = pytest.mark.skipif(bridge.has_gpu(), reason="of host memory")


@pytest.fixture(scope="module")
def client():
    with tasks.two_workers() as connected:
        yield connected


@pytest.fixture(autouse=True)
def _nothing_is_left(request):
    """What a test has made on the workers goes with it."""
    yield
    if "client" in request.fixturenames:
        connected = request.getfixturevalue("client")
        assert tasks.is_nothing_left(connected), tasks.tasks_of(connected)


@pytest.fixture(params=["threads", "client"])
def scheduler(request):
    """Schedulers that may be Dask's."""
    if request.param == "client":
        request.getfixturevalue("client")
        yield
    else:
        with dask.config.set(scheduler=request.param):
            yield


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


@pytest.fixture
def parquet(tmp_path):
    """Two files, of 4 row groups and of 1."""
    pq.write_table(TABLE, tmp_path / "1.parquet", row_group_size=25)
    pq.write_table(SECOND, tmp_path / "2.parquet")
    return tmp_path


def read(futures):
    return pa.table(bridge.to_arrow_device_stream(futures))


def lengths(client, futures):
    return client.gather(client.map(len, futures))


def sizes(parquet):
    """Those of the first file's row groups, of which later ones are larger."""
    metadata = pq.read_metadata(parquet / "1.parquet")
    return [metadata.row_group(index).total_byte_size for index in range(4)]


@pytest.mark.parametrize(
    ("blocksize", "expected"),
    [
        (lambda parquet: 1, [25, 25, 25, 25, 50]),
        (lambda parquet: sizes(parquet)[0] + sizes(parquet)[1], [50, 25, 25, 50]),
        (lambda parquet: sum(sizes(parquet)) - 1, [75, 25, 50]),
        (lambda parquet: "1 MiB", [100, 50]),
    ],
    ids=["1", "2 row groups", "4 row groups", "1 MiB"],
)
def test_row_groups_of_a_file_come_together(client, parquet, blocksize, expected):
    futures = bridge.dask.to_futures(parquet, client=client, blocksize=blocksize(parquet))
    assert lengths(client, futures) == expected
    assert read(futures).equals(BOTH)


@pytest.mark.parametrize(
    "name",
    [
        lambda parquet: str(parquet / "*.parquet"),
        lambda parquet: [parquet / "1.parquet", parquet / "2.parquet"],
        lambda parquet: ds.dataset(parquet),
        lambda parquet: ds.dataset(
            [ds.dataset(parquet / "1.parquet"), ds.dataset(parquet / "2.parquet")]
        ),
        lambda parquet: f"file://{parquet}",
    ],
    ids=["glob", "list", "dataset", "union", "url"],
)
def test_names_of_files(client, parquet, name):
    futures = bridge.dask.to_futures(name(parquet), client=client)
    assert lengths(client, futures) == [100, 50]
    assert read(futures).equals(BOTH)


WRITERS = {
    "arrow": lambda table, path: pa.ipc.new_file(path, table.schema),
    "arrows": lambda table, path: pa.ipc.new_stream(path, table.schema),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_arrow_files(client, tmp_path, ending):
    for number, table in enumerate((TABLE, SECOND)):
        with WRITERS[ending](table, str(tmp_path / f"{number}.{ending}")) as writer:
            writer.write_table(table, max_chunksize=30)
    futures = bridge.dask.to_futures(tmp_path, client=client, columns=["d", "a"])
    assert lengths(client, futures) == [100, 50]
    assert read(futures).equals(BOTH.select(["d", "a"]))


def test_csv_by_the_types_of_all_files(client, tmp_path):
    csv.write_csv(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "1.csv")
    csv.write_csv(pa.table({"a": [0.5], "b": ["z"]}), tmp_path / "2.csv")
    futures = bridge.dask.to_futures(tmp_path, client=client, filter=pc.field("a") > 0.7)
    # A task cannot know of the other file.
    assert [array.schema.types for array in client.gather(futures)] == [
        [pa.float64(), pa.string()]
    ] * 2
    assert read(futures).to_pydict() == {"a": [1.0, 2.0], "b": ["x", "y"]}


def test_partitioned_folders(client, tmp_path):
    ds.write_dataset(
        pa.table({"a": range(6), "year": [2024, 2025] * 3}),
        tmp_path,
        format="parquet",
        partitioning=["year"],
        partitioning_flavor="hive",
    )
    futures = bridge.dask.to_futures(tmp_path, client=client)
    assert read(futures).to_pydict() == {"a": [0, 2, 4, 1, 3, 5], "year": [2024] * 3 + [2025] * 3}
    later = bridge.dask.to_futures(tmp_path, client=client, filter=pc.field("year") > 2024)
    assert lengths(client, later) == [3]


def test_a_filter_leaves_out_row_groups_and_rows(client, parquet):
    options = {"columns": ["b", "a"], "filter": pc.field("a") >= 60}
    futures = bridge.dask.to_futures(parquet, client=client, blocksize=1, **options)
    assert lengths(client, futures) == [15, 25, 50]
    assert read(futures).equals(BOTH.slice(60).select(["b", "a"]))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_without_rows_the_schema_stays(client, tmp_path, ending):
    ds.write_dataset(TABLE, tmp_path, format=ending)
    none = pc.field("a") > 1000
    (future,) = bridge.dask.to_futures(tmp_path, client=client, columns=["a", "c"], filter=none)
    assert len(future.result()) == 0
    assert read(future).schema.equals(TABLE.select(["a", "c"]).schema)
    frame = bridge.dask.to_dataframe(tmp_path, filter=none)
    assert len(frame) == 0
    assert [*frame.columns] == TABLE.column_names


def test_the_client_reads_metadata_only(client, tmp_path):
    path = tmp_path / "large.parquet"
    values = np.random.default_rng(1).integers(0, 2**60, 2_000_000)
    pq.write_table(pa.table({"a": values}), path, compression="none", row_group_size=500_000)
    size = path.stat().st_size
    here = tasks.read_so_far()
    there = sum(client.run(tasks.read_so_far).values())
    futures = bridge.dask.to_futures(path, client=client, blocksize=1)
    frame = bridge.dask.to_dataframe(path, to="pandas", blocksize=1)
    total = client.submit(sum, client.map(tasks.sum_of, futures, ["a"] * 4)).result()
    assert total == values.sum()
    assert int(frame["a"].sum().compute()) == values.sum()
    assert tasks.read_so_far() - here < size / 4
    # Once for the futures, and once for the frame.
    assert sum(client.run(tasks.read_so_far).values()) - there > 2 * size


def test_tasks_are_run_again_and_what_was_sent_is_lost(client, parquet):
    worker, _ = client.scheduler_info()["workers"]
    with dask.annotate(workers=[worker], allow_other_workers=True):
        read_there = bridge.dask.to_futures(parquet, client=client)
    with dask.annotate(workers=[worker]):
        sent = bridge.dask.to_futures(TABLE, client=client)
    distributed.wait([*read_there, *sent])
    assert {*client.who_has([*read_there, *sent]).values()} == {(worker,)}
    client.restart_workers([worker], timeout=60)
    assert read(read_there).equals(BOTH)
    with pytest.raises(distributed.client.FutureCancelledError):
        read(sent)


def test_a_file_that_is_gone_fails_the_task(client, parquet):
    futures = bridge.dask.to_futures(parquet, client=client)
    distributed.wait(futures)
    (parquet / "2.parquet").unlink()
    assert read(futures).equals(BOTH)
    with pytest.raises(FileNotFoundError):
        bridge.dask.to_futures(parquet / "2.parquet", client=client)
    (parquet / "2.parquet").symlink_to(parquet / "1.parquet")
    # Read again, though the futures of the other file are there still.
    assert read(bridge.dask.to_futures(parquet / "2.parquet", client=client)).equals(TABLE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (TABLE, [40, 40, 20]),
        ([TABLE, SECOND.to_batches()[0]], [40, 40, 20, 40, 10]),
        (iter([TABLE]), [40, 40, 20]),
        (ds.dataset(TABLE), [40, 40, 20]),
        (bridge.to_arrow_device(TABLE.to_batches()[0]), [40, 40, 20]),
        (TABLE["a"].chunk(0), [40, 40, 20]),
    ],
    ids=["table", "list", "iterator", "dataset", "array", "column"],
)
def test_anything_else_is_sent(client, source, expected):
    futures = bridge.dask.to_futures(source, client=client, max_rows=40)
    assert lengths(client, futures) == expected
    arrays = [pa.array(array) for array in client.gather(futures)]
    rows = pa.chunked_array(arrays).to_pylist()
    if isinstance(rows[0], dict):
        assert rows == BOTH.to_pylist()[: sum(expected)]
    else:
        assert rows == [*range(100)]


def test_one_batch_is_sent_at_a_time(client):
    held = []

    def batches():
        for index in range(4):
            held.append(len(tasks.tasks_of(client)))
            yield tasks.batch(index)

    futures = bridge.dask.to_futures(batches(), client=client)
    assert held == [0, 1, 2, 3]
    assert lengths(client, futures) == [3] * 4


def test_what_is_selected_of_a_dataset_in_memory(client):
    options = {"columns": ["a"], "filter": pc.field("a") > 90}
    futures = bridge.dask.to_futures(ds.dataset(TABLE), client=client, **options)
    assert read(futures).to_pydict() == {"a": [*range(91, 100)]}


def test_wrong_calls(client, parquet):
    to_futures = bridge.dask.to_futures
    with pytest.raises(ValueError, match=re.escape("max_rows=3 with files found")):
        to_futures(parquet, client=client, max_rows=3)
    with pytest.raises(KeyError, match="names among"):
        to_futures(parquet, client=client, columns=["missing"])
    with pytest.raises(ValueError, match="only with paths"):
        to_futures(TABLE, client=client, columns=["a"])
    with pytest.raises(ValueError, match="to='polars' found"):
        bridge.dask.to_dataframe(parquet, to="polars")
    with pytest.raises(ValueError, match='to="cudf" without a GPU found'):
        bridge.dask.to_dataframe(parquet, to="cudf")
    with pytest.raises(ValueError, match="of a stream without a schema"):
        bridge.dask.to_dataframe([])


FRAMES = {
    "plain": pd.DataFrame({"a": range(10), "b": [f"b{i}" for i in range(10)]}),
    "index": pd.DataFrame({"a": range(10)}, index=pd.Index(range(20, 30), name="key")),
    "range": pd.DataFrame({"a": range(10)}, index=pd.RangeIndex(5, 25, 2, name="key")),
    "times": pd.DataFrame({"t": pd.date_range("2026-01-01", periods=10, tz="Europe/Berlin")}),
    "floats": pd.DataFrame({"x": np.linspace(0, 1, 10), "y": [True, False] * 5}),
}


def same(found, expected):
    """Whether frames are equal but for the type of strings, which Dask chooses."""
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_column_type=False)
    strings = [name for name in expected if expected[name].dtype.kind not in "biufM"]
    assert found.dtypes.drop(strings).equals(expected.dtypes.drop(strings))
    return True


@pytest.mark.parametrize("name", FRAMES)
def test_frames_that_are_sent(scheduler, name):
    frame = FRAMES[name]
    sent = bridge.dask.to_dataframe(frame, to="pandas", max_rows=4)
    assert sent.npartitions == 3
    assert not sent.known_divisions
    assert same(sent.compute(), frame)
    assert same(sent._meta, frame.iloc[:0])


@pytest.mark.parametrize("name", FRAMES)
def test_frames_of_files(scheduler, tmp_path, name):
    frame = FRAMES[name]
    path = tmp_path / "frame.parquet"
    frame.to_parquet(path, row_group_size=4)
    found = bridge.dask.to_dataframe(path, to="pandas", blocksize=1)
    assert found.npartitions == 3
    assert same(found._meta, frame.iloc[:0])
    expected = pd.read_parquet(path)
    computed = found.compute()
    if isinstance(frame.index, pd.RangeIndex):
        # Each partition has its own.
        computed, expected = computed.reset_index(drop=True), expected.reset_index(drop=True)
    assert same(computed, expected)
    assert found.map_partitions(len).compute().tolist() == [4, 4, 2]


def test_files_are_read_when_partitions_are_computed(scheduler, parquet):
    frame = bridge.dask.to_dataframe(parquet, to="pandas", columns=["a"], blocksize=1)
    assert frame.npartitions == 5
    assert int(frame.partitions[4]["a"].sum().compute()) == sum(range(100, 150))
    (parquet / "2.parquet").unlink()
    assert int(frame.partitions[:4]["a"].sum().compute()) == sum(range(100))
    with pytest.raises(FileNotFoundError):
        frame["a"].sum().compute()


def test_partitions_are_made_on_the_workers(client, parquet):
    workers = {*client.run(os.getpid).values()}
    for source in (parquet, TABLE):
        frame = bridge.dask.to_dataframe(source, to="pandas")
        assert {*frame.map_partitions(tasks.pid_of, meta=(None, int)).compute()} <= workers


def test_series(scheduler):
    series = bridge.dask.to_dataframe(pd.Series([1, 2, 3], name="a"), to="pandas", max_rows=2)
    assert series.compute().tolist() == [1, 2, 3]
    assert (series.name, series.npartitions, int(series.sum().compute())) == ("a", 2, 6)


def test_categories_may_differ(scheduler, parquet):
    frame = bridge.dask.to_dataframe(parquet, to="pandas", columns=["c"], blocksize=1)
    assert not frame["c"].cat.known
    assert frame["c"].astype("object").compute().tolist() == BOTH["c"].to_pylist()


@pytest.mark.parametrize("name", bridge.dask.__all__)
def test_the_examples_print_what_they_say(client, monkeypatch, name):
    monkeypatch.chdir(Path(__file__).parents[2])
    function = getattr(bridge.dask, name)
    (test,) = doctest.DocTestFinder().find(function, name, globs={"cab": bridge}, module=False)
    assert test.examples
    out = []
    assert not doctest.DocTestRunner().run(test, out=out.append).failed, "".join(out)


def test_back_as_a_stream(scheduler, parquet):
    frame = bridge.dask.to_dataframe(parquet, to="pandas", columns=["a"], blocksize=1)
    filtered = frame[frame["a"] % 2 == 1]
    found = read(filtered).column("a").to_pylist()
    assert found == [value for value in BOTH["a"].to_pylist() if value % 2]
