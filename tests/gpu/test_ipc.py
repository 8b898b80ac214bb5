# SPDX-License-Identifier: Apache-2.0
"""Arrow IPC: bodies stay on the device, or are copied to the host and back in stream order."""

from __future__ import annotations

import io
import os
import pickle

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.ipc.body_transfer import upload_from, upload_memory
from cudf_arrow_bridge.cuda.streams import resolve_stream
from cudf_arrow_bridge.ipc.transport.sources import open_source
from testing import samples, views
from testing.device import (
    GPU,
    ROWS,
    SLICES,
    as_cupy,
    expect_values,
    on_device,
    read_target,
    rows,
    side_stream,
    sliced,
    types,
    unnamed,
)
from testing.ipc.bytes import WritingThread
from testing.ipc.metadata import framed
from testing.ipc.samples import written
from testing.peers.device_memory import OnDevice

pytestmark = GPU


def table_of(type_, offset, size):
    """Return a table with some rows of a column in device memory, and the values of these rows."""
    array = samples.values(type_, samples.MANY, "some")
    table = plc.Table([sliced(on_device(array), offset, size)])
    return table, unnamed(array.slice(offset, size).to_pylist())


def values_of(batches):
    return [unnamed(list(row.values()))[0] for batch in batches for row in batch.to_pylist()]


def on_host(buffer):
    """Return the bytes of a message's buffer, copied by cupy."""
    import cupy

    return cupy.asarray(buffer).view("uint8").tobytes() if buffer.size else b""


def packed(message):
    pairs = zip(message.buffers, message.padding, strict=True)
    return b"".join(on_host(part) + bytes(zeros) for part, zeros in pairs)


@types
def test_messages_have_the_buffers_of_the_device(type_):
    pytest.importorskip("cupy")
    for offset, size in SLICES:
        table, expected = table_of(type_, offset, size)
        messages = list(cab.ipc.messages(table))
        buffers = [buffer for message in messages for buffer in message.buffers if buffer.size]
        addresses = [buffer.address for buffer in buffers]
        assert [b.__cuda_array_interface__["data"][0] for b in buffers] == addresses
        stream = framed([(message.metadata, packed(message)) for message in messages])
        assert values_of(pa.ipc.open_stream(stream)) == expected
        (array,) = cab.ipc.from_messages(messages)
        assert {buffer.address for buffer in array.buffers() if buffer.size} <= {*addresses}
        assert [unnamed(list(row.values()))[0] for row in rows(array)] == expected


def test_messages_share_columns_of_fixed_width():
    column = on_device(pa.array([1, None, *range(6)], pa.int64()))
    _, batch = cab.ipc.messages(plc.Table([column]))
    mask, data = batch.buffers
    assert (mask.address, data.address) == (column.null_mask().ptr, column.data().ptr)


def test_bitmaps_of_messages_end_in_zeros():
    pytest.importorskip("cupy")
    whole = on_device(pa.array([1, None] * 50, pa.int64()))
    for offset, size in [(0, 5), (1, 41), (32, 9), (64, 33)]:
        _, batch = cab.ipc.messages(plc.Table([sliced(whole, offset, size)]))
        bits = int.from_bytes(on_host(batch.buffers[0]), "little")
        assert bits == sum(1 << row for row in range(size) if (offset + row) % 2 == 0)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@types
def test_streams_are_written_and_read(type_, compression):
    for offset, size in SLICES:
        table, expected = table_of(type_, offset, size)
        for chunk_size in (64, 1 << 20):
            sink = io.BytesIO()
            cab.ipc.write_stream(table, sink, compression=compression, chunk_size=chunk_size)
            assert values_of(pa.ipc.open_stream(sink.getvalue())) == expected

            batch = pa.record_batch({"a": samples.values(type_, samples.MANY, "some")})
            batch = batch.slice(offset, size)
            stream = written(batch.schema, [batch], compression=compression)
            (array,) = cab.ipc.open_stream(stream, chunk_size=chunk_size)
            assert size == 0 or array.device_type == cab.DeviceType.CUDA
            assert rows(array) == batch.to_pylist()


@pytest.mark.parametrize("ends", views.RUN_ENDS, ids=str)
def test_slices_of_run_ends_in_device_memory_are_written(ends):
    pytest.importorskip("cupy")
    runs, values = views.run_ended(samples.values(pa.string(), samples.MANY, "some"), ends)
    for offset, size in SLICES:
        sink = io.BytesIO()
        cab.ipc.write_stream(cab.to_arrow_device(OnDevice(runs.slice(offset, size))), sink)
        written = pa.ipc.open_stream(sink.getvalue()).read_all()
        written.validate(full=True)
        assert written.column(0).to_pylist() == values.slice(offset, size).to_pylist()


