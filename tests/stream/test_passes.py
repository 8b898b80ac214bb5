# SPDX-License-Identifier: Apache-2.0
"""Passes over streams: repeated, unused and concurrent passes, and the release of streams."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from contextlib import suppress
from html.parser import HTMLParser

import duckdb
import nanoarrow
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing.host import to_plc
from testing.peers.streams import Consumer, Delayed, StreamOnly, StreamProducer

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
ONCE = "can be consumed once, got a second consumer"


def frame():
    return bridge.from_arrow_device(BATCH)


def written(directory):
    path = directory / "file.parquet"
    pq.write_table(TABLE, path, row_group_size=8)
    return path


class Fresh:
    """An iterable that starts again at each iteration."""

    def __iter__(self):
        yield from HALVES


AGAIN = {
    "frame": lambda _: frame(),
    "series": lambda _: frame()["number"],
    "column": lambda _: bridge.to_arrow_device(to_plc(BATCH["number"])),
    "pylibcudf table": lambda _: plc.Table([to_plc(column) for column in BATCH.columns]),
    "device array": lambda _: bridge.to_arrow_device(frame()),
    "record batch": lambda _: BATCH,
    "table": lambda _: TABLE,
    "chunked array": lambda _: TABLE["text"],
    "polars": lambda _: polars.DataFrame(TABLE),
    "pandas": lambda _: TABLE.to_pandas(),
    "nanoarrow": lambda _: nanoarrow.Array(BATCH),
    "duckdb": lambda _: duckdb.sql("select range number from range(20)"),
    "file": written,
    "frames": lambda _: [bridge.from_arrow_device(half) for half in HALVES],
    "tuple": lambda _: tuple(HALVES),
    "dict": lambda _: dict(enumerate(HALVES)).values(),
    "iterable": lambda _: Fresh(),
    "partitions": lambda _: Delayed([bridge.from_arrow_device(half) for half in HALVES]),
    "stream": lambda _: bridge.to_arrow_device_stream(frame(), max_rows=7),
    "list of streams": lambda _: [TABLE, bridge.to_arrow_device_stream(frame())],
}


def rows(stream):
    """Return all rows, read through Arrow's stream interface alone."""
    reader = pa.RecordBatchReader.from_stream if _is_table(stream) else pa.chunked_array
    found = reader(StreamOnly(stream))
    return (found.read_all() if _is_table(stream) else found).to_pylist()


def _is_table(stream):
    return isinstance(stream.schema, pa.Schema)


@pytest.mark.parametrize("max_rows", [None, 5])
@pytest.mark.parametrize("make", AGAIN.values(), ids=AGAIN)
def test_stream_can_be_consumed_again(make, max_rows, tmp_path):
    stream = bridge.to_arrow_device_stream(make(tmp_path), max_rows=max_rows)
    lengths = [len(batch) for batch in stream]
    assert sum(lengths) >= ROWS
    first = rows(stream)
    assert len(first) == sum(lengths)
    assert rows(stream) == first
    for _ in stream:
        break  # a pass that ends early does not move the next one
    assert [len(batch) for batch in stream] == lengths
    assert rows(stream) == first
    assert not stream.is_released
    stream.release()
    assert stream.is_released
    with pytest.raises(ValueError, match="expected an open stream, got a released stream"):
        iter(stream).__next__()


ONLY_ONCE = {
    "a generator": lambda: (half for half in HALVES),
    "a list_iterator": lambda: iter(HALVES),
    "a map": lambda: map(bridge.from_arrow_device, HALVES),
    "a RecordBatchReader": lambda: TABLE.to_reader(),
    "an ArrayStream": lambda: nanoarrow.ArrayStream(TABLE),
    "a StreamProducer": lambda: StreamProducer(BATCH.schema, HALVES),
}


@pytest.mark.parametrize("nest", [False, True], ids=["alone", "in a list"])
@pytest.mark.parametrize("name", ONLY_ONCE)
def test_second_pass_over_a_single_use_source_is_an_error(name, nest):
    source = ONLY_ONCE[name]()
    stream = bridge.to_arrow_device_stream([BATCH, source] if nest else source)
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


@pytest.mark.parametrize("take", [list, rows, lambda s: next(iter(s))])
def test_loop_over_an_iterator_is_its_only_pass(take):
    stream = bridge.to_arrow_device_stream(iter(HALVES))
    batches = iter(stream)
    assert len(next(batches)) == 12
    with pytest.raises(ValueError, match=ONCE):
        take(stream)
    assert [len(batch) for batch in batches] == [8]
    assert next(batches, None) is None


