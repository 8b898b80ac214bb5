# SPDX-License-Identifier: Apache-2.0
"""Streams to and from other libraries, on other threads, and of ten thousand batches."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading

import duckdb
import nanoarrow
import numpy as np
import polars
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.host import to_plc
from testing.peers.arrow_cpp import DeviceStream, reader_of
from testing.peers.streams import Consumer, StreamOnly

ROWS = 40
BATCH = pa.record_batch(
    {
        "number": pa.array([None if i % 7 == 0 else i for i in range(ROWS)]),
        "text": pa.array([None if i % 5 == 0 else f"text {i}" for i in range(ROWS)]),
        "flag": pa.array([i % 3 == 0 for i in range(ROWS)]),
        "when": pa.array(range(ROWS), pa.timestamp("us")),
        "list": pa.array([[i] * (i % 3) for i in range(ROWS)]),
    }
)


def stream(max_rows=9):
    return cab.to_arrow_device_stream(cab.from_arrow_device(BATCH), max_rows=max_rows)


READERS = {
    "pyarrow": lambda s: pa.table(s),
    "Arrow C++ device reader": lambda s: reader_of(s).read_all(),
    "nanoarrow": lambda s: pa.table(nanoarrow.c_array_stream(StreamOnly(s))),
    "polars": lambda s: polars.DataFrame(StreamOnly(s)).to_arrow(),
    "duckdb": lambda s: in_duckdb(s),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_peers_read_streams(read):
    found = read(stream())
    assert found.to_pylist() == BATCH.to_pylist()


def in_duckdb(handed):
    assert handed is not None  # duckdb finds it by its name
    return duckdb.sql("select * from handed").to_arrow_table()


WRITERS = {
    "pyarrow": lambda t: t.to_reader(),
    "Arrow C++ device stream": lambda t: DeviceStream(t.to_reader()),
    "nanoarrow": nanoarrow.ArrayStream,
    "duckdb": duckdb.from_arrow,
    "polars": polars.from_arrow,
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_streams_of_peers_are_imported(write):
    # There are no strings, because polars and duckdb may convert strings to views.
    table = pa.Table.from_batches(
        [BATCH.select(["number", "when"]).slice(at, 10) for at in range(0, ROWS, 10)]
    )
    found = cab.from_arrow_device_stream(write(table))
    assert pa.record_batch(cab.to_arrow_device(found)).to_pylist() == table.to_pylist()


def test_consumer_can_call_from_other_threads():
    """Calls are serialised, but each comes from a different thread."""
    made_on = []

    def batches():
        for at in range(0, ROWS, 10):
            made_on.append(threading.get_ident())
            yield cab.from_arrow_device(BATCH.slice(at, 10))

    consumer = Consumer(cab.to_arrow_device_stream(batches()).__arrow_c_device_stream__())
    rows = []
    for _ in range(5):
        thread = threading.Thread(target=lambda: rows.append(consumer.rows()))
        thread.start()
        thread.join()
    thread = threading.Thread(target=consumer.release)
    thread.start()
    thread.join()
    assert rows == [10, 10, 10, 10, None]
    assert threading.get_ident() not in made_on[1:]


BATCHES = 10_000
SMALL = pa.record_batch({"a": pa.array([1, 2, 3])})


def slices():
    table = plc.Table([to_plc(pa.array(np.arange(BATCHES * 4)))])
    stream = cab.to_arrow_device_stream(table, max_rows=4)
    return pa.RecordBatchReader.from_stream(StreamOnly(stream))


def generated():
    stream = cab.to_arrow_device_stream(cab.from_arrow_device(SMALL) for _ in range(BATCHES))
    return pa.RecordBatchReader.from_stream(StreamOnly(stream))


def imported():
    many = pa.RecordBatchReader.from_batches(SMALL.schema, (SMALL for _ in range(BATCHES)))
    return cab.from_arrow_device_stream(StreamOnly(many), concat=False)


def out_and_in():
    stream = cab.to_arrow_device_stream(SMALL for _ in range(BATCHES))
    return cab.from_arrow_device_stream(stream, concat=False, to="pylibcudf")


def unused():
    stream = cab.to_arrow_device_stream(cab.from_arrow_device(SMALL))
    for _ in range(BATCHES):
        Consumer(stream.__arrow_c_stream__()).release()
        yield from stream


@pytest.mark.exhaustive
@pytest.mark.parametrize("pipeline", [slices, generated, imported, out_and_in, unused])
def test_memory_is_constant_over_ten_thousand_batches(pipeline):
    counts = []
    for index, _batch in enumerate(pipeline()):
        if index % 2000 == 1000:
            gc.collect()
            counts.append((sys.getallocatedblocks(), pa.total_allocated_bytes(), resident()))
    blocks, arrow, pages = zip(*counts, strict=True)
    assert len(counts) == 5
    assert max(blocks[1:]) - min(blocks[1:]) < 500
    assert len(set(arrow[1:])) == 1
    # This detects a leak of 64 bytes in each of 8,000 batches.
    assert pages[-1] - pages[1] < 400_000


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_reading_after_shutdown_names_the_reason():
    # This exit handler runs after that of the package, because it is registered before the import.
    code = """
        import atexit

        @atexit.register
        def read():
            for make in (iter, pa.RecordBatchReader.from_stream):
                try:
                    list(make(cab.to_arrow_device_stream([table])))
                except (RuntimeError, pa.ArrowException) as error:
                    print("the interpreter is shutting down" in str(error))

        import pyarrow as pa, cudf_arrow_bridge as cab
        table = cab.from_arrow_device(pa.record_batch({"a": [1]}), to="pylibcudf")
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\nTrue\n", "")
