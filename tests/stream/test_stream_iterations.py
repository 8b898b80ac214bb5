# SPDX-License-Identifier: Apache-2.0
"""Exported streams that several consumers and loops read, one after another or concurrently."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from contextlib import suppress

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.host import to_plc
from testing.peers.streams import Consumer, StreamOnly, StreamProducer, delayed

ROWS = 20
BATCH = pa.record_batch(
    {
        "number": pa.array([None if i % 7 == 0 else i for i in range(ROWS)]),
        "text": pa.array([f"text {i}" for i in range(ROWS)]),
    }
)
HALVES = [BATCH.slice(0, 12), BATCH.slice(12)]
TABLE = pa.Table.from_batches(HALVES)
PROTOCOLS = ["__arrow_c_stream__", "__arrow_c_device_stream__"]
ONCE = "can be consumed only once"


def frame():
    return cab.from_arrow_device(BATCH)


def written(directory):
    path = directory / "file.parquet"
    pq.write_table(TABLE, path, row_group_size=8)
    return path


def closing(closed):
    """Yield the halves of the batch; append to a list when the generator is closed."""
    try:
        yield from HALVES
    finally:
        closed.append(True)


class Fresh:
    """An iterable that starts again at each iteration."""

    def __iter__(self):
        yield from HALVES


AGAIN = {
    "frame": lambda _: frame(),
    "column": lambda _: cab.to_arrow_device(to_plc(BATCH["number"])),
    "pylibcudf table": lambda _: plc.Table([to_plc(column) for column in BATCH.columns]),
    "device array": lambda _: cab.to_arrow_device(frame()),
    "table": lambda _: TABLE,
    "chunked array": lambda _: TABLE["text"],
    "pandas": lambda _: TABLE.to_pandas(),
    "duckdb": lambda _: duckdb.sql("select range number from range(20)"),
    "file": written,
    "frames": lambda _: [cab.from_arrow_device(half) for half in HALVES],
    "iterable": lambda _: Fresh(),
    "partitions": lambda _: delayed([cab.from_arrow_device(half) for half in HALVES]),
    "stream": lambda _: cab.to_arrow_device_stream(frame(), max_rows=7),
    "list of streams": lambda _: [TABLE, cab.to_arrow_device_stream(frame())],
}


def rows(stream):
    """Return all rows, read through Arrow's stream interface alone."""
    read = pa.table if isinstance(stream.schema, pa.Schema) else pa.chunked_array
    return read(StreamOnly(stream)).to_pylist()


@pytest.mark.parametrize("max_rows", [None, 5])
@pytest.mark.parametrize("make", AGAIN.values(), ids=AGAIN)
def test_stream_can_be_consumed_again(make, max_rows, tmp_path):
    stream = cab.to_arrow_device_stream(make(tmp_path), max_rows=max_rows)
    lengths = [len(batch) for batch in stream]
    assert sum(lengths) >= ROWS
    first = rows(stream)
    assert len(first) == sum(lengths)
    assert rows(stream) == first
    for _ in stream:
        break  # an iteration that ends early does not move the next one
    assert [len(batch) for batch in stream] == lengths
    assert rows(stream) == first
    assert not stream.is_released
    stream.release()
    assert stream.is_released
    with pytest.raises(ValueError, match="released"):
        iter(stream).__next__()


ONLY_ONCE = {
    "a generator": lambda: (half for half in HALVES),
    "a list_iterator": lambda: iter(HALVES),
    "a RecordBatchReader": lambda: TABLE.to_reader(),
    "a StreamProducer": lambda: StreamProducer(BATCH.schema, HALVES),
}


@pytest.mark.parametrize("nest", [False, True], ids=["alone", "in a list"])
@pytest.mark.parametrize("name", ONLY_ONCE)
def test_second_consumer_of_a_single_use_source_is_an_error(name, nest):
    source = ONLY_ONCE[name]()
    stream = cab.to_arrow_device_stream([BATCH, source] if nest else source)
    assert not stream.is_released
    assert len(rows(stream)) == ROWS * (1 + nest)
    assert stream.is_released
    assert "consumed" in repr(stream)
    for again in (
        lambda: stream.__arrow_c_stream__(),
        lambda: stream.__arrow_c_device_stream__(),
        lambda: list(stream),
        lambda: stream.device_type,
    ):
        with pytest.raises(ValueError, match=f"^{name} {ONCE}"):
            again()


