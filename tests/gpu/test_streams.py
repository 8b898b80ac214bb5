# SPDX-License-Identifier: Apache-2.0
"""Exports and imports are ordered by streams, and the host does not wait.

Every test runs a slow kernel on a stream of its own. If an event or a wait is missing, the test
reads zeros in place of values. If the host waits, a stream is done too early.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cuda.streams import stream_handle
from testing.device import (
    GPU,
    ROWS,
    Address,
    as_cupy,
    assert_late,
    expect_values,
    read_target,
    side_stream,
    synchronize,
    wait_until,
)
from testing.peers.arrays import Producer, column_from, read

pytestmark = GPU


def test_export_of_an_import_is_ordered_after_the_first_producer(late):
    producer, middle, consumer, found = *(side_stream() for _ in range(3)), read_target()
    first = late.array(producer)
    imported = column_from(first, stream=middle)
    again = column_from(cab.to_arrow_device(imported, stream=middle), stream=consumer)
    assert_late(late, [(found, again, consumer)], producer)


def test_packing_of_bools_is_ordered_and_does_not_block_the_host(late, pool):
    import cupy
    import rmm

    producer = side_stream()
    ones = cupy.full(ROWS // 4, 0x01000100, "int32")

    def bools():
        buffer = rmm.DeviceBuffer(size=ROWS, mr=pool)
        target = as_cupy(buffer)
        target.fill(0)
        synchronize()
        dtype = plc.DataType(plc.TypeId.BOOL8)
        return target, plc.Column.from_rmm_buffer(buffer, dtype, ROWS, [])

    cab.to_arrow_device(bools()[1], stream=producer)  # loads the kernel
    target, column = bools()
    late.copy(ones, target, producer)
    exported = cab.to_arrow_device(column, stream=producer)
    waited = producer.done
    assert read(exported.to_host(stream=side_stream())).to_pylist() == [False, True] * (ROWS // 2)
    assert not waited


def test_unpacking_of_bits_does_not_block_the_host(late, pool):
    import cupy

    producer, consumer = side_stream(), side_stream()

    def as_bits(schema, array):
        schema.format = b"b"
        array.array.length = 32 * ROWS

    def unpack():
        bits = Producer(late.array(producer), as_bits)
        return column_from(bits, stream=consumer, mr=pool)

    unpack()  # loads the kernel
    synchronize()
    column = unpack()
    waited = producer.done
    consumer.synchronize()
    bits = cupy.unpackbits(late.values.view("uint8"), bitorder="little")
    assert cupy.array_equal(as_cupy(column.data(), "uint8")[: bits.size], bits)
    assert not waited


def cupy_stream(stream):
    """Return a stream of any library as a stream of cupy."""
    import cupy

    return cupy.cuda.ExternalStream(stream_handle(stream))


def rmm_stream():
    from rmm.pylibrmm.stream import Stream

    return Stream()


def rmm_per_thread():
    from rmm.pylibrmm.stream import PER_THREAD_DEFAULT_STREAM

    return PER_THREAD_DEFAULT_STREAM


def pylibcudf_stream():
    from pylibcudf.utils import CUDF_DEFAULT_STREAM

    return CUDF_DEFAULT_STREAM


def cuda_core_stream():
    core = pytest.importorskip("cuda.core")
    current = core.Device()
    current.set_current()
    return current.create_stream()


def cuda_bindings_stream():
    from cuda.bindings import runtime

    error, stream = runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking)
    assert error == runtime.cudaError_t.cudaSuccess
    return stream


def torch_stream():
    return pytest.importorskip("torch").cuda.Stream()


def numba_stream():
    return pytest.importorskip("numba.cuda").stream()


KEPT = []


def handle():
    KEPT.append(side_stream())
    return KEPT[-1].ptr


def nothing():
    return None


STREAMS = [
    *(nothing, handle, side_stream, rmm_stream, rmm_per_thread, pylibcudf_stream),
    *(cuda_core_stream, cuda_bindings_stream, torch_stream, numba_stream),
]


each_stream = pytest.mark.parametrize("make", STREAMS, ids=lambda make: make.__name__)


@each_stream
def test_export_accepts_streams_of_every_library(make, late):
    producer, consumer, found = make(), side_stream(), read_target()
    column = late.column(cupy_stream(producer))
    column = column_from(cab.to_arrow_device(column, stream=producer), stream=consumer)
    assert_late(late, [(found, column, consumer)], cupy_stream(producer))


@each_stream
def test_import_accepts_streams_of_every_library(make, late):
    producer, consumer, found = side_stream(), make(), read_target()
    exported = late.array(producer)
    column = column_from(exported, stream=consumer)
    assert_late(late, [(found, column, cupy_stream(consumer))], producer)


def test_imported_column_keeps_its_stream_alive(late):
    stream = side_stream()
    gone = weakref.ref(stream)
    column = column_from(late.array(stream), stream=stream)
    del stream
    gc.collect()
    assert gone() is not None
    del column
    assert wait_until(lambda: gone() is None)


SUM = ROWS * (ROWS - 1) // 2


def warm_up(late):
    """Load the kernels of a sum in cuDF, because loading a kernel may wait for the device."""
    frame = cab.from_arrow_device(late.table(side_stream()), stream=side_stream())
    assert frame["0"].sum() == SUM
    synchronize()


def test_cudf_reads_frames_imported_on_another_stream(late):
    warm_up(late)
    producer, consumer = side_stream(), side_stream()
    frame = cab.from_arrow_device(late.table(producer), stream=consumer)
    assert not producer.done
    assert frame["0"].sum() == SUM


def test_release_of_a_frame_waits_for_the_work_of_cudf(late):
    """cuDF reads the frame on its own stream. The stream of the import is already done."""
    import cupy

    warm_up(late)
    producer, consumer, found = side_stream(), side_stream(), read_target()
    source = Producer(late.table(producer))
    frame = cab.from_arrow_device(source, stream=consumer, kind="table")
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
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(work).result()


def test_export_waits_for_the_default_stream_of_its_thread(late):
    """Handle 2 is another stream on the thread that reads."""
    import cupy

    consumer, found = side_stream(), read_target()
    ptds = cupy.cuda.Stream.ptds
    exported = on_thread(lambda: cab.to_arrow_device(late.column(ptds), stream=2))
    column = column_from(exported, stream=consumer)
    late.copy(as_cupy(column.data()), found, consumer, cycles=0)
    expect_values(found, consumer)


def test_requested_schema_on_another_thread_waits_for_the_data(late):
    """The conversion reads data that this thread's default stream is still computing."""
    import cupy

    exported = cab.to_arrow_device(late.column(cupy.cuda.Stream.ptds), stream=2)
    wanted = pa.field("", pa.dictionary(pa.int32(), pa.int32()))
    converted = on_thread(lambda: cab.to_arrow_device(exported, requested_schema=wanted))
    array = pa.array(converted.to_host())
    assert pa.types.is_dictionary(array.type)
    assert array.to_pylist() == list(range(ROWS))


def test_a_release_on_another_thread_waits_for_the_reader(late):
    """The column was imported on this thread's default stream and is released on another thread."""
    import cupy

    found = read_target()
    synchronize()
    source = Producer(cab.to_arrow_device(late.column(side_stream())))
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
from concurrent.futures import ThreadPoolExecutor
import pyarrow as pa
import cudf_arrow_bridge as cab

batch = pa.record_batch({"a": list(range(10_000))})

def work(number):
    for _ in range(20):
        frame = cab.from_arrow_device(batch)
        frame["b"] = frame["a"] + number
        found = cab.from_arrow_device(cab.to_arrow_device(frame))
        assert found["b"].sum() == sum(range(10_000)) + 10_000 * number

with ThreadPoolExecutor(4) as executor:
    list(executor.map(work, range(4)))
"""


def test_threads_with_their_own_default_streams_get_right_results():
    subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT],
        env=os.environ | {"CUDF_PER_THREAD_STREAM": "1"},
        check=True,
        timeout=300,
    )
