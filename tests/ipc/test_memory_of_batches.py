# SPDX-License-Identifier: Apache-2.0
"""Batches of messages are freed when they are released, in stream order if possible."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pyarrow as pa
import pytest
import rmm

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.ipc.body_decoder import BodyDecoder
from cudf_arrow_bridge.cuda.residency import DeviceType
from cudf_arrow_bridge.cuda.streams import resolve_stream
from cudf_arrow_bridge.ipc import decoder
from cudf_arrow_bridge.ipc.encoder import encoder_of
from cudf_arrow_bridge.ipc.metadata import StoredSchema, read_header, read_schema
from testing.ipc.metadata import messages_of
from testing.ipc.samples import written
from testing.peers.dlpack import Producer

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


class Memory:
    """Host memory in place of the device memory of an upload."""

    def __init__(self, data, stream):
        self.stream = stream
        self._data = np.frombuffer(data, "uint8")

    @property
    def __cuda_array_interface__(self):
        return self._data.__array_interface__


@pytest.mark.parametrize("is_of_stream", [True, False])
def test_batch_is_freed_in_stream_order_if_its_body_has_the_stream(is_of_stream, monkeypatch):
    monkeypatch.setattr(decoder, "DeviceMemory", Memory)
    freed_in_order = []

    class Parts(decoder.BatchParts):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            freed_in_order.append(arguments[-1])

    monkeypatch.setattr(decoder, "BatchParts", Parts)
    batch = pa.record_batch({"a": pa.array([1, None, 3])})
    options = decoder.ReadOptions(None, "minimal")
    options.on_device = True
    stream = options.stream
    made_on = stream if is_of_stream else resolve_stream(None)
    schema, body = messages_of(written(batch.schema, [batch]))
    reader = decoder.MessageDecoder(read_schema(schema[0]), options)
    array = reader.read_array(read_header(body[0]), [Memory(body[1], made_on)])
    assert pa.record_batch(reader.wrap(array)).equals(batch)
    assert freed_in_order == [is_of_stream]


@pytest.mark.parametrize("codec", [None, "lz4_frame"])
def test_writers_keep_no_array_whose_message_is_made(codec):
    arrays = []

    def array_of(i):
        assert not any(array() for array in arrays)
        array = cab.to_arrow_device(pa.record_batch({"a": [i]}))
        arrays.append(weakref.ref(array))
        return array

    _, encoder = encoder_of(pa.record_batch({"a": [0]}), None, None, None)
    for _ in encoder.messages(map(array_of, range(3)), codec):
        assert not any(array() for array in arrays)
    assert len(arrays) == 3


def test_suspended_iteration_keeps_no_message():
    batch = pa.record_batch({"a": pa.array(range(100))})
    bodies = []

    def send(message):
        metadata, body = message
        body = np.frombuffer(body, "uint8").copy()
        bodies.append(weakref.ref(body))
        return metadata, [body]

    messages = messages_of(written(batch.schema, [batch] * 2))
    arrays = iter(cab.ipc.from_messages(map(send, messages)))
    array = next(arrays)
    assert bodies[-1]() is not None
    del array
    assert bodies[-1]() is None
    assert pa.record_batch(next(arrays)).equals(batch)


class PartsElsewhere(decoder.BatchParts):
    """Parts whose bytes count as managed memory."""

    @property
    def location(self):
        return (DeviceType.CUDA_MANAGED, 0) if self.has_bytes else super().location


class Recorder:
    """A decoder that records the location of the last batch, and of each dictionary."""

    def __init__(self, decoder):
        self._decoder = decoder
        self.locations = {}

    def __getattr__(self, name):
        return getattr(self._decoder, name)

    def decode(self, parts, dictionaries, checks, stream, location, index=-1):
        self.locations[index] = parts.location if parts.has_bytes else location
        return self._decoder.decode(parts, dictionaries, checks, stream, CPU, index)


CPU = (DeviceType.CPU, -1)
WORDS = pa.array(["a", "b", "a"]).dictionary_encode()
NO_WORDS = pa.DictionaryArray.from_arrays(pa.array([None] * 3, "int32"), pa.array([], "string"))


@pytest.mark.parametrize(
    "arrays",
    [
        pytest.param([pa.array([1, 2]), pa.array([], "int64")], id="no rows last"),
        pytest.param([pa.array([], "int64"), pa.array([1])], id="no rows first"),
        pytest.param([WORDS, WORDS[:0]], id="no rows with categories"),
        pytest.param([WORDS[:0]], id="only categories"),
        pytest.param([NO_WORDS], id="no categories"),
        pytest.param([NO_WORDS[:0], NO_WORDS], id="no rows and no categories first"),
        pytest.param([pa.nulls(3), pa.nulls(2)], id="nulls"),
    ],
)
def test_memory_without_bytes_counts_as_memory_like_that_with_bytes(arrays, monkeypatch):
    recorders = []

    def decoder_of(stored):
        recorders.append(Recorder(BodyDecoder(stored.schema.__arrow_c_schema__())))
        return recorders[-1]

    monkeypatch.setattr(StoredSchema, "decoder", property(decoder_of))
    monkeypatch.setattr(decoder, "BatchParts", PartsElsewhere)
    batches = [pa.record_batch([array], ["a"]) for array in arrays]
    sent = messages_of(written(batches[0].schema, batches))
    found = cab.ipc.from_messages((metadata, [body or None]) for metadata, body in sent)
    assert [pa.record_batch(batch) for batch in found] == batches
    expected = CPU if arrays[0].type == pa.null() else (DeviceType.CUDA_MANAGED, 0)
    (recorder,) = recorders
    assert set(recorder.locations.values()) == {expected}


def sent_through(make, batch):
    """Return messages of a batch whose body is the object that `make` makes of its bytes."""
    schema, (metadata, body) = messages_of(written(batch.schema, [batch]))
    return [schema, (metadata, [make(np.frombuffer(body, "uint8").copy())])]


@pytest.mark.parametrize("shape", [(-1,), (-1, 4), (1, -1)], ids=str)
def test_tensors_are_buffers_if_their_elements_follow_one_another(shape):
    batch = pa.record_batch({"a": pa.array([1, None, 3])})
    producers = []

    def make(body):
        producers.append(Producer(body.view("int32").reshape(shape)))
        return producers[-1]

    (array,) = cab.ipc.from_messages(sent_through(make, batch))
    (producer,) = producers
    assert pa.record_batch(array).equals(batch)
    (validity, _) = array["a"].buffers()
    assert validity.address == producer._struct.dl_tensor.data
    assert producer.deleted == 0
    del array
    gc.collect()
    assert producer.deleted == 1


def test_tensors_with_gaps_are_rejected():
    batch = pa.record_batch({"a": pa.array([1, None, 3])})
    messages = sent_through(lambda body: Producer(body.repeat(2)[::2]), batch)
    with pytest.raises(ValueError, match=r"contiguous.*\(2,\)$"):
        list(cab.ipc.from_messages(messages))
    gc.collect()
    assert not Producer.alive


def test_delta_of_a_dictionary_is_uploaded_with_the_given_resource(monkeypatch):
    used = []

    def upload_memory(source, stream, mr, chunk_size):
        used.append(mr)
        return source

    monkeypatch.setattr(decoder, "upload_memory", upload_memory)
    monkeypatch.setattr(decoder, "CPU", None)  # as if all memory were on a device
    words = [pa.array(values).dictionary_encode() for values in (["a"], ["a", "b"])]
    batches = [pa.record_batch([array], ["a"]) for array in words]
    resource = rmm.mr.CudaMemoryResource()
    sent = messages_of(written(batches[0].schema, batches, deltas=True))
    messages = [(metadata, [body]) for metadata, body in sent]
    found = cab.ipc.from_messages(messages, mr=resource)
    assert [pa.record_batch(batch)["a"].to_pylist() for batch in found] == [["a"], ["a", "b"]]
    assert used == [resource]