@pytest.mark.parametrize("take", [list, rows])
def test_started_loop_over_an_iterator_is_its_only_consumer(take):
    stream = cab.to_arrow_device_stream(iter(HALVES))
    batches = iter(stream)
    assert len(next(batches)) == 12
    with pytest.raises(ValueError, match=ONCE):
        take(stream)
    assert [len(batch) for batch in batches] == [8]
    assert next(batches, None) is None


def test_loop_that_has_not_started_is_not_a_consumer():
    stream = cab.to_arrow_device_stream(iter(HALVES))
    batches = iter(stream)
    iter(stream)
    assert len(rows(stream)) == ROWS
    with pytest.raises(ValueError, match=ONCE):
        next(batches)


def test_error_of_a_stream_over_a_stream_names_the_inner_source():
    inner = cab.to_arrow_device_stream(iter(HALVES))
    outer = cab.to_arrow_device_stream(inner)
    assert len(rows(outer)) == ROWS
    with pytest.raises(ValueError, match=f"a list_iterator {ONCE}"):
        rows(outer)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("way", ["dropped", "released", "read its schema"])
def test_consumer_that_requested_no_batch_leaves_all_to_the_next_one(protocol, way):
    made = []

    def batches():
        for half in HALVES:
            made.append(half)
            yield half

    stream = cab.to_arrow_device_stream(batches())
    for _ in range(3):
        capsule = getattr(stream, protocol)()
        with pytest.raises(ValueError, match=ONCE):
            getattr(stream, protocol)()  # the capsule may still read it
        if way != "dropped":
            consumer = Consumer(capsule)
            if way == "read its schema":
                assert consumer.schema() == (0, BATCH.schema)
            consumer.release()
        del capsule
        assert not stream.is_released
        assert stream.schema == BATCH.schema
    assert len(made) == 1
    assert rows(stream) == BATCH.to_pylist()
    assert stream.is_released


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_consumer_that_requested_a_batch_is_the_only_one(protocol):
    closed = []
    stream = cab.to_arrow_device_stream(closing(closed))
    consumer = Consumer(getattr(stream, protocol)())
    assert consumer.rows() == 12
    assert not closed
    consumer.release()
    assert closed == [True]  # although the stream is still alive
    with pytest.raises(ValueError, match=ONCE):
        rows(stream)


def test_release_of_an_unused_consumer_closes_the_source_of_a_released_stream():
    closed = []
    for way in ("released", "gone"):
        stream = cab.to_arrow_device_stream(closing(closed))
        consumer = Consumer(stream.__arrow_c_stream__())
        if way == "released":
            stream.release()
        else:
            del stream
        assert not closed
        consumer.release()
        assert closed == [True]
        closed.clear()


def test_unused_consumer_can_be_released_on_another_thread():
    stream = cab.to_arrow_device_stream(iter(HALVES))
    for _ in range(50):
        consumer = Consumer(stream.__arrow_c_stream__())
        thread = threading.Thread(target=consumer.release)
        thread.start()
        while stream.is_released:
            pass
        thread.join()
    assert rows(stream) == BATCH.to_pylist()


def test_one_of_two_concurrent_loops_reads_a_nested_iterator():
    """Both loops start before the nested iterator is reached."""
    stream = cab.to_arrow_device_stream([BATCH, iter(HALVES)])
    one, other = iter(stream), iter(stream)
    assert len(next(one)) == len(next(other)) == ROWS
    assert len(next(other)) == 12
    for _ in range(2):
        with pytest.raises(ValueError, match=ONCE):
            next(one)
    assert [len(batch) for batch in other] == [8]


