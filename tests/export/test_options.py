# SPDX-License-Identifier: Apache-2.0
"""Options of exports: requested schemas of streams, memory resources, device types, sources."""

from __future__ import annotations

import asyncio
import gc
import io
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.host import to_plc
from testing.host_frames import assert_same_object, frame, numbers
from testing.owners import Counted
from testing.peers.streams import DeviceStreamOnly, StreamOnly

BATCH = pa.record_batch(
    {"n": [1, None, 3, 4, 5], "text": ["a", None, "ccc", "", "e"], "flag": [True] * 4 + [None]}
)
WANTED = pa.schema([("n", pa.int32()), ("text", pa.large_string()), ("flag", pa.bool_())])
#: The schema that an export for `WANTED` has: n cannot be narrowed.
MET = pa.schema([("n", pa.int64()), ("text", pa.large_string()), ("flag", pa.bool_())])
OTHER = pa.schema([("n", pa.int64()), ("text", pa.string_view()), ("flag", pa.bool_())])


def streams(**options):
    halves = [BATCH.slice(0, 3), BATCH.slice(3)]
    return {
        "split": cab.to_arrow_device_stream(BATCH, max_rows=3, **options),
        "batches": cab.to_arrow_device_stream(iter(halves), **options),
        "arrays": cab.to_arrow_device_stream(map(cab.to_arrow_device, halves), **options),
        "table": cab.to_arrow_device_stream(pa.Table.from_batches(halves), **options),
    }


@pytest.mark.parametrize("origin", streams())
def test_each_batch_of_a_stream_is_exported_as_requested(origin):
    assert streams(requested_schema=WANTED)[origin].schema == MET
    batches = list(streams(requested_schema=WANTED)[origin])
    assert [batch.schema for batch in batches] == [MET, MET]
    found = pa.table(StreamOnly(streams(requested_schema=WANTED)[origin]))
    found.validate(full=True)
    assert found.schema == MET
    assert found.to_pylist() == BATCH.to_pylist()


@pytest.mark.parametrize("origin", streams())
def test_schema_requested_by_a_consumer_replaces_that_of_the_stream(origin):
    stream = streams(requested_schema=WANTED)[origin]
    capsule = stream.__arrow_c_stream__(OTHER.__arrow_c_schema__())
    found = pa.RecordBatchReader._import_from_c_capsule(capsule).read_all()
    assert found.schema == OTHER
    assert found.to_pylist() == BATCH.to_pylist()


def test_rejected_request_of_a_consumer_keeps_that_of_the_stream():
    stream = cab.to_arrow_device_stream(BATCH, requested_schema=WANTED)
    with pytest.raises(ValueError, match=r"3 fields.* 1$"):
        stream.__arrow_c_device_stream__(pa.schema([("x", pa.int8())]).__arrow_c_schema__())
    assert pa.table(StreamOnly(stream)).schema == MET


def test_stream_without_batches_has_the_requested_schema():
    stream = cab.to_arrow_device_stream([], requested_schema=WANTED)
    assert stream.schema == WANTED
    found = pa.table(StreamOnly(stream))
    assert (found.schema, found.num_rows) == (WANTED, 0)
    stream = cab.to_arrow_device_stream(iter(()), requested_schema=WANTED)
    capsule = stream.__arrow_c_stream__(OTHER.__arrow_c_schema__())
    assert pa.RecordBatchReader._import_from_c_capsule(capsule).schema == OTHER
    empty = cab.from_arrow_device_stream(
        cab.to_arrow_device_stream([], requested_schema=BATCH.schema)
    )
    assert (list(empty.columns), len(empty)) == (BATCH.schema.names, 0)


def test_data_that_contradicts_the_requested_schema_is_an_error():
    strict = pa.schema([pa.field("n", pa.int64(), nullable=False), *list(BATCH.schema)[1:]])
    stream = cab.to_arrow_device_stream(BATCH, max_rows=1, requested_schema=strict)
    batches = iter(stream)
    assert next(batches).schema == strict
    for _ in range(2):
        with pytest.raises(ValueError, match="column 'n'"):
            next(batches)


@pytest.mark.parametrize(
    ("max_rows", "lengths"),
    [(np.int64(3), [3, 2]), (2**40, [5]), (2**70, [5]), (None, [5])],
    ids=["NumPy", "large", "larger", "None"],
)
def test_max_rows_accepts_any_integer_or_none(max_rows, lengths):
    stream = cab.to_arrow_device_stream(BATCH, max_rows=max_rows)
    assert [len(batch) for batch in stream] == lengths


