# SPDX-License-Identifier: Apache-2.0
"""Compressed buffers that are invalid. test_peers_of_ipc.py reads those of other libraries."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc import decoder
from testing.ipc import samples as ipc_samples
from testing.ipc.metadata import Metadata, messages_of

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

BATCH = pa.record_batch({"a": np.zeros(1000), "b": np.zeros(1000)})
MOST = {"lz4": 256, "zstd": 2**16}


def parts(codec):
    """Return the schema message, the metadata of the batch and its body."""
    (schema, _), (metadata, body) = messages_of(
        ipc_samples.written(BATCH.schema, [BATCH], compression=codec)
    )
    return (schema, []), metadata, bytes(body)


def read(schema, metadata, buffers):
    (array,) = cab.ipc.from_messages([schema, (metadata, buffers)])
    return pa.record_batch(array)


@pytest.mark.parametrize("codec", MOST)
def test_invalid_size_or_data_of_a_buffer_is_rejected(codec):
    schema, metadata, body = parts(codec)
    assert read(schema, metadata, [body]).equals(BATCH)
    offset, size = Metadata(metadata).buffers[1]
    data = body[offset + 8 : offset + size]
    most = MOST[codec] * len(data)

    def read_buffer(stated, data):
        changed = struct.pack("<q", stated) + data
        read(schema, metadata, [body[:offset] + changed + body[offset + size :]])

    for stated in (-2, most + 1, 2**62):
        with pytest.raises(ValueError, match=rf"^buffer 1: .* {most:,} bytes.* {stated:,}$"):
            read_buffer(stated, data)
    for stated, wrong in ((8001, data), (7999, data), (8000, b"\xff" * len(data))):
        with pytest.raises(ValueError, match=rf"^buffer 1: {codec}"):
            read_buffer(stated, wrong)


def test_buffers_outside_of_the_body_or_without_a_size_are_rejected():
    schema, metadata, body = parts("lz4")
    cases = {"buffer 2": len(body), "buffer 3": len(body) + 1}, {"buffer 2": -8}, {"buffer 3": 7}
    for places in cases:
        wrong = Metadata(metadata).patched(**places)
        with pytest.raises(ValueError, match=r"^buffer 1: "):
            read(schema, wrong, [body])


def test_body_is_one_buffer_in_host_memory_or_all_buffers():
    schema, metadata, body = parts("lz4")
    buffers = [body[begin : begin + size] for begin, size in Metadata(metadata).buffers]
    assert read(schema, metadata, buffers).equals(BATCH)
    with pytest.raises(ValueError, match=r"expected 4 buffers.* got 3: "):
        read(schema, metadata, buffers[:3])
    with pytest.raises(TypeError, match="an object of type object"):
        read(schema, metadata, [object(), *buffers[1:]])


def test_empty_buffers_with_the_marker_of_uncompressed_ones_are_absent(monkeypatch):
    """Otherwise they would count as memory of the host."""
    found = []

    class Parts(decoder.BatchParts):
        def __init__(self, header, buffers, *rest):
            super().__init__(header, buffers, *rest)
            found.append(buffers)

    monkeypatch.setattr(decoder, "BatchParts", Parts)
    empty = BATCH.slice(0, 0)
    stream = ipc_samples.written(BATCH.schema, [empty], compression="lz4")
    (schema, _), (metadata, _) = messages_of(stream)
    marked = Metadata(metadata).patched(**{"buffer 3": 8, "buffer 7": 8})
    marker = struct.pack("<q", -1)
    assert read((schema, []), marked, [b"", marker, b"", marker]).equals(empty)
    assert found[-1] == [None] * 4


def test_compressed_buffers_that_overlap_are_rejected():
    batch = pa.record_batch({"a": np.zeros(100_000), "b": np.zeros(100_000)})
    stream = ipc_samples.written(batch.schema, [batch], compression="lz4")
    (schema, _), (metadata, body) = messages_of(stream)
    offset, size = Metadata(metadata).buffers[1]
    for start in (offset, offset + 8):
        shared = Metadata(metadata).patched(**{"buffer 6": start, "buffer 7": size})
        with pytest.raises(ValueError, match="compressed buffers overlap"):
            read((schema, []), shared, [body])
