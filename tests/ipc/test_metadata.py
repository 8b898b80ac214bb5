# SPDX-License-Identifier: Apache-2.0
"""Metadata of messages is read and written; pyarrow is the main peer."""

from __future__ import annotations

import io

import nanoarrow.ipc
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from cudf_arrow_bridge._core.ipc.metadata import read_header
from cudf_arrow_bridge.ipc.metadata import batch_message
from testing.ipc.streams import COLUMNS, dictionary, framed, messages_in, stream_of, table_of


def pairs(header, name):
    first, count = getattr(header, name), getattr(header, f"num_{name}")
    return np.frombuffer(header.metadata, "<i8", 2 * count, first).reshape(-1, 2)


def nodes_of(array):
    """Yield length and null count of an array and its children, depth first, as in pyarrow."""
    yield len(array), array.null_count
    if isinstance(array, pa.StructArray):
        children = [array.field(i) for i in range(array.type.num_fields)]
    elif isinstance(array, pa.MapArray):
        yield len(array.keys), 0
        children = [array.keys, array.items]
    elif isinstance(array, pa.RunEndEncodedArray):
        children = [array.run_ends, array.values]
    else:
        children = [array.values] if hasattr(array, "values") else []
    for child in children:
        yield from nodes_of(child)


def written_again(stream):
    """Return a stream with the same numbers and bodies, whose metadata we write."""
    again = io.BytesIO()
    for message in messages_in(stream):
        header = read_header(message.metadata)
        metadata = header.metadata
        if header.kind != "schema":
            metadata = filled(header)
            assert len(metadata) % 8 == 0
            assert metadata != header.metadata
        again.write(framed(metadata, message.body or b""))
    return again.getvalue()


def filled(header):
    return batch_message(
        header.length,
        pairs(header, "nodes").tobytes(),
        pairs(header, "buffers").tobytes(),
        np.array(header.variadic_counts, "<i8").tobytes(),
        header.body_length,
        header.codec,
        (header.dictionary_id, header.is_delta) if header.kind == "dictionary" else None,
    )


@pytest.mark.parametrize("name", COLUMNS)
def test_read_header_returns_the_numbers_of_pyarrows_batch(name):
    stream = stream_of(table_of(name))
    message = messages_in(stream)[-1]
    header = read_header(message.metadata)
    column = pa.ipc.open_stream(stream).read_next_batch().column(0)

    assert header.kind == "batch"
    assert header.length == len(column)
    assert header.body_length == message.body.size
    assert pairs(header, "nodes").tolist() == [list(node) for node in nodes_of(column)]
    assert [pair for pair in pairs(header, "buffers").tolist() if pair[1]] == [
        [buffer.address - message.body.address, buffer.size]
        for buffer in column.buffers()
        if buffer is not None and buffer.size
    ]


def test_read_header_returns_the_variadic_counts():
    headers = [
        read_header(messages_in(stream_of(table_of(*names)))[-1].metadata)
        for names in [("string view", "int", "short views", "struct of views"), ("int",)]
    ]
    assert [header.variadic_counts for header in headers] == [(1, 0, 1), ()]


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_read_header_returns_the_codec(codec):
    headers = [
        read_header(m.metadata) for m in messages_in(stream_of(table_of(), compression=codec))
    ]
    assert {header.codec for header in headers[1:]} == {codec.replace("lz4", "lz4_frame")}


@pytest.mark.parametrize("emit_deltas", [False, True])
def test_read_header_returns_ids_and_deltas_of_dictionaries(emit_deltas):
    arrays = [dictionary(["x"], [0]), dictionary(["x", "y"], [1]), dictionary(["x", "y"], [0])]
    table = pa.table({"other": pa.chunked_array(arrays[-1:] * 3), "d": pa.chunked_array(arrays)})
    stream = stream_of(table, emit_dictionary_deltas=emit_deltas)
    headers = [read_header(message.metadata) for message in messages_in(stream)]
    found = [
        (header.dictionary_id, header.is_delta, header.length)
        for header in headers
        if header.kind == "dictionary"
    ]
    assert found == [(0, False, 2), (1, False, 1), (1, emit_deltas, 1 if emit_deltas else 2)]
    assert pa.ipc.open_stream(written_again(stream)).read_all() == table


