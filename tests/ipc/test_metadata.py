# SPDX-License-Identifier: Apache-2.0
"""Metadata of messages is read and written; pyarrow is the main peer."""

from __future__ import annotations

import io

import nanoarrow.ipc
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from cudf_arrow_bridge.ipc.metadata.batch_templates import batch_template
from cudf_arrow_bridge.ipc.metadata.headers import HeaderReader, read_header
from testing.ipc.streams import COLUMNS, dictionary, framed, messages_in, stream_of, table_of


def pairs(header, name):
    layout = header.layout
    first, count = getattr(layout, name), getattr(layout, f"num_{name}")
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
    """Return a stream with the same numbers and bodies, whose metadata our templates write."""
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
    layout = header.layout
    shape = (layout.num_nodes, layout.num_buffers, layout.num_variadic)
    return batch_template(*shape, header.kind == "dictionary", layout.codec).fill(
        header.length,
        pairs(header, "nodes"),
        pairs(header, "buffers").tolist(),
        header.body_length,
        header.variadic_counts,
        header.dictionary_id,
        header.is_delta,
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
    assert {header.layout.codec for header in headers[1:]} == {codec.replace("lz4", "lz4_frame")}


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


def test_read_header_returns_the_metadata_version():
    stream = stream_of(table_of("int"), metadata_version=pa.ipc.MetadataVersion.V4)
    assert [read_header(m.metadata).layout.version for m in messages_in(stream)] == [3, 3]
    (_, batch) = messages_in(stream_of(table_of("int")))
    assert read_header(batch.metadata).layout.version == 4


def test_compression_of_arrow_0_17_is_refused():
    options = {"metadata_version": pa.ipc.MetadataVersion.V4}
    name = "ARROW:experimental_compression"
    (_, batch) = messages_in(stream_of(table_of("int"), {"k": "v"}, **options))
    assert read_header(batch.metadata).custom_metadata == {b"k": b"v"}
    (_, batch) = messages_in(stream_of(table_of("int"), {name: "ZSTD"}, **options))
    with pytest.raises(
        ValueError,
        match=r"metadata byte \d+: expected a body.* got a body compressed by Arrow 0\.17$",
    ):
        read_header(batch.metadata)


def test_read_header_returns_the_custom_metadata_of_a_message():
    stream = stream_of(table_of("int"), custom_metadata={"k": "v", "empty": "", "": "x"})
    schema, batch = (read_header(message.metadata) for message in messages_in(stream))
    assert schema.custom_metadata == {}
    assert batch.custom_metadata == {b"k": b"v", b"empty": b"", b"": b"x"}


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
def test_pyarrow_reads_filled_templates(names, compression):
    table = table_of(*names)
    read = pa.ipc.open_stream(written_again(stream_of(table, compression=compression))).read_all()
    read.validate(full=True)
    assert read == table


def test_polars_and_nanoarrow_read_filled_templates():
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
    stream = framed(schema.metadata.to_pybytes()) + framed(batch_template(0, 0).fill(3, [], [], 0))
    assert pa.ipc.open_stream(stream).read_next_batch().num_rows == 3


@pytest.mark.parametrize("columns", [0, 1, 7, 100, 1000, 5000])
def test_templates_support_many_columns(columns):
    table = pa.table({str(i): [i, None] for i in range(columns)})
    stream = stream_of(table)
    if columns:
        assert pa.ipc.open_stream(written_again(stream)).read_all() == table
    template = batch_template(columns, 2 * columns)
    assert (template.layout.num_nodes, template.layout.num_buffers) == (columns, 2 * columns)
    assert len(template.data) < 48 * columns + 150


@pytest.mark.parametrize("codec", [None, "lz4_frame", "zstd"])
@pytest.mark.parametrize("is_dictionary", [False, True])
@pytest.mark.parametrize("variadic", [0, 1, 3])
def test_templates_have_a_position_for_each_number(codec, is_dictionary, variadic):
    template = batch_template(3, 5, variadic, is_dictionary, codec)
    layout = template.layout
    assert layout.kind == ("dictionary" if is_dictionary else "batch")
    assert layout.codec == codec
    numbers = [8, 8, 48, 80, *([8 * variadic] if variadic else []), *([8, 1] * is_dictionary)]
    runs = layout.numbers()
    assert sorted(stop - first for first, stop in runs) == sorted(numbers)
    assert all(first % 8 == 0 for first, stop in runs if stop - first > 1)
    assert all(runs[i][1] <= runs[i + 1][0] for i in range(len(runs) - 1))
    assert not any(any(template.data[first:stop]) for first, stop in runs)

    empty = template.fill(0, [(0, 0)] * 3, [(0, 0)] * 5, 0, [0] * variadic)
    assert empty == template.data
    header = read_header(empty)
    assert (header.length, header.body_length, header.dictionary_id) == (0, 0, 0)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (([(0, 0)], [(0, 0)] * 2, 0, [0]), "numbers of nodes: expected 4, got 2"),
        (([(0, 0)] * 2, [(0, 0)] * 3, 0, [0]), "numbers of buffers: expected 4, got 6"),
        (([(0, 0)] * 2, [(0, 0)] * 2, 0), "variadic counts: expected 1, got 0"),
    ],
)
def test_fill_rejects_wrong_counts_of_numbers(numbers, message):
    with pytest.raises(ValueError, match=message):
        batch_template(2, 2, 1).fill(0, *numbers)


def test_batch_template_caches_templates():
    assert batch_template(2, 3) is batch_template(2, 3)
    assert batch_template(2, 3) is not batch_template(2, 3, 0, True)


def test_header_reader_reuses_layouts():
    table = table_of("int", "string view", "dictionary")
    messages = messages_in(stream_of(pa.concat_tables([table, table.slice(1), table.slice(3)])))
    reader = HeaderReader()
    headers = [reader.read(message.metadata) for message in messages]
    assert headers == [read_header(message.metadata) for message in messages]
    batches = [header for header in headers if header.kind == "batch"]
    assert [batch.length for batch in batches] == [5, 4, 2]
    assert {id(batch.layout) for batch in batches} == {id(batches[0].layout)}


def test_header_reader_keeps_a_bounded_number_of_layouts():
    reader = HeaderReader(max_layouts=8)
    for columns in range(24):
        reader.read(batch_template(columns, columns).data)
    assert len(reader._known) == 8
    newest, oldest = (batch_template(columns, columns).data for columns in (columns, 0))
    assert reader.read(newest).layout is reader.read(newest).layout
    first = reader.read(oldest).layout
    assert first == read_header(oldest).layout
    assert reader.read(oldest).layout is first


def test_header_reader_does_not_keep_large_metadata():
    reader = HeaderReader()
    for count, kept in ((60_000, 0), (600, 1)):
        reader.read(batch_template(count, count).data)
        assert len(reader._known) == kept


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, pa.py_buffer, np.frombuffer])
def test_header_readers_accept_any_bytes_like_object(kind):
    data = batch_template(1, 2).data
    given = np.frombuffer(data, np.int32) if kind is np.frombuffer else kind(data)
    for read in (read_header, HeaderReader().read):
        header = read(given)
        assert header == read_header(data)
        assert type(header.metadata) is bytes
