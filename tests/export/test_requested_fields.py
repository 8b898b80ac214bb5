# SPDX-License-Identifier: Apache-2.0
"""Fields requested with ``requested_schema``: names, metadata, extensions, fields of tables."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.arrays import struct_of

WORDS = pa.dictionary(pa.int8(), pa.string())
TABLE = pa.record_batch(
    [pa.array([1, 2]), pa.array(["a", None]), pa.array([86_400, None], pa.timestamp("s"))],
    pa.schema(
        [
            pa.field("id", pa.int64(), metadata={"a": "b"}),
            pa.field("text", pa.string()),
            pa.field("when", pa.timestamp("s")),
        ],
        metadata={"whose": "mine"},
    ),
)


def test_table_is_exported_with_the_requested_fields():
    identity = pa.field("id", pa.int64(), nullable=False)
    words = pa.field("words", pa.large_string(), metadata={"c": "d"})
    when = pa.field("when", pa.date32())
    wanted = pa.schema([identity, words, when])
    found = cab.to_arrow_device(TABLE, requested_schema=wanted)
    # Fields and schemas without metadata in the request keep their own metadata.
    fields = [identity.with_metadata({"a": "b"}), words, when]
    expected = pa.schema(fields, metadata={"whose": "mine"})
    assert found.schema.equals(expected, check_metadata=True)
    batch = pa.record_batch(found)
    batch.validate(full=True)
    days = [dt.date(1970, 1, 2), None]
    assert batch.to_pydict() == {"id": [1, 2], "words": ["a", None], "when": days}
    replaced = found.as_requested(wanted.with_metadata({"whose": "yours"}))
    assert replaced.schema.metadata == {b"whose": b"yours"}


def test_requested_schema_of_a_table_must_have_its_fields_in_order():
    id_, text, when = TABLE.schema
    with pytest.raises(ValueError, match=r"'id' at position 0.*'text'$"):
        cab.to_arrow_device(TABLE, requested_schema=pa.schema([text, id_, when]))
    with pytest.raises(ValueError, match="must be a struct"):
        cab.to_arrow_device(TABLE, requested_schema=pa.field("", pa.int64()))
    with pytest.raises(ValueError, match=r"3 fields.* 1$"):
        cab.to_arrow_device(TABLE).__arrow_c_array__(pa.schema([text]).__arrow_c_schema__())


POINT = {b"ARROW:extension:name": b"a.point", b"ARROW:extension:metadata": b"2"}


def one_field(type_, metadata=None):
    return pa.schema([pa.field("0", type_, metadata=metadata)])


@pytest.mark.parametrize(
    ("own", "requested", "expected"),
    [
        # An extension is exported only with its own or the requested storage type.
        (
            one_field(pa.string()),
            one_field(pa.large_string(), POINT | {b"k": b"v"}),
            one_field(pa.large_string(), POINT | {b"k": b"v"}),
        ),
        (
            one_field(pa.string()),
            one_field(pa.int8(), POINT | {b"k": b"v"}),
            one_field(pa.string(), {b"k": b"v"}),
        ),
        (one_field(pa.string(), POINT), one_field(pa.string()), one_field(pa.string(), POINT)),
        (one_field(pa.string(), POINT), one_field(pa.large_string()), one_field(pa.large_string())),
    ],
    ids=["requested", "not converted", "kept", "dropped"],
)
def test_extension_is_exported_only_with_its_storage_type(own, requested, expected):
    batch = pa.record_batch([pa.array(["a"])], own)
    found = cab.to_arrow_device(batch, requested_schema=requested).schema
    assert found.equals(expected, check_metadata=True)


def test_children_accept_a_requested_schema():
    frame = cab.to_arrow_device(TABLE)
    found = pa.array(frame.children[1], type=pa.large_string())
    assert found.equals(pa.array(["a", None], pa.large_string()))
    nested = cab.to_arrow_device(pa.array([["a"], ["b", "c"]])).children[0]
    schema, _ = nested.__arrow_c_device_array__(pa.large_string().__arrow_c_schema__())
    assert struct_of(schema).format == b"U"


def test_frames_are_exported_with_the_requested_types():
    frame = cab.from_arrow_device(TABLE)
    wanted = pa.schema([("id", pa.int64()), ("text", WORDS), ("when", pa.date32())])
    for array in (
        cab.to_arrow_device(frame, requested_schema=wanted),
        frame.arrow_device.export(requested_schema=wanted),
    ):
        assert array.schema.types == wanted.types
        assert str(cab.from_arrow_device(array)["text"].dtype) == "category"


def test_empty_name_of_an_extension_type_requests_storage():
    array = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", None]))
    struct = pa.StructArray.from_arrays([array], names=["x"])
    batch = pa.record_batch({"a": struct, "x": array})
    wanted = pa.field("x", pa.string(), metadata={b"ARROW:extension:name": b"", b"k": b"v"})
    requested = pa.schema([pa.field("a", pa.struct([wanted])), wanted])
    for source in (batch, cab.from_arrow_device(batch)):
        exported = cab.to_arrow_device(source, requested_schema=requested)
        for field in (exported.schema.field(0).type.field(0), exported.schema.field(1)):
            assert field.equals(wanted.with_metadata({"k": "v"}), check_metadata=True)
        assert pa.record_batch(exported)["x"].equals(array.storage)