def test_rest_of_a_loop_can_be_streamed():
    batches = iter(bridge.to_arrow_device_stream(iter(HALVES)))
    next(batches)
    assert rows(bridge.to_arrow_device_stream(batches)) == HALVES[1].to_pylist()


def test_loop_that_has_not_started_does_not_use_the_pass():
    stream = bridge.to_arrow_device_stream(iter(HALVES))
    batches = iter(stream)
    iter(stream)
    assert len(rows(stream)) == ROWS
    with pytest.raises(ValueError, match=ONCE):
        next(batches)


def test_error_of_a_stream_over_a_stream_names_the_inner_source():
    inner = bridge.to_arrow_device_stream(iter(HALVES))
    outer = bridge.to_arrow_device_stream(inner)
    assert len(rows(outer)) == ROWS
    with pytest.raises(ValueError, match=f"a list_iterator {ONCE}"):
        rows(outer)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("way", ["dropped", "released", "asked for its schema"])
def test_consumer_that_pulled_no_batch_returns_the_pass(protocol, way):
    made = []

    def batches():
        for half in HALVES:
            made.append(half)
            yield half

    stream = bridge.to_arrow_device_stream(batches())
    for _ in range(3):
        capsule = getattr(stream, protocol)()
        with pytest.raises(ValueError, match=ONCE):
            getattr(stream, protocol)()  # the capsule has the pass
        if way != "dropped":
            consumer = Consumer(capsule)
            if way == "asked for its schema":
                assert consumer.schema() == (0, BATCH.schema)
            consumer.release()
        del capsule
        assert not stream.is_released
        assert stream.schema == BATCH.schema
    assert len(made) == 1
    assert rows(stream) == BATCH.to_pylist()
    assert stream.is_released


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_consumer_that_pulled_a_batch_uses_the_pass(protocol):
    closed = []

    def batches():
        try:
            yield from HALVES
        finally:
            closed.append(True)

    stream = bridge.to_arrow_device_stream(batches())
    consumer = Consumer(getattr(stream, protocol)())
    assert consumer.rows() == 12
    assert not closed
    consumer.release()
    assert closed == [True]  # although the stream is still alive
    with pytest.raises(ValueError, match=ONCE):
        rows(stream)


def test_unused_pass_of_a_released_stream_closes_the_source():
    closed = []

    def batches():
        try:
            yield from HALVES
        finally:
            closed.append(True)

    for way in ("released", "gone"):
        stream = bridge.to_arrow_device_stream(batches())
        consumer = Consumer(stream.__arrow_c_stream__())
        if way == "released":
            stream.release()
        else:
            del stream
        assert not closed
        consumer.release()
        assert closed == [True]
        closed.clear()


def test_consumer_can_return_the_pass_on_another_thread():
    stream = bridge.to_arrow_device_stream(iter(HALVES))
    for _ in range(200):
        consumer = Consumer(stream.__arrow_c_stream__())
        thread = threading.Thread(target=consumer.release)
        thread.start()
        while stream.is_released:
            pass
        thread.join()
    assert rows(stream) == BATCH.to_pylist()


def test_concurrent_passes_are_independent():
    stream = bridge.to_arrow_device_stream(frame(), max_rows=6)
    consumers = [Consumer(stream.__arrow_c_stream__()) for _ in range(2)]
    loops = [iter(stream) for _ in range(2)]
    for expected in (6, 6, 6, 2, None):
        assert [consumer.rows() for consumer in consumers] == [expected] * 2
        batches = [next(loop, None) for loop in loops]
        assert [batch and len(batch) for batch in batches] == [expected] * 2
    for consumer in consumers:
        consumer.release()


def test_one_of_two_concurrent_passes_reads_a_nested_iterator():
    """Both passes start before the nested iterator is reached."""
    stream = bridge.to_arrow_device_stream([BATCH, iter(HALVES)])
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
    for _ in range(20):
        stream = bridge.to_arrow_device_stream(source())
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
    class Slow(Delayed):
        def to_delayed(self):
            time.sleep(0.05)
            return super().to_delayed()

    def work():
        with suppress(ValueError):  # another thread reads a batch
            found.append(len(next(loop)))

    stream = bridge.to_arrow_device_stream(Slow(list(HALVES)))
    assert len(list(stream)) == 2
    loop, found = iter(stream), []
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found in ([12], [12, 8], [8, 12])


def test_release_by_another_thread_before_a_pass_opens_is_reported():
    stream = bridge.to_arrow_device_stream(frame())
    list(stream)
    # As if the release came after the check of the stream.
    stream._source.release()
    with pytest.raises(ValueError, match="expected an open stream, got a released stream"):
        list(stream)