@pytest.mark.parametrize("value_type", [pa.int64(), pa.string()], ids=str)
def test_empty_dictionaries_are_read_into_device_memory(value_type):
    """The body of such a dictionary has no bytes whose address would tell the memory."""
    indices, values = pa.array([None, None], pa.int8()), pa.array([], value_type)
    batch = pa.record_batch({"a": pa.DictionaryArray.from_arrays(indices, values)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    (array,) = cab.ipc.open_stream(sink.getvalue())
    assert array.device_type == cab.DeviceType.CUDA
    assert array.to_arrow().equals(batch)


def test_write_stream_waits_for_the_stream_of_the_data(late, pool):
    stream = side_stream()
    column, sink = late.column(stream), io.BytesIO()
    cab.ipc.write_stream(plc.Table([column]), sink, stream=stream)
    assert values_of(pa.ipc.open_stream(sink.getvalue())) == list(range(ROWS))


def test_decoding_of_messages_waits_for_the_stream_of_the_data(late):
    producer, consumer, found = side_stream(), side_stream(), read_target()
    messages = list(cab.ipc.messages(plc.Table([late.column(producer)]), stream=producer))
    (array,) = cab.ipc.from_messages(messages, stream=consumer)
    (column,) = cab.from_arrow_device(array, to="pylibcudf", stream=consumer).columns()
    late.copy(as_cupy(column.data()), found, consumer, cycles=0)
    assert not producer.done
    expect_values(found, consumer)


@pytest.mark.parametrize("order", [(3, 0), (0, 3), (0, 0), (0, 3, 0)], ids=str)
def test_batches_without_rows_fit_memory_of_each_resource(resource, order, tmp_path):
    columns = {"a": [1, None, 3], "b": ["x", "yy", None]}
    table = pa.table(columns | {"c": pa.array(["u", None, "u"]).dictionary_encode()})
    frames = [cab.from_arrow_device(table)[:size] for size in order]
    expected = [row for size in order for row in table.to_pylist()[:size]]
    cab.ipc.write_stream(frames, tmp_path / "frames.arrows")
    pickled = [pickle.loads(pickle.dumps(cab.to_arrow_device(frame))) for frame in frames]
    for stream in (
        cab.to_arrow_device_stream(frames),
        cab.ipc.from_messages(list(cab.ipc.messages(frames))),
        cab.ipc.open_stream(tmp_path / "frames.arrows"),
        pickled,
    ):
        assert cab.from_arrow_device_stream(stream).to_arrow().to_pylist() == expected


CHUNK = 100_000
DATA = os.urandom(1 << 20)
#: More than the pieces of one thread.
LARGE = os.urandom((1 << 24) + 3)


def as_bytes(memory):
    import cupy

    return cupy.asarray(memory).tobytes()


def sources(path):
    path.write_bytes(DATA)
    yield DATA
    yield io.BytesIO(DATA)
    yield path
    reader, writer = os.pipe()
    thread = WritingThread(writer, DATA)
    with open(reader, "rb", buffering=0) as file:
        yield file
    thread.join()


def test_bodies_of_all_sources_are_uploaded(tmp_path, resource):
    stream = resolve_stream(side_stream())
    for each in sources(tmp_path / "data"):
        with open_source(each) as source:
            source.take(100, "something")
            memory = source.upload(len(DATA) - 100, stream, None, CHUNK)
        assert memory.size == len(DATA) - 100
        assert memory.__cuda_array_interface__["stream"] == stream.handle
        assert as_bytes(memory) == DATA[100:]


def test_uploaded_memory_keeps_its_stream_and_resource_alive():
    import rmm.mr

    parts = iter((b"abcd", b"ef"))

    def read_into(piece):
        piece[:] = next(parts)

    resource = rmm.mr.CudaAsyncMemoryResource()
    memory = upload_from(read_into, 6, resolve_stream(side_stream()), resource, 4)
    del resource
    assert as_bytes(memory) == b"abcdef"


def test_large_memory_is_uploaded_by_several_threads():
    memory = upload_memory(LARGE, resolve_stream(side_stream()), None, 1 << 23)
    assert as_bytes(memory) == LARGE
