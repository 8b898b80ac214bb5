# SPDX-License-Identifier: Apache-2.0
"""Metadata of messages and footers is read and written; pyarrow is the peer."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc.metadata import (
    batch_message,
    make_footer,
    read_footer,
    read_header,
    schema_message,
)
from cudf_arrow_bridge.ipc.transport.framing import Block
from testing.ipc.metadata import Metadata, messages_of


def test_compression_of_arrow_0_17_is_refused():
    def batch_with(custom_metadata):
        batch, sink = pa.record_batch({"a": [1, 2]}), pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4)
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch, custom_metadata=custom_metadata)
        (_, (metadata, _)) = messages_of(sink.getvalue())
        return metadata

    assert read_header(batch_with({"k": "v"})).length == 2
    with pytest.raises(ValueError, match=r"Arrow 0\.17$"):
        read_header(batch_with({"ARROW:experimental_compression": "ZSTD"}))


def test_tensors_are_refused():
    sink = pa.BufferOutputStream()
    pa.ipc.write_tensor(pa.Tensor.from_numpy(np.arange(3)), sink)
    message = pa.ipc.read_message(sink.getvalue())
    with pytest.raises(ValueError, match=r"metadata byte \d+: .*tensor$"):
        read_header(message.metadata)


@pytest.mark.parametrize("columns", [1, 5000])
def test_batch_messages_support_many_columns(columns):
    metadata = batch_message((2, bytes(16 * columns), bytes(32 * columns), b"", 0))
    header = read_header(metadata)
    assert (len(header.nodes), len(header.buffers)) == (16 * columns, 32 * columns)
    assert len(metadata) < 48 * columns + 150


@pytest.mark.parametrize("codec", [None, "lz4_frame", "zstd"])
@pytest.mark.parametrize("dictionary", [None, (0, False), (2**40, True)])
@pytest.mark.parametrize("variadic", [(), (0,), (1, 2, 3)])
def test_batch_messages_have_all_numbers(codec, dictionary, variadic):
    nodes, buffers = np.arange(6, dtype="<i8"), np.arange(10, 20, dtype="<i8")
    counts = np.array(variadic, "<i8").tobytes()
    numbers = 7, nodes.tobytes(), buffers.tobytes(), counts, 640
    metadata = batch_message(numbers, codec, dictionary)
    assert len(metadata) % 8 == 0
    header = read_header(metadata)
    assert header.kind == ("batch" if dictionary is None else "dictionary")
    assert (header.length, header.body_length, header.codec) == (7, 640, codec)
    assert (header.dictionary_id, header.is_delta) == (dictionary or (0, False))
    assert header.variadic_counts == variadic
    assert (header.nodes, header.buffers) == (nodes.tobytes(), buffers.tobytes())
    assert all(place % 8 == 0 for place in Metadata(metadata).places.values() if place)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, pa.py_buffer, np.frombuffer])
def test_read_header_accepts_any_bytes_like_object(kind):
    data = batch_message((1, bytes(16), bytes(32), b"", 0))
    given = np.frombuffer(data, np.int32) if kind is np.frombuffer else kind(data)
    header = read_header(given)
    assert header.length == 1
    assert type(header.metadata) is bytes
    assert header.metadata == data


BLOCK = struct.Struct("<qi4xq")


@pytest.mark.parametrize(
    ("block", "fits"),
    [
        ((8, 16, 40), True),
        ((0, 64, 0), True),
        ((8, 16, 41), False),
        ((4, 16, 8), False),
        ((-8, 16, 8), False),
        ((8, 0, 8), False),
        ((8, 16, -8), False),
        ((2**63 - 8, 16, 8), False),
        ((8, 2**31 - 1, 2**63 - 1), False),
    ],
)
def test_blocks_must_lie_in_the_file(block, fits):
    footer = make_footer(schema_message(pa.schema([])), [Block(8, 8, 8)], [Block(8, 8, 8), block])
    if fits:
        assert read_footer(footer, 64).batches == [Block(8, 8, 8), Block(*block)]
        return
    where = footer.index(BLOCK.pack(*block))
    found = f"a message of {block[1]}\\+{block[2]} bytes at {block[0]}"
    expected = "a message at a multiple of 8 in 64 bytes"
    with pytest.raises(ValueError, match=f"footer byte {where}: expected {expected}, got {found}"):
        read_footer(footer, 64)


def test_read_footer_ignores_the_padding_of_a_block():
    footer = make_footer(schema_message(pa.schema([])), [], [Block(8, 16, 24)])
    first = footer.index(BLOCK.pack(8, 16, 24)) + 12
    read = read_footer(footer[:first] + b"\xff" * 4 + footer[first + 4 :], 64)
    assert read.batches == [Block(8, 16, 24)]


def test_read_footer_rejects_a_message():
    with pytest.raises(ValueError, match=r"footer byte \d+: "):
        read_footer(schema_message(pa.schema([("a", pa.int8())])), 64)


@pytest.mark.parametrize("version", [b"\0\0", None])
def test_open_file_reads_footers_without_a_version(version):
    """Arrow 0.14.1 wrote footers without a version. Each message has its own version."""
    table = pa.table({"a": [1, 2, 3]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    file = sink.getvalue().to_pybytes()
    size = int.from_bytes(file[-10:-6], "little")
    footer = bytearray(file[-10 - size : -10])
    root = int.from_bytes(footer[:4], "little")
    vtable = root - int.from_bytes(footer[root : root + 4], "little", signed=True)
    slot = int.from_bytes(footer[vtable + 4 : vtable + 6], "little")
    if version is None:
        footer[vtable + 4 : vtable + 6] = b"\0\0"
    else:
        footer[root + slot : root + slot + 2] = version
    with cab.ipc.open_file(file[: -10 - size] + bytes(footer) + file[-10:]) as opened:
        assert pa.table(opened).equals(table)