class Flaky:
    """An iterable whose first passes fail at a position."""

    def __init__(self, failures, position):
        self.failures, self.position = failures, position

    def __iter__(self):
        for position, half in enumerate(HALVES):
            if self.failures and position == self.position:
                self.failures -= 1
                raise OSError("the disk is gone")
            yield half


@pytest.mark.parametrize("position", [0, 1])
def test_source_that_failed_is_read_again_by_the_next_pass(position):
    stream = bridge.to_arrow_device_stream(Flaky(2, position))
    for take in (rows, lambda stream: sum(len(batch) for batch in stream)):
        with pytest.raises(OSError, match="the disk is gone"):
            take(stream)
        assert isinstance(stream.error, OSError)
        assert "the disk is gone" in repr(stream)
    assert rows(stream) == BATCH.to_pylist()
    assert stream.error is None
    assert not stream.is_released


def test_a_generator_that_failed_fails_again():
    error = OSError("the disk is gone")

    def batches():
        yield BATCH
        raise error

    stream = bridge.to_arrow_device_stream(batches())
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            list(stream)
    assert stream.error is error


def test_release_ends_loops_but_not_consumers():
    stream = bridge.to_arrow_device_stream(frame(), max_rows=6)
    reader = pa.RecordBatchReader.from_stream(StreamOnly(stream))
    begun, fresh, ended = iter(stream), iter(stream), iter(stream)
    assert len(next(begun)) == 6
    list(ended)
    stream.release()
    for batches in (begun, fresh):
        for _ in range(2):
            with pytest.raises(ValueError, match="expected an open stream, got a released stream"):
                next(batches)
    assert next(ended, None) is None
    assert reader.read_all().num_rows == ROWS
    with pytest.raises(ValueError, match="expected an open stream, got a released stream"):
        _ = stream.schema


def test_release_during_a_loop_is_an_error_of_the_loop():
    seen = []

    def loop():
        with bridge.to_arrow_device_stream(frame(), max_rows=6) as stream:
            for batch in stream:
                seen.append(len(batch))
                stream.release()

    with pytest.raises(ValueError, match="released"):
        loop()
    assert seen == [6]


def test_release_by_the_source_ends_the_loop_after_its_batch():
    def batches():
        yield BATCH
        stream.release()
        yield BATCH

    stream = bridge.to_arrow_device_stream(batches())
    loop = iter(stream)
    assert len(next(loop)) == ROWS
    assert len(next(loop)) == ROWS
    with pytest.raises(ValueError, match="released"):
        next(loop)


def test_source_is_freed_at_the_release():
    source = frame()
    alive = weakref.ref(source)
    stream = bridge.to_arrow_device_stream(source)
    del source
    rows(stream)
    gc.collect()
    assert alive() is not None
    stream.release()
    gc.collect()
    assert alive() is None


def test_generator_is_freed_after_its_pass():
    source = (half for half in HALVES)
    alive = weakref.ref(source)
    stream = bridge.to_arrow_device_stream(source)
    del source
    rows(stream)
    gc.collect()
    assert alive() is None
    assert stream.is_released


class Watched:
    """A source that makes new batches in each pass, and records which are alive."""

    def __init__(self):
        self.made, self.alive = 0, weakref.WeakSet()

    def __iter__(self):
        for _ in range(3):
            self.made += 1
            column = to_plc(BATCH["number"])
            self.alive.add(column.data())
            table = plc.Table([column])
            del column
            yield table
            del table


def test_break_from_a_loop_closes_the_source():
    closed = []

    class Closing:
        def __iter__(self):
            try:
                yield from HALVES
            finally:
                closed.append(True)

    for make in (Closing, lambda: iter(Closing())):
        closed.clear()
        stream = bridge.to_arrow_device_stream(make())
        for _ in stream:
            break
        assert closed == [True]
        stream.release()


def test_stream_and_loop_do_not_hold_batches():
    source = Watched()
    stream = bridge.to_arrow_device_stream(source)
    for _ in range(2):
        loop = iter(stream)
        batch = next(loop)
        del batch
        gc.collect()
        assert len(source.alive) <= 1  # the source still holds its last batch
        assert [len(batch) for batch in loop] == [ROWS] * 2
        gc.collect()
        assert not source.alive
    assert source.made == 6
    kept = list(stream)
    stream.release()
    assert [len(batch) for batch in kept] == [ROWS] * 3


