# SPDX-License-Identifier: Apache-2.0
"""cuDF's default stream, the caller's streams and the default stream of each thread."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pylibcudf as plc

import cudf_arrow_bridge as bridge
from testing.device import (
    GPU,
    ROWS,
    Address,
    as_cupy,
    read_target,
    side_stream,
    synchronize,
    wait_until,
)
from testing.peers.arrays import Producer, column_from

pytestmark = GPU

SUM = ROWS * (ROWS - 1) // 2


def late_table(late, producer):
    return bridge.to_arrow_device(plc.Table([late.column(producer)]), stream=producer)


def warm_up(late):
    """Load the kernels of a sum in cuDF, because loading a kernel may wait for the device."""
    frame = bridge.from_arrow_device(late_table(late, side_stream()), stream=side_stream())
    assert frame["0"].sum() == SUM
    synchronize()


def test_cudf_reads_frames_imported_on_another_stream(late):
    warm_up(late)
    producer, consumer = side_stream(), side_stream()
    frame = bridge.from_arrow_device(late_table(late, producer), stream=consumer)
    assert not producer.done
    assert frame["0"].sum() == SUM


def test_release_of_a_frame_waits_for_the_work_of_cudf(late):
    """cuDF reads the frame on its own stream. The stream of the import is already done."""
    import cupy

    warm_up(late)
    producer, consumer, found = side_stream(), side_stream(), read_target()
    source = Producer(late_table(late, producer))
    frame = bridge.from_arrow_device(source, stream=consumer, kind="table")
    producer.synchronize()
    default = cupy.cuda.ExternalStream(plc.utils.CUDF_DEFAULT_STREAM.__cuda_stream__()[1])
    consumer.synchronize()
    late.copy(as_cupy(Address(frame._columns[0].data.ptr)), found, default)
    del frame
    gc.collect()
    assert source.releases == 0
    assert not default.done
    default.synchronize()
    assert wait_until(lambda: source.releases == 1)
    assert found.get().tolist() == list(range(ROWS))


def on_thread(work):
    """Run a function on another thread, which has its own per-thread default stream."""
    failures = []

    def run():
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def test_export_waits_for_the_default_stream_of_its_thread(late):
    """Handle 2 is another stream on the thread that reads."""
    import cupy

    exported, consumer, found = [], side_stream(), read_target()

    def produce():
        exported.append(
            bridge.to_arrow_device(late.column(cupy.cuda.Stream.ptds), stream=2),
        )

    on_thread(produce)
    column = column_from(exported[0], stream=consumer)
    late.copy(as_cupy(column.data()), found, consumer, cycles=0)
    consumer.synchronize()
    assert found.get().tolist() == list(range(ROWS))


def test_requested_schema_on_another_thread_waits_for_the_data(late):
    """The conversion reads data that this thread's default stream is still computing."""
    import cupy

    found = []
    exported = bridge.to_arrow_device(late.column(cupy.cuda.Stream.ptds), stream=2)
    wanted = pa.field("", pa.dictionary(pa.int32(), pa.int32()))
    on_thread(lambda: found.append(bridge.to_arrow_device(exported, requested_schema=wanted)))
    array = pa.array(found[0].to_host())
    assert pa.types.is_dictionary(array.type)
    assert array.to_pylist() == list(range(ROWS))


def test_a_release_on_another_thread_waits_for_the_reader(late):
    """The column was imported on this thread's default stream and is released on another thread."""
    import cupy

    found = read_target()
    synchronize()
    source = Producer(bridge.to_arrow_device(late.column(side_stream())))
    synchronize()
    held = [column_from(source, stream=2)]
    reader = cupy.cuda.Stream.ptds
    late.copy(as_cupy(held[0].data()), found, reader)
    on_thread(held.clear)
    assert source.releases == 0
    assert not reader.done
    reader.synchronize()
    assert wait_until(lambda: source.releases == 1)
    assert found.get().tolist() == list(range(ROWS))


SCRIPT = """
import threading
import pyarrow as pa
import cudf_arrow_bridge as bridge

batch = pa.record_batch({"a": list(range(10_000))})
failed = []

def work(number):
    try:
        for _ in range(20):
            frame = bridge.from_arrow_device(batch)
            frame["b"] = frame["a"] + number
            found = bridge.from_arrow_device(bridge.to_arrow_device(frame))
            assert found["b"].sum() == sum(range(10_000)) + 10_000 * number
    except BaseException as error:
        failed.append(error)

threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
"""


def test_threads_with_their_own_default_streams_get_right_results():
    package = str(Path(bridge.__file__).parents[1])
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {package!r})\n{SCRIPT}"],
        env=os.environ | {"CUDF_PER_THREAD_STREAM": "1"},
        check=True,
        timeout=300,
    )
