# SPDX-License-Identifier: Apache-2.0
"""Streams of Dask futures: results are fetched in order, a bounded number ahead."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import wait_until

pytest.importorskip("distributed")
import dask
import distributed

from testing.exchange import dask_helpers as tasks

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

#: The number of results that are fetched before the consumer requests them.
AHEAD = 2
COUNT = 6


@pytest.fixture(scope="module")
def workers():
    """The client of two workers on threads, which send results over TCP."""
    with tasks.two_workers(processes=False, protocol="tcp://") as connected:
        yield connected


def rows(*indices):
    return [row for index in indices for row in tasks.batch(index).to_pylist()]


def read(source):
    return pa.table(cab.to_arrow_device_stream(source)).to_pylist()


def test_stream_yields_results_of_all_kinds_in_order(client):
    kinds = [
        tasks.array,
        tasks.batch,
        lambda index: [tasks.array(index)],
        lambda index: dask.delayed(tasks.array)(index),
    ]
    futures = [client.submit(make, index) for index, make in enumerate(kinds)]
    stream = cab.to_arrow_device_stream(futures)
    for _ in range(2):
        assert pa.table(stream).to_pylist() == rows(*range(len(kinds)))
    assert read(client.submit(lambda: tasks.batch(2).to_pandas())) == rows(2)
    assert read([[futures[1]], tasks.batch(2), iter(futures[:1])]) == rows(1, 2, 0)
    assert read(futures[1]) == read(dask.delayed(futures)[1]) == rows(1)


def test_stream_accepts_results_of_actors(client):
    maker = client.submit(tasks.Maker, actor=True).result()
    assert read([maker.array(index) for index in range(3)]) == rows(0, 1, 2)


def arrays_alive():
    gc.collect()
    return sum(type(obj) is cab.DeviceArray for obj in gc.get_objects())


def test_stream_fetches_a_bounded_number_of_results_ahead(client, monkeypatch):
    fetched = []
    result = distributed.Future.result

    def noting(future):
        fetched.append(future.key)
        return result(future)

    monkeypatch.setattr(distributed.Future, "result", noting)
    futures = client.map(tasks.array, range(COUNT))
    keys = [future.key for future in futures]
    distributed.wait(futures)
    before = arrays_alive()
    batches = iter(cab.to_arrow_device_stream(futures))
    assert fetched == []
    for requested in range(1, COUNT + 1):
        current = next(batches)
        assert current["index"].to_arrow().to_pylist() == [requested - 1] * 3
        ahead = min(requested + AHEAD, COUNT)
        # The result that was requested, and the batch of it that the consumer has.
        alive = before + 2 + ahead - requested
        assert wait_until(lambda alive=alive: arrays_alive() == alive)
        assert fetched == keys[:ahead]
    del current


def test_futures_of_an_iterator_are_submitted_on_demand(client):
    submitted = []

    def submit():
        for index in range(COUNT):
            submitted.append(index)
            yield client.submit(tasks.array, index)

    batches = iter(cab.to_arrow_device_stream(submit()))
    for requested in range(COUNT):
        assert len(next(batches)) == 3
        assert submitted == [*range(requested + 1)]
        # A result is released when the consumer requests the next one.
        assert wait_until(lambda: len(tasks.tasks_of(client)) <= 1)
    assert next(batches, None) is None


def test_stream_of_as_completed_yields_results_in_order_of_completion(client):
    event = distributed.Event("the first one", client=client)
    late = client.submit(tasks.array_after, "the first one", 0)
    early = client.submit(tasks.array, 1)
    batches = iter(cab.to_arrow_device_stream(distributed.as_completed([late, early])))
    assert next(batches).to_arrow().to_pylist() == rows(1)
    event.set()
    assert next(batches).to_arrow().to_pylist() == rows(0)
    assert next(batches, None) is None
    assert read(distributed.as_completed([late, early]).batches()) in (rows(0, 1), rows(1, 0))


def test_stream_rejects_as_completed_with_results(client):
    completed = distributed.as_completed([client.submit(tasks.array, 0)], with_results=True)
    with pytest.raises(TypeError, match="with_results=True"):
        next(iter(cab.to_arrow_device_stream(completed)))


def test_failed_task_raises_in_order_and_other_results_are_released(client):
    futures = [*client.map(tasks.array, range(3)), client.submit(tasks.fail, 3)]
    futures += client.map(tasks.array, range(4, 7))
    distributed.wait(futures)
    before = arrays_alive()
    batches = iter(cab.to_arrow_device_stream(futures))
    assert [len(next(batches)) for _ in range(3)] == [3, 3, 3]
    # The result of the third task, and the result after the failed task.
    assert wait_until(lambda: arrays_alive() == before + 2)
    with pytest.raises(KeyError, match="task 3"):
        next(batches)
    assert wait_until(lambda: arrays_alive() == before)


def test_failures_after_the_first_are_not_printed(client, monkeypatch):
    printed = []
    loop = client.loop.asyncio_loop
    monkeypatch.setattr(loop, "call_exception_handler", printed.append)
    first = client.submit(tasks.fail, 0)
    distributed.wait(first)
    waiting = [client.submit(tasks.array_after, "failed", index) for index in range(AHEAD)]
    later = client.map(tasks.fail, waiting)
    with pytest.raises(KeyError, match="task 0"):
        read([first, *later])
    distributed.Event("failed", client=client).set()
    assert wait_until(lambda: all(future.status == "error" for future in later))
    # Tasks of the loop that end later than the futures.
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), loop).result()
    gc.collect()
    assert printed == []


def test_cancelled_future_raises_cancelled_error(client):
    future = client.submit(tasks.array_after, "never", 0)
    future.cancel()
    with pytest.raises(concurrent.futures.CancelledError, match="cancelled"):
        read([future])
    distributed.Event("never", client=client).set()


def test_release_of_a_stream_releases_its_pending_futures(client):
    futures = [client.submit(tasks.array, 0), client.submit(tasks.array_after, "closed", 1)]
    stream = cab.to_arrow_device_stream(futures)
    batches = iter(stream)
    next(batches)
    stream.release()
    del stream, batches, futures
    gc.collect()
    # The future is released although its task still runs.
    assert wait_until(lambda: not tasks.tasks_of(client))
    distributed.Event("closed", client=client).set()


def test_task_reads_a_stream_of_futures(client):
    futures = client.map(tasks.array, range(3))
    assert client.submit(tasks.rows_read_by_task, [[*futures]]).result() == rows(0, 1, 2)


def test_event_loop_reads_futures_by_a_thread_or_an_async_stream(client):
    async def main():
        address = client.scheduler.address
        async with distributed.Client(address, asynchronous=True) as own:
            futures = own.map(tasks.array, range(3))
            with pytest.raises(RuntimeError, match="another thread"):
                next(iter(cab.to_arrow_device_stream(futures)))
            threaded = await asyncio.to_thread(read, futures)
            stream = cab.to_arrow_device_async(futures)
            awaited = [row async for batch in stream for row in batch.to_arrow().to_pylist()]
            return threaded, awaited

    assert asyncio.run(main()) == (rows(0, 1, 2), rows(0, 1, 2))