def test_each_pass_has_the_schema_requested_by_its_consumer():
    wide = BATCH.schema.set(1, pa.field("text", pa.large_string()))
    narrow = BATCH.schema.set(0, pa.field("n", pa.int64()))
    for source in (frame(), TABLE, HALVES):
        stream = bridge.to_arrow_device_stream(source)
        for wanted in (wide, None, narrow, BATCH.schema, wide):
            capsule = stream.__arrow_c_stream__(wanted and wanted.__arrow_c_schema__())
            reader = pa.RecordBatchReader._import_from_c_capsule(capsule)
            assert [(f.name, f.type) for f in reader.schema] == [
                (f.name, f.type) for f in wanted or BATCH.schema
            ]
            assert stream.schema.types == BATCH.schema.types
            assert reader.read_all().num_rows == ROWS
        # A consumer that requested a schema and pulled nothing does not change the stream.
        stream.__arrow_c_stream__(wide.__arrow_c_schema__())
        assert pa.table(StreamOnly(stream)).schema.types == BATCH.schema.types


def test_rejected_requested_schema_does_not_use_the_pass():
    wrong = pa.schema([("a", pa.int8())]).__arrow_c_schema__()
    strict = pa.schema([pa.field("number", pa.int64(), nullable=False), BATCH.schema.field(1)])
    for source in (frame(), iter(HALVES)):
        stream = bridge.to_arrow_device_stream(source)
        with pytest.raises(ValueError, match="expected a requested schema of 2 fields, got 1"):
            stream.__arrow_c_stream__(wrong)
        assert rows(stream) == BATCH.to_pylist()
    stream = bridge.to_arrow_device_stream(HALVES)
    with pytest.raises(ValueError, match="'number'"):
        stream.__arrow_c_stream__(strict.__arrow_c_schema__())
    assert rows(stream) == BATCH.to_pylist()


def test_schema_of_frames_is_known_without_an_export(monkeypatch):
    whole = frame()
    expected = bridge.to_arrow_device(whole).schema

    def refuse(*args):
        raise AssertionError("exported")

    monkeypatch.setattr("cudf_arrow_bridge.export.streams.export_input_of", refuse)
    for source in (whole, [whole, whole], plc.Table([to_plc(BATCH["number"])])):
        stream = bridge.to_arrow_device_stream(source, max_rows=3)
        names = ["0"] if isinstance(source, plc.Table) else expected.names
        assert stream.schema.names == names
        assert names[0] in stream._repr_html_()
    assert bridge.to_arrow_device_stream(whole).schema.equals(expected, check_metadata=True)


class Text(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.cells, self.stack = [], []
        self.feed(page)
        assert not self.stack

    def handle_starttag(self, tag, attrs):
        self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


def test_html_consumes_no_batch():
    made = []

    def batches():
        made.append(True)
        yield pa.record_batch({"<a>": [{"x": [1]}], "d": pa.array(["e"]).dictionary_encode()})

    stream = bridge.to_arrow_device_stream(batches())
    assert "schema is that of the first batch" in stream._repr_html_()
    assert not made
    _ = stream.schema
    cells = Text(stream._repr_html_()).cells
    assert cells == [
        *("DeviceArrayStream", ", open, batches of 2 columns", "column", "Arrow type"),
        *("<a>", "struct", "x", "list", "item", "int64", "d", "dictionary<string, int32>"),
    ]
    assert len(list(stream)) == 1
    assert "consumed" in stream._repr_html_()
    stream.release()
    assert "released" in stream._repr_html_()


def test_html_shortens_long_schemas():
    wide = pa.record_batch({f"c{i}": [i] for i in range(30)})
    page = bridge.to_arrow_device_stream(bridge.from_arrow_device(wide))._repr_html_()
    assert Text(page).cells[-1] == "... and 10 more columns"
    column = bridge.to_arrow_device_stream(to_plc(pa.array([1])))
    assert "batches of a column" in column._repr_html_()


def test_stream_is_not_an_iterator():
    """`next(stream)` would not say which pass to advance."""
    stream = bridge.to_arrow_device_stream(frame())
    with pytest.raises(TypeError, match="not an iterator"):
        next(stream)
    assert len(next(iter(stream))) == ROWS


def test_memory_is_constant_over_passes():
    stream = bridge.to_arrow_device_stream(plc.Table([to_plc(pa.array(np.arange(100)))]))
    before = None
    for index in range(3000):
        Consumer(stream.__arrow_c_stream__()).release()
        assert len(list(stream)) == 1
        if index == 1000:
            gc.collect()
            before = _resident()
    assert _resident() - before < 400_000


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
