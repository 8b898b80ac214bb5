# SPDX-License-Identifier: Apache-2.0
"""Schema messages are read and written; pyarrow is the peer."""

from __future__ import annotations

import flatbuffers
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc.metadata import read_header, read_schema, schema_message
from testing.ipc.metadata import messages_of
from testing.ipc.samples import TYPES, UNUSUAL, batch_of, written

D = pa.dictionary(pa.int8(), pa.string())


SCHEMAS = {str(type_): batch_of(type_).schema.with_metadata({"k": "v"}) for type_ in TYPES}
SCHEMAS |= {name: schema for name, (schema, _) in UNUSUAL.items()}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_schema_message_equals_pyarrows_message_and_is_read_back(schema):
    metadata = schema_message(schema)
    ((expected, _),) = messages_of(written(schema, []))
    assert metadata == expected
    assert read_header(metadata).kind == "schema"
    assert read_schema(metadata).schema.equals(schema, check_metadata=True)


@pytest.mark.parametrize("others", [0, 32])
@pytest.mark.parametrize(
    ("types", "ids"),
    [
        ([pa.int8(), pa.string()], ()),
        ([D, pa.int8(), D], (0, 1)),
        ([pa.list_(D), pa.struct([("a", D), ("b", pa.int8()), ("c", D)])], (0, 1, 2)),
        ([pa.dictionary(pa.int32(), pa.struct([("a", D), ("b", D)])), D], (0, 1, 2, 3)),
        ([pa.run_end_encoded(pa.int32(), D), pa.map_(pa.string(), D)], (0, 1)),
        ([pa.opaque(D, "thing", "vendor"), D], (0, 1)),
    ],
)
def test_schema_message_numbers_the_dictionaries(types, ids, others):
    schema = pa.schema([(str(i), type_) for i, type_ in enumerate([*types, *[pa.int8()] * others])])
    stored = read_schema(schema_message(schema))
    assert stored.schema == schema
    assert stored.dictionary_ids == ids


def test_fields_may_share_a_dictionary_id():
    metadata = schema_message(pa.schema([("a", D), ("b", D), ("c", D)]))
    two, one = (number.to_bytes(8, "little") for number in (2, 1))
    assert metadata.count(two) == 1
    assert read_schema(metadata.replace(two, one)).dictionary_ids == (0, 1, 1)


NAMED = {
    "column": lambda name: pa.field(name, pa.int8()),
    "empty up to NUL": lambda name: pa.field(name[1:], pa.int8()),
    "field of structs": lambda name: pa.field("a", pa.struct([(name, pa.int8())])),
    "field in lists": lambda name: pa.field("a", pa.list_(pa.field(name, D))),
    "time zone": lambda name: pa.field("a", pa.timestamp("s", name)),
}


@pytest.mark.parametrize("kind", NAMED)
def test_name_with_nul_is_rejected(kind):
    """Names in the C data interface end at NUL, so different names would become the same."""
    field, other = NAMED[kind]("a\0b"), pa.field("other", pa.int8(), metadata={"k\0": "v\0"})
    schema = pa.schema([other, field], metadata={"k\0a": "v\0a"})
    with pytest.raises(ValueError, match=r"byte \d+: .*'a?\\x00b'$"):
        cab.ipc.open_stream(written(schema, []))
    schema = schema.set(1, NAMED[kind]("UTC"))
    found = pa.schema(cab.ipc.open_stream(written(schema, [])).schema)
    assert found.equals(schema, check_metadata=True)


def test_read_schema_caches_schemas():
    metadata = schema_message(pa.schema([("a", D)]))
    assert read_schema(metadata) is read_schema(bytearray(metadata))


def nested(depth):
    type_ = pa.int8()
    for _ in range(depth - 1):
        type_ = pa.list_(type_)
    return schema_message(pa.schema([("a", type_)]))


def test_read_schema_rejects_fields_deeper_than_64_levels():
    read_schema(nested(64))
    with pytest.raises(ValueError, match="64 levels"):
        read_schema(nested(65))