def test_compression_of_arrow_0_17_is_refused():
    options = {"metadata_version": pa.ipc.MetadataVersion.V4}
    name = "ARROW:experimental_compression"
    (_, batch) = messages_in(stream_of(table_of("int"), {"k": "v"}, **options))
    assert read_header(batch.metadata).length == 5
    (_, batch) = messages_in(stream_of(table_of("int"), {name: "ZSTD"}, **options))
    with pytest.raises(
        ValueError,
        match=r"metadata byte \d+: expected a body.* got a body compressed by Arrow 0\.17$",
    ):
        read_header(batch.metadata)


def test_tensors_are_refused():
    sink = pa.BufferOutputStream()
    pa.ipc.write_tensor(pa.Tensor.from_numpy(np.arange(3)), sink)
    message = pa.ipc.read_message(sink.getvalue())
    with pytest.raises(
        ValueError,
        match=r"metadata byte \d+: expected a schema, dictionary or record.* got a tensor$",
    ):
        read_header(message.metadata)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("names", [*((name,) for name in COLUMNS), tuple(COLUMNS)])
def test_pyarrow_reads_batch_messages(names, compression):
    table = table_of(*names)
    read = pa.ipc.open_stream(written_again(stream_of(table, compression=compression))).read_all()
    read.validate(full=True)
    assert read == table


def test_polars_and_nanoarrow_read_batch_messages():
    table = table_of("int", "string", "string view", "struct")
    stream = written_again(stream_of(table))
    assert pl.read_ipc_stream(stream).equals(pl.from_arrow(table))
    plain = table_of("int", "string", "struct", "dictionary").drop("dictionary")
    with nanoarrow.ipc.InputStream.from_readable(written_again(stream_of(plain))) as source:
        assert pa.RecordBatchReader.from_stream(source).read_all() == plain


def test_batch_without_columns_keeps_its_number_of_rows():
    batch = pa.record_batch({"a": [1, 2, 3]}).select([])
    (schema, message) = messages_in(stream_of(pa.Table.from_batches([batch])))
    assert read_header(message.metadata).length == 3
    stream = framed(schema.metadata.to_pybytes()) + framed(batch_message(3, b"", b"", b"", 0))
    assert pa.ipc.open_stream(stream).read_next_batch().num_rows == 3


@pytest.mark.parametrize("columns", [0, 1, 7, 100, 1000, 5000])
def test_batch_messages_support_many_columns(columns):
    table = pa.table({str(i): [i, None] for i in range(columns)})
    stream = stream_of(table)
    if columns:
        assert pa.ipc.open_stream(written_again(stream)).read_all() == table
    metadata = batch_message(2, bytes(16 * columns), bytes(32 * columns), b"", 0)
    header = read_header(metadata)
    assert (header.num_nodes, header.num_buffers) == (columns, 2 * columns)
    assert len(metadata) < 48 * columns + 150


@pytest.mark.parametrize("codec", [None, "lz4_frame", "zstd"])
@pytest.mark.parametrize("dictionary", [None, (0, False), (2**40, True)])
@pytest.mark.parametrize("variadic", [(), (0,), (1, 2, 3)])
def test_batch_messages_have_all_numbers(codec, dictionary, variadic):
    nodes, buffers = np.arange(6, dtype="<i8"), np.arange(10, 20, dtype="<i8")
    counts = np.array(variadic, "<i8").tobytes()
    metadata = batch_message(7, nodes.tobytes(), buffers.tobytes(), counts, 640, codec, dictionary)
    assert len(metadata) % 8 == 0
    header = read_header(metadata)
    assert header.kind == ("batch" if dictionary is None else "dictionary")
    assert (header.length, header.body_length, header.codec) == (7, 640, codec)
    assert (header.dictionary_id, header.is_delta) == (dictionary or (0, False))
    assert header.variadic_counts == variadic
    assert pairs(header, "nodes").ravel().tolist() == nodes.tolist()
    assert pairs(header, "buffers").ravel().tolist() == buffers.tolist()
    assert header.nodes % 8 == header.buffers % 8 == 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, pa.py_buffer, np.frombuffer])
def test_read_header_accepts_any_bytes_like_object(kind):
    data = batch_message(1, bytes(16), bytes(32), b"", 0)
    given = np.frombuffer(data, np.int32) if kind is np.frombuffer else kind(data)
    header = read_header(given)
    assert header.length == 1
    assert type(header.metadata) is bytes
    assert header.metadata == data
