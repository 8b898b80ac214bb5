# SPDX-License-Identifier: Apache-2.0
"""Arrow IPC of device memory: bodies stay on the device, or are copied to the host and back."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import samples, views
from testing.device import GPU, ROWS, on_device, rows, side_stream, sliced, unnamed
from testing.ipc.metadata import framed, messages_of
from testing.ipc.samples import written
from testing.peers.device_memory import OnDevice
from testing.peers.dlpack import Producer

pytestmark = GPU

SLICES = [(0, samples.MANY), (1, 64), (9, 65), (33, 0)]
#: pylibcudf's conversion supports no null type and only one width of dictionary indices.
TYPES = [t for t in samples.TYPES if not (pa.types.is_null(t) or pa.types.is_dictionary(t))]
types = pytest.mark.parametrize("type_", TYPES, ids=str)


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
def test_bodies_of_messages_stay_on_the_device(type_):
    pytest.importorskip("cupy")
    for offset, size in SLICES:
        table, expected = table_of(type_, offset, size)
        messages = list(cab.ipc.messages(table))
        for message in messages:
            for buffer in message.buffers:
                if buffer.size:
                    assert buffer.__cuda_array_interface__["data"][0] == buffer.address
        stream = framed([(message.metadata, packed(message)) for message in messages])
        assert values_of(pa.ipc.open_stream(stream)) == expected


@types
def test_from_messages_shares_device_memory(type_):
    table, expected = table_of(type_, 0, samples.MANY)
    messages = list(cab.ipc.messages(table))
    sent = {buffer.address for message in messages for buffer in message.buffers if buffer.size}
    (array,) = cab.ipc.from_messages(messages)
    del messages
    assert array.device_type == cab.DeviceType.CUDA
    assert {buffer.address for buffer in array.buffers() if buffer.size} <= sent
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
def test_device_tables_are_written_to_streams_and_files(type_, compression, tmp_path):
    for offset, size in SLICES:
        table, expected = table_of(type_, offset, size)
        for chunk_size in (64, 1 << 20):
            options = {"compression": compression, "chunk_size": chunk_size}
            sink = io.BytesIO()
            cab.ipc.write_stream(table, sink, **options)
            assert values_of(pa.ipc.open_stream(sink.getvalue())) == expected
            cab.ipc.write_file(table, tmp_path / "file.arrow", **options)
            with pa.ipc.open_file(tmp_path / "file.arrow") as file:
                assert values_of(file.get_batch(i) for i in range(file.num_record_batches)) == (
                    expected
                )


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


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_batch_in_device_memory_takes_at_most_max_bytes(compression):
    batch = pa.record_batch({"a": np.zeros(2**17)})
    stream = written(batch.schema, [batch], compression=compression)
    (array,) = cab.ipc.open_stream(stream, max_bytes=2**20)
    assert array.device_type == cab.DeviceType.CUDA
    match = f"the record batch takes {2**20:,} bytes, more than max_bytes={2**20 - 1}$"
    with pytest.raises(ValueError, match=match):
        list(cab.ipc.open_stream(stream, max_bytes=2**20 - 1))


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("chunk_size", [64, 1 << 20])
@types
def test_streams_and_files_are_read_into_device_memory(type_, compression, chunk_size, tmp_path):
    array = samples.values(type_, samples.MANY, "some")
    batch = pa.record_batch({"a": array})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    sink, path = io.BytesIO(), tmp_path / "file.arrow"
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    with pa.ipc.new_file(path, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    found = list(cab.ipc.open_stream(sink.getvalue(), chunk_size=chunk_size))
    with cab.ipc.open_file(path, chunk_size=chunk_size) as file:
        found += [*file, file[0]]
    assert len(found) == 3
    for array in found:
        assert array.device_type == cab.DeviceType.CUDA
        assert rows(array) == batch.to_pylist()


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


def test_frames_round_trip_through_a_stream(tmp_path):
    frame = cab.from_arrow_device(pa.table({"a": [1, None, 3], "b": ["x", "yy", None]}))
    cab.ipc.write_stream(frame, tmp_path / "frame.arrows", max_rows=2)
    back = cab.from_arrow_device_stream(cab.ipc.open_stream(tmp_path / "frame.arrows"))
    assert back.to_arrow().to_pylist() == frame.to_arrow().to_pylist()


def test_write_stream_waits_for_the_stream_of_the_data(late, pool):
    stream = side_stream()
    column, sink = late.column(stream), io.BytesIO()
    cab.ipc.write_stream(plc.Table([column]), sink, stream=stream)
    assert values_of(pa.ipc.open_stream(sink.getvalue())) == list(range(ROWS))


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


def test_categories_without_values_fit_memory_of_each_resource(resource):
    nulls = pa.DictionaryArray.from_arrays(pa.nulls(3, "int32"), pa.array([], "string"))
    frame = cab.from_arrow_device(pa.table({"a": nulls}))
    (array,) = cab.ipc.from_messages(list(cab.ipc.messages(frame)))
    assert rows(array) == [{"a": None}] * 3


def test_tensors_in_host_memory_are_buffers_of_messages():
    batch = pa.record_batch({"a": pa.array([1, None, 3])})
    schema, (metadata, body) = messages_of(written(batch.schema, [batch]))
    tensor = Producer(np.frombuffer(body, "uint8").copy())
    (array,) = cab.ipc.from_messages([schema, (metadata, [tensor])])
    assert array.device_type == cab.DeviceType.CPU
    assert rows(array) == batch.to_pylist()


def test_ucx_example_sends_bodies_by_cuda_ipc(tmp_path):
    """UCX logs the transports of each kind of message and memory."""
    pytest.importorskip("ucxx", reason="the extra ucx is not installed", exc_type=ImportError)
    pytest.importorskip("cupy")
    from testing.ipc.ucx_example import run_example

    output, protocols = run_example(tmp_path, UCX_TLS="tcp,self,sm,cuda_copy,cuda_ipc")
    assert "of metadata" in output
    assert "from iov" not in protocols
    _, *sends = protocols.split("tagged message by ucp_tag_send*")
    assert any("from cuda" in send[:60] and "cuda_ipc" in send for send in sends)