def test_schema_that_pyarrow_rejects_raises_a_value_error():
    metadata = schema_message(pa.schema([("a", pa.int32())]))
    width = (32).to_bytes(4, "little")
    assert metadata.count(width) == 1
    with pytest.raises(ValueError, match=r"^schema: "):
        read_schema(metadata.replace(width, (33).to_bytes(4, "little")))


def message_with(schema):
    """Return the metadata of a schema, which a function builds with a given builder."""
    builder = flatbuffers.Builder()
    header = schema(builder)
    builder.StartObject(5)
    builder.PrependInt16Slot(0, 4, 0)
    builder.PrependUint8Slot(1, 1, 0)
    builder.PrependUOffsetTRelativeSlot(2, header, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def vector_of(builder, tables):
    builder.StartVector(4, len(tables), 4)
    for table in tables:
        builder.PrependUOffsetTRelative(table)
    return builder.EndVector()


def schema_of(builder, fields, endianness=0, metadata=()):
    vector, pairs = vector_of(builder, fields), vector_of(builder, metadata)
    builder.StartObject(4)
    builder.PrependUOffsetTRelativeSlot(2, pairs, 0)
    builder.PrependInt16Slot(0, endianness, 0)
    builder.PrependUOffsetTRelativeSlot(1, vector, 0)
    return builder.EndObject()


def field_of(builder, code=13, name=None, type_vector=None, children=(), metadata=()):
    """Build a field of the type that `code` names, by default a struct."""
    vectors = {5: vector_of(builder, children)}
    if metadata:
        vectors[6] = vector_of(builder, metadata)
    if name is not None:
        vectors[0] = name
    builder.StartObject(2)
    if type_vector is not None:
        builder.PrependUOffsetTRelativeSlot(1, type_vector, 0)
    vectors[3] = builder.EndObject()
    builder.StartObject(7)
    builder.PrependUint8Slot(2, code, 0)
    for slot, vector in vectors.items():
        builder.PrependUOffsetTRelativeSlot(slot, vector, 0)
    return builder.EndObject()


def pair_of(builder, key, value):
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(0, key, 0)
    builder.PrependUOffsetTRelativeSlot(1, value, 0)
    return builder.EndObject()


def test_big_endian_schema_is_rejected():
    assert read_schema(message_with(lambda b: schema_of(b, []))).schema == pa.schema([])
    with pytest.raises(TypeError, match=r"^schema: .*big-endian"):
        read_schema(message_with(lambda b: schema_of(b, [], 1)))


def test_read_schema_bounds_the_number_of_shared_fields():
    def schema(builder, levels):
        fields = [field_of(builder)]
        for _ in range(levels):
            fields = [field_of(builder, children=fields)] * 2
        return schema_of(builder, fields)

    assert read_schema(message_with(lambda b: schema(b, 1))).schema.types[1].num_fields == 1
    with pytest.raises(ValueError, match=r"expected at most (\d+) tables in \d+ bytes, got \d+$"):
        read_schema(message_with(lambda b: schema(b, 40)))


@pytest.mark.parametrize("where", ["name", "time zone", "codes", "metadata"])
@pytest.mark.parametrize("fields", [3, 35])
def test_read_schema_bounds_the_size_of_strings_shared_by_fields(where, fields):
    """pyarrow copies each string: a few bytes of metadata would use all memory."""

    def schema(builder, size, count):
        if where == "codes":
            builder.StartVector(4, size // 4, 4)
            for _ in range(size // 4):
                builder.PrependInt32(0)
            text = builder.EndVector()
        else:
            text = builder.CreateString("x" * size)
        built = []
        for _ in range(count):
            if where == "name":
                built.append(field_of(builder, name=text))
            elif where == "metadata":
                built.append(field_of(builder, metadata=[pair_of(builder, text, text)]))
            else:
                built.append(field_of(builder, 10 if where == "time zone" else 14, None, text))
        return schema_of(builder, built)

    count = fields - (where == "metadata")
    if where in ("name", "time zone"):
        stored = read_schema(message_with(lambda b: schema(b, 2, count)))
        assert len(stored.schema) == count
    with pytest.raises(ValueError, match=r"got strings of \d+ bytes so far"):
        read_schema(message_with(lambda b: schema(b, 10_000, count)))
