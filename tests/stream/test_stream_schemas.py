# SPDX-License-Identifier: Apache-2.0
"""Schemas of exported streams: known without a batch, requested by consumers, shown as HTML."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.host import to_plc
from testing.peers.streams import BATCH, HALVES, StreamOnly


def test_schema_of_frames_is_known_without_an_export(monkeypatch):
    whole = cab.from_arrow_device(BATCH)
    expected = cab.to_arrow_device(whole).schema

    def refuse(*args):
        raise AssertionError("exported")

    monkeypatch.setattr("cudf_arrow_bridge.export.streams.export_input_of", refuse)
    for source in (whole, [whole, whole], plc.Table([to_plc(BATCH["number"])])):
        stream = cab.to_arrow_device_stream(source, max_rows=3)
        names = ["0"] if isinstance(source, plc.Table) else expected.names
        assert stream.schema.names == names
        assert names[0] in stream._repr_html_()
    assert cab.to_arrow_device_stream(whole).schema.equals(expected, check_metadata=True)


def test_stream_without_batches_needs_a_requested_schema():
    stream = cab.to_arrow_device_stream([], requested_schema=BATCH.schema)
    found = pa.table(StreamOnly(stream))
    assert found.schema.equals(BATCH.schema)
    assert found.num_rows == 0
    with pytest.raises(ValueError, match=r"schema.*batch"):
        _ = cab.to_arrow_device_stream([]).schema


WANTED = pa.schema(
    [
        pa.field("n", pa.int32(), metadata={"k": "v"}),
        pa.field("text", pa.large_string()),
        pa.field("flag", pa.bool_()),
        pa.field("list", pa.large_list(pa.field("item", pa.int64()))),
        pa.field("category", pa.string()),
    ]
)
#: Sources of the same rows.
ORIGINS = {
    "frame": lambda: cab.from_arrow_device(BATCH),
    "generator of frames": lambda: (cab.from_arrow_device(half) for half in HALVES),
    "table": lambda: pa.Table.from_batches(HALVES),
}


@pytest.mark.parametrize("max_rows", [None, 9])
@pytest.mark.parametrize("origin", ORIGINS)
def test_requested_schema_applies_to_all_batches(origin, max_rows):
    stream = cab.to_arrow_device_stream(ORIGINS[origin](), max_rows=max_rows)
    found = pa.RecordBatchReader.from_stream(StreamOnly(stream), schema=WANTED).read_all()
    found.validate(full=True)
    assert [field.type for field in found.schema] == [field.type for field in WANTED]
    assert found.schema.names == WANTED.names
    assert found.schema.field("n").metadata == {b"k": b"v"}
    assert found.to_pylist() == BATCH.rename_columns(WANTED.names).to_pylist()


def test_requested_schema_after_the_first_export_is_ignored():
    for look in (lambda stream: stream.schema, lambda stream: stream.device_type):
        stream = cab.to_arrow_device_stream(iter(HALVES))
        look(stream)
        capsule = stream.__arrow_c_stream__(WANTED.__arrow_c_schema__())
        schema = pa.RecordBatchReader._import_from_c_capsule(capsule).schema
        assert schema.field("text").type == pa.string()


@pytest.mark.parametrize("protocol", ["__arrow_c_stream__", "__arrow_c_device_stream__"])
def test_requested_schema_after_the_first_export_is_checked(protocol):
    wrong = pa.schema([("a", pa.int8())]).__arrow_c_schema__()
    for look in (lambda stream: stream.schema, lambda stream: stream.device_type):
        stream = cab.to_arrow_device_stream(iter(HALVES))
        look(stream)
        export = getattr(stream, protocol)
        with pytest.raises(ValueError, match="schema of 5 fields, got 1"):
            export(wrong)
        for other in (42, "text", object):
            with pytest.raises(TypeError, match="requested_schema: expected an Arrow schema"):
                export(other)
        export(pa.field("", pa.int8()).__arrow_c_schema__())
        assert pa.table(StreamOnly(stream)).to_pylist() == BATCH.to_pylist()


def test_batch_that_contradicts_the_requested_schema_is_an_error():
    batches = [pa.record_batch({"x": [1, 2]}), pa.record_batch({"x": [1, None]})]
    stream = cab.to_arrow_device_stream(iter(batches))
    wanted = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    reader = pa.RecordBatchReader._import_from_c_capsule(
        stream.__arrow_c_stream__(wanted.__arrow_c_schema__())
    )
    assert not reader.schema.field("x").nullable
    assert reader.read_next_batch().to_pydict() == {"x": [1, 2]}
    with pytest.raises(ValueError, match="'x'"):
        reader.read_next_batch()


def test_each_consumer_gets_the_schema_that_it_requests():
    wide = BATCH.schema.set(1, pa.field("text", pa.large_string()))
    narrow = BATCH.schema.set(0, pa.field("n", pa.int32()))
    for source in (cab.from_arrow_device(BATCH), pa.Table.from_batches(HALVES), HALVES):
        stream = cab.to_arrow_device_stream(source)
        for wanted in (wide, None, narrow, BATCH.schema, wide):
            capsule = stream.__arrow_c_stream__(wanted and wanted.__arrow_c_schema__())
            reader = pa.RecordBatchReader._import_from_c_capsule(capsule)
            assert [(f.name, f.type) for f in reader.schema] == [
                (f.name, f.type) for f in wanted or BATCH.schema
            ]
            assert stream.schema.types == BATCH.schema.types
            assert reader.read_all().num_rows == BATCH.num_rows
        # A consumer that requested a schema and no batch does not change the stream.
        stream.__arrow_c_stream__(wide.__arrow_c_schema__())
        assert pa.table(StreamOnly(stream)).schema.types == BATCH.schema.types


def test_rejected_requested_schema_takes_no_batch():
    wrong = pa.schema([("a", pa.int8())]).__arrow_c_schema__()
    strict = BATCH.schema.set(0, pa.field("number", pa.int32(), nullable=False))
    for source in (cab.from_arrow_device(BATCH), iter(HALVES)):
        stream = cab.to_arrow_device_stream(source)
        with pytest.raises(ValueError, match=r"5 fields.* 1$"):
            stream.__arrow_c_stream__(wrong)
        with pytest.raises(NotImplementedError, match="later"):
            stream.__arrow_c_device_stream__(later=1)
        assert pa.table(StreamOnly(stream)).to_pylist() == BATCH.to_pylist()
    stream = cab.to_arrow_device_stream(HALVES)
    with pytest.raises(ValueError, match="'number'"):
        stream.__arrow_c_stream__(strict.__arrow_c_schema__())
    assert pa.table(StreamOnly(stream)).to_pylist() == BATCH.to_pylist()


def test_html_takes_no_batch():
    stream = cab.to_arrow_device_stream(iter(HALVES))
    assert "schema is that of the first batch" in stream._repr_html_()
    assert stream.schema == BATCH.schema
    page = stream._repr_html_()
    for text in ("open", "batches of 5 columns", *BATCH.schema.names, "int32", "string"):
        assert text in page
    assert len(list(stream)) == 2
    assert "consumed" in stream._repr_html_()
    stream.release()
    assert "released" in stream._repr_html_()
    column = cab.to_arrow_device_stream(to_plc(pa.array([1])))
    assert "batches of a column" in column._repr_html_()
