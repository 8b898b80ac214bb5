# SPDX-License-Identifier: Apache-2.0
"""Streams and files of pyarrow, in the forms of Arrow's golden files, are read and written."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.ipc import samples
from testing.ipc.metadata import framed, messages_of, realigned
from testing.ipc.peers import (
    assert_peers_read,
    assert_same_batches,
    has_type,
    read_bridge,
    read_pyarrow,
)

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

CASES = [
    *(pytest.param(lambda t=t: _typed(t), id=str(t)) for t in samples.TYPES),
    *(pytest.param(lambda name=name: samples.UNUSUAL[name], id=name) for name in samples.UNUSUAL),
]
golden = pytest.mark.parametrize("case", CASES)

#: pyarrow's options for each form of a stream.
OPTIONS = {
    "V5": {},
    "V4": {"metadata_version": pa.ipc.MetadataVersion.V4},
    "legacy": {"use_legacy_format": True, "metadata_version": pa.ipc.MetadataVersion.V4},
    "lz4": {"compression": "lz4"},
    "zstd": {"compression": "zstd"},
}


def _typed(type_):
    batches = samples.batches_of(type_)
    return batches[0].schema, batches


def options_for(schema):
    """Return the options for batches of a schema. V4 does not support run-end encoding."""
    if has_type(schema, pa.types.is_run_end_encoded):
        return {name: OPTIONS[name] for name in ("V5", "lz4", "zstd")}
    return OPTIONS


def streams(schema, batches):
    """Yield the name and the bytes of every form of a stream of the batches."""
    for name, options in options_for(schema).items():
        yield name, samples.written(schema, batches, **options)
    messages = list(messages_of(samples.written(schema, batches)))
    for alignment in (8, 64):
        moved = [realigned(*message, alignment) for message in messages]
        yield f"aligned to {alignment}", framed(moved)
        yield (
            f"aligned to {alignment}, legacy, without an end",
            framed(moved, legacy=True, end=False),
        )


@golden
def test_streams_of_all_forms_and_messages_of_pyarrow_are_read(case):
    schema, batches = case()
    for _, stream in streams(schema, batches):
        found = read_bridge(cab.ipc.open_stream(stream, validate="full"))
        assert_same_batches(found, (schema, batches))
    messages = list(pa.ipc.MessageReader.open_stream(samples.written(schema, batches)))
    assert_same_batches(read_bridge(cab.ipc.from_messages(messages)), (schema, batches))


@golden
def test_open_file_reads_all_forms_of_files(case, tmp_path):
    schema, batches = case()
    for name, options in options_for(schema).items():
        data = samples.written(schema, batches, file=True, **options)
        path = tmp_path / f"{name}.arrow"
        path.write_bytes(data)
        for source, memory_map in ((data, False), (path, False), (path, True)):
            with cab.ipc.open_file(source, memory_map=memory_map) as file:
                assert len(file) == len(batches)
                assert_same_batches(read_bridge(file), (schema, batches))
                for i in reversed(range(len(batches))):
                    assert pa.record_batch(file[i]).equals(batches[i])


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@golden
def test_batches_of_a_stream_are_written_to_streams_and_files(case, compression):
    schema, batches = case()
    stream = samples.written(schema, batches)
    for write in (cab.ipc.write_stream, cab.ipc.write_file):
        write(cab.ipc.open_stream(stream), sink := io.BytesIO(), compression=compression)
        assert_same_batches(read_pyarrow(sink.getvalue()), (schema, batches))
        assert_peers_read(sink.getvalue(), schema, batches)


@pytest.mark.parametrize(
    "take", [lambda array: array["s"], lambda array: cab.from_arrow_device(array)["s"]]
)
def test_column_of_structs_that_are_not_nullable_is_written_as_one_column(take):
    field = pa.field("s", pa.struct([("x", pa.int64())]), nullable=False)
    table = pa.table([pa.array([{"x": 1}], field.type)], schema=pa.schema([field]))
    column = take(cab.to_arrow_device(table))
    for max_rows in (None, 1):
        cab.ipc.write_stream(column, sink := io.BytesIO(), max_rows=max_rows)
        assert pa.ipc.open_stream(sink.getvalue()).read_all().equals(table)
    batches = cab.ipc.from_messages(cab.ipc.messages(column))
    assert pa.table(batches).equals(table)
