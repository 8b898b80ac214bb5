# SPDX-License-Identifier: Apache-2.0
"""Streams of Dask collections: each task runs once, in order, a bounded number ahead."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import wait_until
from testing.peers.streams import StreamOnly

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from testing.exchange.dask_helpers import tasks_of  # noqa: E402

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

PARTITIONS = 6
#: The number of partitions that are computed before they are requested.
AHEAD = 2


class Events:
    """The tasks that ran. Pickling keeps the object, since all workers are in this process."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.names = []
        self.gates = {}

    def __reduce__(self):
        return _events, ()

    def add(self, name):
        self.names.append(name)
        if name in self.gates:
            assert self.gates[name].wait(20)


_EVENTS = Events()


def _events():
    return _EVENTS


@pytest.fixture
def events():
    _EVENTS.clear()
    return _EVENTS


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as running:
        yield running


@pytest.fixture(params=["threads", "synchronous", "client"])
def scheduler(request):
    """Set each of Dask's schedulers."""
    if request.param == "client":
        with distributed.Client(request.getfixturevalue("cluster")) as client:
            yield client
    else:
        with dask.config.set(scheduler=request.param):
            yield None


def source(events):
    events.add("source")
    return 100


def derived(base, events, name):
    events.add(name)
    return base + 1


def part(base, index, events):
    events.add(index)
    return pa.record_batch({"index": [index] * 3, "base": [base] * 3})


def parts(events, count=PARTITIONS):
    """Return delayed batches. Each needs two tasks, and half of the batches need a third."""
    base = dask.delayed(derived)(dask.delayed(source)(events), events, "derived")
    other = dask.delayed(derived)(base, events, "other")
    return [dask.delayed(part)((base, other)[i % 2], i, events) for i in range(count)]


ROWS = [{"index": index, "base": 101 + index % 2} for index in range(PARTITIONS) for _ in range(3)]


def read(collection, **options):
    return pa.table(StreamOnly(cab.to_arrow_device_stream(collection, **options)))


def test_tasks_of_several_partitions_run_once_and_in_order(events, scheduler):
    assert read(parts(events)).to_pylist() == ROWS
    assert sorted(map(str, events.names)) == sorted(
        ["source", "derived", "other", *map(str, range(PARTITIONS))]
    )
    if scheduler is None:
        assert [name for name in events.names if isinstance(name, int)] == [*range(PARTITIONS)]


def test_bounded_number_of_partitions_is_computed_ahead(events, scheduler):
    stream = cab.to_arrow_device_stream(parts(events))
    batches = iter(stream)
    repr(stream)
    assert events.names == []
    for asked in range(PARTITIONS):
        assert len(next(batches)) == 3
        most = min(asked + 1 + AHEAD, PARTITIONS)
        expected = {"source", "derived", "other", *range(most)}
        assert wait_until(lambda expected=expected: expected <= set(events.names))
        # This gives other partitions the time to run, if they were started by mistake.
        time.sleep(0.05)
        assert set(events.names) == expected


def test_failed_partition_raises_after_the_batches_before_it(events, scheduler):
    class OwnError(Exception):
        pass

    def fail(index):
        raise OwnError(f"in {index}")

    batches = parts(events)
    batches[2] = dask.delayed(fail)(2)
    stream = cab.to_arrow_device_stream(batches)
    batches = iter(stream)
    assert [len(next(batches)) for _ in range(2)] == [3, 3]
    with pytest.raises(Exception, match="in 2") as found:
        next(batches)
    assert type(found.value).__name__ == "OwnError"
    if scheduler is not None:
        # The error keeps its task. Other partitions are released.
        assert wait_until(lambda: len(tasks_of(scheduler)) <= 1)
    assert 5 not in events.names


def test_release_cancels_partitions_that_have_not_started(events, scheduler):
    gate = events.gates[1] = threading.Event()
    stream = cab.to_arrow_device_stream(parts(events))
    batches = iter(stream)
    next(batches)
    assert wait_until(lambda: 1 in events.names)
    stream.release()
    del stream
    gc.collect()
    gate.set()
    if scheduler is not None:
        # Nothing is left on the workers.
        assert wait_until(lambda: not tasks_of(scheduler))
    assert not wait_until(lambda: {3, 4, 5} & set(events.names), seconds=0.1)
    if scheduler is None:
        assert 2 not in events.names


def test_consumed_partitions_are_released(events, scheduler):
    stream = cab.to_arrow_device_stream(parts(events))
    batches = iter(stream)
    for _ in range(PARTITIONS - 1):
        next(batches)
    if scheduler is not None:
        # The tasks that the last partition needs may still be held.
        assert wait_until(lambda: len(scheduler.futures) <= 3)
    assert len(next(batches)) == 3
    assert next(batches, None) is None
    if scheduler is not None:
        gc.collect()
        assert wait_until(lambda: not scheduler.futures and not tasks_of(scheduler))