@pytest.mark.parametrize("device_type", ["CUDA", cab.DeviceType.CUDA, "cpu", None])
def test_device_type_is_accepted_by_name_and_as_enum(device_type):
    """The option sets the type of managed memory; without a GPU the type is always CPU."""
    exported = cab.to_arrow_device(BATCH, device_type=device_type)
    assert exported.device_type is cab.DeviceType.CPU
    (batch,) = cab.to_arrow_device_stream(BATCH, device_type=device_type)
    assert batch.device_type is cab.DeviceType.CPU


def test_device_type_is_made_from_its_name():
    for member in cab.DeviceType:
        assert cab.DeviceType(member.name.lower()) is member is cab.DeviceType(member.name)
    with pytest.raises(ValueError, match="'gpu' is not a valid DeviceType"):
        cab.DeviceType("gpu")


def test_device_type_cpu_is_rejected_with_a_gpu(monkeypatch):
    monkeypatch.setattr("cudf_arrow_bridge.arrow.options.has_gpu", lambda: True)
    with pytest.raises(ValueError, match=r"^device_type: .*'cuda'"):
        cab.to_arrow_device(BATCH, device_type="cpu")


BOOLS = {
    "column": lambda: to_plc(pa.array([True, False, None])),
    "series": lambda: cab.from_arrow_device(pa.array([True, False, None])),
    "array of a peer": lambda: pa.array([True, False, None]),
    "stream of a peer": lambda: pa.chunked_array([[True], [False, None]]),
}


@pytest.mark.parametrize("source", BOOLS)
def test_export_allocates_conversions_from_the_resource(source):
    counted = Counted()
    exported = cab.to_arrow_device(BOOLS[source](), mr=counted.resource)
    (data,) = [info.address for info in exported.buffers() if info.name == "data"]
    assert data in counted.in_use
    # Data of peers is imported first, which also allocates.
    assert counted.total > ("peer" in source)
    assert pa.array(exported).to_pylist() == [True, False, None]
    taken = pa.array(exported)
    exported.release()
    del exported
    gc.collect()
    assert counted.in_use
    assert taken.to_pylist() == [True, False, None]
    del taken
    gc.collect()
    assert not counted.in_use


def test_as_requested_allocates_from_the_resource_of_the_export():
    counted = Counted()
    exported = cab.to_arrow_device(to_plc(pa.array(["a", "b"])), mr=counted.resource)
    assert counted.total == 0
    requested = exported.as_requested(pa.large_string())
    assert len(counted.in_use) == 1
    del requested
    gc.collect()
    assert not counted.in_use


def test_the_resource_lives_as_long_as_the_array():
    counted = Counted()
    gone = weakref.finalize(counted, lambda: None)
    exported = cab.to_arrow_device(to_plc(pa.array([True, None])), mr=counted.resource)
    taken = pa.array(exported)
    del counted, exported
    gc.collect()
    assert gone.alive
    assert taken.to_pylist() == [True, None]
    del taken
    gc.collect()
    assert not gone.alive


@pytest.mark.parametrize("max_rows", [None, 2])
def test_stream_allocates_batches_from_the_resource(max_rows):
    counted = Counted()
    imported = cab.from_arrow_device(BATCH)
    stream = cab.to_arrow_device_stream(imported, max_rows=max_rows, mr=counted.resource)
    reader = pa.RecordBatchReader.from_stream(StreamOnly(stream))
    batches = list(reader)
    assert counted.total >= len(batches)
    assert counted.in_use
    assert pa.Table.from_batches(batches).to_pylist() == BATCH.to_pylist()
    del batches, reader, stream
    gc.collect()
    assert not counted.in_use


def pandas_frame(index):
    return pd.DataFrame(
        {
            "a": [1, 2, 3],
            "c": pd.Categorical(["x", "y", "x"], categories=["y", "x"], ordered=True),
            "t": pd.date_range("2020", periods=3, tz="Europe/Berlin"),
            "s": ["one", None, "three"],
        },
        index=index,
    )


