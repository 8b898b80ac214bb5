# SPDX-License-Identifier: Apache-2.0
"""Pickling copies device arrays to the host and back; copies stay on the device."""

from __future__ import annotations

import copy
import pickle

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc.pickling import pack, unpack
from testing import samples
from testing.device import GPU, ROWS, SLICES, on_device, rows, side_stream, sliced, types, unnamed
from testing.exchange.pickles import PICKLE_OPTIONS, pickle_out_of_band, pickle_round_trip

pytestmark = GPU


def columns_of(type_):
    """Yield columns in device memory, whole and sliced, with their rows."""
    array = samples.values(type_, samples.MANY, "some")
    column = on_device(array)
    for offset, size in SLICES:
        yield sliced(column, offset, size), unnamed(array.slice(offset, size).to_pylist())


def addresses(array):
    return {buffer.address for buffer in array.buffers() if buffer.size}


def assert_on_device(array, expected):
    assert array.device_type == cab.DeviceType.CUDA
    assert array.device_id == 0
    assert unnamed(rows(array)) == expected


@types
def test_pickled_columns_return_to_the_device(type_):
    for column, expected in columns_of(type_):
        array = cab.to_arrow_device(column)
        for way in PICKLE_OPTIONS:
            assert_on_device(pickle_round_trip(array, way), expected)
        data, buffers = pickle_out_of_band(array)
        assert len(buffers) <= 1
        assert all(memoryview(buffer).readonly for buffer in buffers)
        received = [bytes(buffer) for buffer in buffers]
        assert_on_device(pickle.loads(data, buffers=received), expected)
        # The buffers may be misaligned, because they are copied to the device.
        received = [memoryview(b"." + buffer)[1:] for buffer in received]
        assert_on_device(pickle.loads(data, buffers=received), expected)


def test_pickles_and_copies_of_memory_of_each_resource_round_trip(resource):
    _, label = resource
    column = on_device(pa.array([1, None, 3]))
    array = cab.to_arrow_device(column)
    assert array.device_type == cab.DeviceType[label]
    for way in PICKLE_OPTIONS:
        found = pickle_round_trip(array, way)
        assert rows(found) == [1, None, 3]
        # The reader's resource allocates the memory. Pinned memory is host memory and stays there.
        on_host = label == "CUDA_HOST"
        assert found.device_type == cab.DeviceType["CPU" if on_host else label]
    deep = copy.deepcopy(array)
    assert deep.device_type == array.device_type
    assert rows(deep) == [1, None, 3]


@types
def test_pack_can_keep_buffers_on_the_device(type_):
    for column, expected in columns_of(type_):
        array = cab.to_arrow_device(column)
        header, buffers = pack(array, to_host=False)
        assert all(hasattr(buffer, "__cuda_array_interface__") for buffer in buffers)
        found = unpack(header, buffers)
        assert_on_device(found, expected)
        assert addresses(found) <= {buffer.address for buffer in buffers}
    header, buffers = pack(cab.to_arrow_device(on_device(pa.array([1, 2]))), to_host=False)
    assert [buffer.size for buffer in buffers] == [16]


@types
def test_deep_copies_stay_on_the_device(type_):
    for column, expected in columns_of(type_):
        array = cab.to_arrow_device(column)
        shallow, deep = copy.copy(array), copy.deepcopy(array)
        assert addresses(shallow) == addresses(array)
        assert addresses(deep).isdisjoint(addresses(array))
        assert deep.device_type == cab.DeviceType.CUDA
        assert deep.device_id == array.device_id
        array.release()
        shallow.release()
        assert_on_device(deep, expected)


def test_deep_copies_and_pickles_of_string_views_are_equal():
    """The sizes of the data buffers are in host memory or in device memory."""
    batch = pa.record_batch({"a": pa.array(["x" * 40, None, "y"], pa.string_view())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    (array,) = cab.ipc.open_stream(sink.getvalue())
    assert array.device_type == cab.DeviceType.CUDA
    for found in (
        array,
        copy.deepcopy(array),
        pickle_round_trip(array),
        pickle_round_trip(copy.deepcopy(array)),
    ):
        assert found.nbytes == array.nbytes
        assert found.to_arrow().equals(batch)


@pytest.mark.parametrize("to_host", [True, False])
def test_pack_waits_for_the_stream_of_the_data(late, pool, to_host):
    stream = side_stream()
    column = late.column(stream)
    array = cab.to_arrow_device(column, stream=stream)
    assert not stream.done
    header, buffers = pack(array, to_host=to_host)
    assert stream.done
    assert rows(unpack(header, buffers)) == list(range(ROWS))


def test_deep_copies_are_ordered_after_the_stream_of_the_data(late, pool):
    stream = side_stream()
    array = late.array(stream)
    deep = copy.deepcopy(array)
    array.release()
    assert rows(deep) == list(range(ROWS))


def test_unpickled_arrays_stay_on_the_host_without_a_gpu(monkeypatch):
    data, buffers = pickle_out_of_band(cab.to_arrow_device(on_device(pa.array([1, None, 3]))))
    monkeypatch.setattr("cudf_arrow_bridge.ipc.pickling.has_gpu", lambda: False)
    found = pickle.loads(data, buffers=buffers)
    assert found.device_type == cab.DeviceType.CPU
    assert pa.array(found).to_pylist() == [1, None, 3]