def test_partitions_stay_on_the_workers_until_they_are_requested(events, cluster, monkeypatch):
    fetched = []
    result = distributed.Future.result

    def noting(future, *args, **kwargs):
        fetched.append(future.key)
        return result(future, *args, **kwargs)

    monkeypatch.setattr(distributed.Future, "result", noting)
    with distributed.Client(cluster) as client:
        stream = cab.to_arrow_device_stream(parts(events))
        batches = iter(stream)
        for asked in range(1, PARTITIONS + 1):
            next(batches)
            assert len(fetched) == asked
            if asked == 1:
                assert wait_until(lambda: {1, 2} <= set(events.names))
                assert wait_until(lambda: client.run_on_scheduler(partitions_held) == AHEAD)


def partitions_held(dask_scheduler):
    """Return the number of partitions in the memory of workers."""
    workers = dask_scheduler.workers.values()
    return sum(task.key.startswith("part-") for worker in workers for task in worker.has_what)


def test_tasks_run_on_their_annotated_workers(cluster):
    def address(_):
        return pa.record_batch({"worker": [distributed.get_worker().address]})

    with distributed.Client(cluster) as client:
        addresses = list(client.scheduler_info()["workers"])
        batches = []
        for index in range(PARTITIONS):
            with dask.annotate(workers=[addresses[index // 2 % 2]], allow_other_workers=False):
                batches.append(dask.delayed(address)(index))
        found = read(batches)["worker"].to_pylist()
    assert found == [addresses[index // 2 % 2] for index in range(PARTITIONS)]


def test_shared_result_is_freed_after_its_last_partition(events):
    class Result:
        value = 1

    alive = []

    def shared():
        made = Result()
        alive.append(weakref.ref(made))
        return made

    def use(result, index):
        events.add(index)
        return pa.record_batch({"a": [result.value + index]})

    early, late = dask.delayed(shared)(), dask.delayed(shared)()
    batches = [dask.delayed(use)((early, late)[i >= 3], i) for i in range(8)]
    with dask.config.set(scheduler="threads"):
        stream = cab.to_arrow_device_stream(batches)
        batches = iter(stream)
        for _ in range(5):
            next(batches)
        assert wait_until(lambda: 6 in events.names)
        gc.collect()
        assert [reference() is None for reference in alive] == [True, False]
        assert [len(batch) for batch in batches] == [1] * 3
    gc.collect()
    assert wait_until(lambda: alive[1]() is None)


FRAME = pd.DataFrame({"a": range(50), "b": [f"b{i % 7}" for i in range(50)]})


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: frame.assign(c=frame.a - frame.a.mean()),
        lambda frame: frame.assign(a=-frame.a).set_index("a", drop=False),
        lambda frame: frame.persist(),
    ],
    ids=["mean", "shuffle", "persisted"],
)
def test_dask_frames_are_streamed(scheduler, make):
    frame = make(dd.from_pandas(FRAME, npartitions=4))
    assert rows(read(frame).to_pandas()) == rows(frame.compute())


def rows(frame):
    return frame.reset_index(drop=True).to_dict()


def test_bags_single_delayed_objects_and_lists_of_frames_are_streamed(events):
    import dask.bag as db

    batches = [pa.record_batch({"a": [i]}) for i in range(5)]
    bag = db.from_sequence(batches, npartitions=2)
    for each in (bag, bag.persist(scheduler="threads")):
        assert read(each)["a"].to_pylist() == [0, 1, 2, 3, 4]
    assert read(parts(events)[3]).to_pylist() == ROWS[9:12]
    # A list of frames, one of which occurs twice.
    frame = dd.from_pandas(FRAME[["a"]], npartitions=2)
    assert read([frame, frame]).num_rows == 100


def test_computed_strings_are_not_read_as_paths(tmp_path):
    for collection in (dask.delayed(str)(tmp_path), [dask.delayed(str)(tmp_path)]):
        with pytest.raises(TypeError, match=r"the list contains the string '.*pathlib\.Path"):
            next(iter(cab.to_arrow_device_stream(collection)))


def test_delayed_objects_of_a_generator_are_computed_one_by_one(events):
    stream = cab.to_arrow_device_stream(iter(parts(events)))
    batches = iter(stream)
    next(batches)
    assert 1 not in events.names
    assert sum(len(batch) for batch in batches) == len(ROWS) - 3