@pytest.mark.parametrize("source", [frame, lambda: iter([BATCH] * 50)], ids=["frame", "iterator"])
def test_threads_can_consume_a_stream_concurrently(source):
    """One thread gets all batches of an iterator; each thread gets all batches of a frame."""
    for _ in range(5):
        stream = cab.to_arrow_device_stream(source())
        barrier, found, refused = threading.Barrier(4), [], []

        def work(stream=stream, barrier=barrier, found=found, refused=refused):
            barrier.wait()
            try:
                found.append(pa.table(StreamOnly(stream)).num_rows)
            except ValueError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if source is frame:
            assert (found, refused) == ([ROWS] * 4, [])
        else:
            assert found == [50 * ROWS]
            assert all(ONCE in text or "another call is reading" in text for text in refused)


def test_threads_that_start_one_loop_do_not_get_a_batch_twice():
    class Slow:
        def __iter__(self):
            time.sleep(0.05)
            return iter(HALVES)

    def work():
        with suppress(ValueError):  # another thread reads a batch
            found.append(len(next(loop)))

    stream = cab.to_arrow_device_stream(Slow())
    assert len(list(stream)) == 2
    loop, found = iter(stream), []
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found in ([12], [12, 8], [8, 12])


def test_loop_that_another_thread_ends_returns_its_last_batch(monkeypatch):
    wrap = cab.DeviceArrayStream._wrap

    def end_and_wrap(stream, *arguments):
        # Another thread can request a batch here.
        assert next(batches, None) is None
        return wrap(stream, *arguments)

    monkeypatch.setattr(cab.DeviceArrayStream, "_wrap", end_and_wrap)
    batches = iter(cab.to_arrow_device_stream(frame()))
    assert len(next(batches)) == ROWS
    assert next(batches, None) is None


def test_release_by_another_thread_before_an_iteration_starts_is_reported():
    stream = cab.to_arrow_device_stream(frame())
    list(stream)
    # As if the release came after the check of the stream.
    stream._source.release()
    with pytest.raises(ValueError, match="released"):
        list(stream)


class Flaky:
    """An iterable whose first iterations fail at a position."""

    def __init__(self, failures, position):
        self.failures, self.position = failures, position

    def __iter__(self):
        for position, half in enumerate(HALVES):
            if self.failures and position == self.position:
                self.failures -= 1
                raise OSError("the disk is gone")
            yield half


@pytest.mark.parametrize("position", [0, 1])
def test_source_that_failed_is_read_again_by_the_next_consumer(position):
    stream = cab.to_arrow_device_stream(Flaky(2, position))
    for take in (rows, lambda stream: sum(len(batch) for batch in stream)):
        with pytest.raises(OSError, match="the disk is gone"):
            take(stream)
        assert isinstance(stream.error, OSError)
        assert "the disk is gone" in repr(stream)
    assert rows(stream) == BATCH.to_pylist()
    assert stream.error is None
    assert not stream.is_released


def test_release_ends_loops_but_not_consumers():
    stream = cab.to_arrow_device_stream(frame(), max_rows=6)
    reader = pa.RecordBatchReader.from_stream(StreamOnly(stream))
    begun, fresh, ended = iter(stream), iter(stream), iter(stream)
    assert len(next(begun)) == 6
    list(ended)
    stream.release()
    for batches in (begun, fresh):
        for _ in range(2):
            with pytest.raises(ValueError, match="released"):
                next(batches)
    assert next(ended, None) is None
    assert reader.read_all().num_rows == ROWS
    with pytest.raises(ValueError, match="released"):
        _ = stream.schema


def test_source_is_freed_at_the_release():
    source = frame()
    alive = weakref.ref(source)
    stream = cab.to_arrow_device_stream(source)
    del source
    rows(stream)
    gc.collect()
    assert alive() is not None
    stream.release()
    gc.collect()
    assert alive() is None


def test_generator_is_freed_at_its_end():
    source = (half for half in HALVES)
    alive = weakref.ref(source)
    stream = cab.to_arrow_device_stream(source)
    del source
    rows(stream)
    gc.collect()
    assert alive() is None
    assert stream.is_released


def test_break_from_a_loop_closes_the_source():
    class Again:
        def __iter__(self):
            return closing(closed)

    closed = []
    for make in (Again, lambda: closing(closed)):
        for _ in cab.to_arrow_device_stream(make()):
            break
        assert closed == [True]
        closed.clear()