DICTIONARIES = [
    pa.table({"k": pa.array(values).dictionary_encode()}) for values in (["a", "b"], ["c", None])
]
SOURCES = {
    "pandas frame": lambda: pandas_frame(pd.Index([10, 20, 30], name="id")),
    # Without rows, pandas' own stream has no batch, and so no categories.
    "pandas frame without rows": lambda: (
        pandas_frame(pd.Index([1, 2, 3], name="id")).iloc[:0].drop(columns="c")
    ),
    "polars frame": lambda: pl.DataFrame({"a": [1, 2], "s": ["x", "y"], "l": [[1], None]}),
    "pyarrow table": lambda: pa.Table.from_batches([BATCH]),
    "pyarrow table of chunks": lambda: pa.Table.from_batches([BATCH, BATCH.slice(1, 2), BATCH]),
    "pyarrow table without chunks": lambda: pa.Table.from_batches([], BATCH.schema),
    "pyarrow table of dictionaries": lambda: pa.concat_tables(DICTIONARIES),
    "pyarrow chunks": lambda: pa.chunked_array([[1], [2, None], []]),
    "pyarrow chunks of structs": lambda: pa.chunked_array([[{"x": 1}], [{"x": 2}]]),
    "pyarrow reader": lambda: pa.RecordBatchReader.from_batches(BATCH.schema, [BATCH, BATCH]),
    "our own stream": lambda: cab.to_arrow_device_stream(
        cab.from_arrow_device(pandas_frame(pd.RangeIndex(5, 11, 2))), max_rows=2
    ),
    "a device stream": lambda: DeviceStreamOnly(cab.to_arrow_device_stream(BATCH, max_rows=2)),
}


@pytest.mark.parametrize("source", SOURCES)
def test_import_of_an_exported_source_equals_its_direct_import(source):
    exported = cab.to_arrow_device(SOURCES[source]())
    found = cab.from_arrow_device(exported)
    expected = cab.from_arrow_device(SOURCES[source]())
    assert_same_object(found, expected)
    assert len(exported) == len(expected)


@pytest.mark.parametrize("source", ["pyarrow table", "polars frame", "pandas frame"])
def test_a_stream_of_one_batch_is_not_copied(source):
    data = SOURCES[source]()
    (batch,) = pa.RecordBatchReader.from_stream(data)
    exported = cab.to_arrow_device(data)
    (name,) = {"a", "n"} & {*batch.schema.names}
    (address,) = [info.address for info in exported.buffers() if info.name == f"{name}.data"]
    assert address == batch.column(0).buffers()[1].address


def test_export_of_our_own_streams_keeps_column_labels():
    label = object()
    labelled = frame([numbers()], pd.Index([label]))
    stream = cab.to_arrow_device_stream(labelled, max_rows=2)
    assert list(cab.from_arrow_device(cab.to_arrow_device(stream)).columns) == [label]


def test_chunks_of_peers_are_exported_as_requested():
    wanted = pa.schema([("x", pa.int64()), ("text", pa.large_string()), ("flag", pa.bool_())])
    table = pa.Table.from_batches([BATCH] * 2).rename_columns(wanted.names)
    exported = cab.to_arrow_device(table, requested_schema=wanted)
    assert exported.schema == wanted
    assert exported.to_pylist() == table.to_pylist()


def written(write, read):
    def lengths(table, **options):
        sink = io.BytesIO()
        write(table, sink, **options)
        return [len(batch) for batch in read(sink.getvalue()).read_all().to_batches()]

    return lengths


def lengths_of_async(table, **options):
    async def lengths():
        return [len(array) async for array in cab.to_arrow_device_async(table, **options)]

    return asyncio.run(lengths())


LENGTHS = {
    "stream": lambda *args, **options: list(map(len, cab.to_arrow_device_stream(*args, **options))),
    "IPC stream": written(cab.ipc.write_stream, pa.ipc.open_stream),
    "IPC file": written(cab.ipc.write_file, pa.ipc.open_file),
    "async": lengths_of_async,
}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_max_rows_limits_the_batches(lengths):
    table = pa.table({"a": range(5)})
    assert lengths(table, max_rows=2) == [2, 2, 1]
    with pytest.raises(ValueError, match=r"^max_rows: .*0$"):
        lengths(table, max_rows=0)


def test_messages_accept_max_rows():
    messages = cab.ipc.messages(pa.table({"a": range(5)}), max_rows=2)
    assert len([message for message in messages if message.body_length]) == 3
