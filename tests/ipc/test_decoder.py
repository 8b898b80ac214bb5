# SPDX-License-Identifier: Apache-2.0
"""Batches of messages are freed when they are released, in stream order if possible."""

from __future__ import annotations

import weakref

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.ipc.metadata import read_header
from cudf_arrow_bridge.cuda.streams import resolve_stream
from cudf_arrow_bridge.ipc import decoder
from cudf_arrow_bridge.ipc.incoming import IncomingMessage, ReadOptions
from testing.ipc.metadata import messages_of
from testing.ipc.samples import written

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


class Memory:
    """Host memory in place of the device memory that `BodyUpload.finish` returns."""

    def __init__(self, data, stream):
        self.stream = stream
        self._data = np.frombuffer(data, "uint8")

    @property
    def __cuda_array_interface__(self):
        return self._data.__array_interface__


@pytest.mark.parametrize("is_of_stream", [True, False])
def test_batch_is_freed_in_stream_order_if_its_body_has_the_stream(is_of_stream, monkeypatch):
    monkeypatch.setattr(decoder, "DeviceMemory", Memory)
    told = []

    class Parts(decoder.BatchParts):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            told.append(arguments[-1])

    monkeypatch.setattr(decoder, "BatchParts", Parts)
    batch = pa.record_batch({"a": pa.array([1, None, 3])})
    stream = resolve_stream(None)
    made_on = stream if is_of_stream else resolve_stream(None)
    schema, body = messages_of(written(batch.schema, [batch]))
    options = ReadOptions(stream, "minimal", on_device=True)
    received = iter(
        [
            IncomingMessage(read_header(schema[0]), []),
            IncomingMessage(read_header(body[0]), [Memory(body[1], made_on)]),
        ]
    )
    reader = decoder.MessageDecoder.begin(received, options)
    (message,) = received
    found = reader.read(message)
    assert pa.record_batch(found).equals(batch)
    assert told == [is_of_stream]


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
