# SPDX-License-Identifier: Apache-2.0
"""Types requested with ``requested_schema``: converted, not converted, or rejected."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import nanoarrow
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.host import Memory
from testing.peers.arrays import DeviceOnly, column_from, struct_of

MANY = samples.MANY
BYTES = pa.list_(pa.uint8())
PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())]))
DAY = 86_400


def read(array):
    """Import into pyarrow by the host protocol, and validate fully."""
    result = pa.array(array)
    result.validate(full=True)
    return result


def export(array, requested, steps=()):
    return cab.to_arrow_device(
        samples.column_of(array, steps), requested_schema=pa.field("", requested)
    )


def numbers(type_, size, nulls, scale):
    """Return values of a type whose integers are multiples of `scale`."""
    pairs = enumerate(samples.mask(size, nulls))
    integers = pa.array([None if null else i % 90 * scale for i, null in pairs], pa.int64())
    return integers.cast(type_)


def lists(type_):
    """Return a function that makes lists without null elements."""

    def make(size, nulls):
        whole = samples.values(pa.list_(type_), size, nulls)
        elements = samples.values(type_, len(whole.values), "none")
        return pa.Array.from_buffers(whole.type, size, whole.buffers()[:2], children=[elements])

    return make


def fixed_bytes(size, nulls, width=4):
    """Return lists of `width` bytes each; null lists are empty, as libcudf requires."""
    rows = [
        None if null else [(i + k) % 256 for k in range(width)]
        for i, null in enumerate(samples.mask(size, nulls))
    ]
    return pa.array(rows, BYTES)


def of_bytes(target):
    return lambda array: pa.array(
        [None if row is None else bytes(row) for row in array.to_pylist()], target
    )


def as_map(array):
    """Return the same rows as a pyarrow map."""
    rows = [
        None if row is None else [(entry["key"], entry["value"]) for entry in row]
        for row in array.to_pylist()
    ]
    return pa.array(rows, pa.map_(pa.string(), pa.int32()))


def cast(target):
    return lambda array: array.cast(target)


def sample(type_):
    return lambda size, nulls: samples.values(type_, size, nulls)


def scaled(type_, scale):
    return lambda size, nulls: numbers(type_, size, nulls, scale)


#: The type of a column, the requested type, and how pyarrow converts one to the other.
MET = {
    "string-large_string": (sample(pa.string()), pa.large_string(), None),
    "large_string-string": (sample(pa.large_string()), pa.string(), None),
    "string-string_view": (sample(pa.string()), pa.string_view(), None),
    "large_string-string_view": (sample(pa.large_string()), pa.string_view(), None),
    "list-large_list": (sample(pa.list_(pa.int32())), pa.large_list(pa.int32()), None),
    "list-large_list of large_list": (
        sample(pa.list_(pa.list_(pa.string()))),
        pa.large_list(pa.large_list(pa.large_string())),
        None,
    ),
    "bytes-binary": (lists(pa.uint8()), pa.binary(), of_bytes(pa.binary())),
    "bytes-large_binary": (lists(pa.uint8()), pa.large_binary(), of_bytes(pa.large_binary())),
    "bytes-binary_view": (lists(pa.uint8()), pa.binary_view(), of_bytes(pa.binary_view())),
    "bytes-fixed_size_binary": (fixed_bytes, pa.binary(4), of_bytes(pa.binary(4))),
    "pairs-map": (lists(PAIRS.value_type), pa.map_(pa.string(), pa.int32()), as_map),
    "duration[s]-time32": (scaled(pa.duration("s"), 3), pa.time32("s"), None),
    "duration[ms]-time32": (scaled(pa.duration("ms"), 3), pa.time32("ms"), None),
    "duration[us]-time64": (scaled(pa.duration("us"), 3), pa.time64("us"), None),
    "duration[ns]-time64": (scaled(pa.duration("ns"), 3), pa.time64("ns"), None),
    "date32-date64": (sample(pa.date32()), pa.date64(), None),
    "timestamp[s]-date32": (scaled(pa.timestamp("s"), DAY), pa.date32(), None),
    "timestamp[ms]-date32": (scaled(pa.timestamp("ms"), -DAY * 1_000), pa.date32(), None),
    "timestamp[ms]-date64": (scaled(pa.timestamp("ms"), DAY * 1_000), pa.date64(), None),
    "timestamp[us]-date64": (scaled(pa.timestamp("us"), DAY * 1_000_000), pa.date64(), None),
    "timestamp[ns]-date32": (scaled(pa.timestamp("ns"), DAY * 1_000_000_000), pa.date32(), None),
    "decimal32-decimal64": (sample(pa.decimal32(9, 2)), pa.decimal64(11, 2), None),
    "decimal32-decimal128": (sample(pa.decimal32(9, 2)), pa.decimal128(38, 2), None),
    "decimal64-decimal128": (sample(pa.decimal64(18, 0)), pa.decimal128(20, 0), None),
    "decimal128-decimal32": (sample(pa.decimal128(38, -3)), pa.decimal32(7, -3), None),
    "decimal128-decimal64": (sample(pa.decimal128(38, -3)), pa.decimal64(10, -3), None),
    "decimal64 of less precision": (sample(pa.decimal64(18, 0)), pa.decimal64(4, 0), None),
    "dictionary-string": (sample(pa.dictionary(pa.int8(), pa.string())), pa.string(), None),
    "dictionary-large_string": (
        sample(pa.dictionary(pa.int16(), pa.string())),
        pa.large_string(),
        None,
    ),
    "dictionary-timestamp": (
        sample(pa.dictionary(pa.int32(), pa.timestamp("ms"))),
        pa.timestamp("ms"),
        None,
    ),
    "dictionary-bool": (sample(pa.dictionary(pa.int64(), pa.bool_())), pa.bool_(), None),
    "dictionary-uint8 codes": (
        sample(pa.dictionary(pa.int8(), pa.string())),
        pa.dictionary(pa.uint8(), pa.string()),
        None,
    ),
    "dictionary-int64 codes": (
        sample(pa.dictionary(pa.int8(), pa.string())),
        pa.dictionary(pa.int64(), pa.string()),
        None,
    ),
    "dictionary-large_string values": (
        sample(pa.dictionary(pa.int8(), pa.string())),
        pa.dictionary(pa.int8(), pa.large_string()),
        None,
    ),
    "string-dictionary": (sample(pa.string()), pa.dictionary(pa.int32(), pa.string()), None),
    "string-dictionary of large_string": (
        sample(pa.string()),
        pa.dictionary(pa.uint16(), pa.large_string()),
        None,
    ),
    "int16-dictionary": (sample(pa.int16()), pa.dictionary(pa.int8(), pa.int16()), None),
    "bool-dictionary": (sample(pa.bool_()), pa.dictionary(pa.int8(), pa.bool_()), None),
    "decimal-dictionary": (
        sample(pa.decimal64(18, 0)),
        pa.dictionary(pa.int16(), pa.decimal128(20, 0)),
        None,
    ),
    "struct": (
        sample(pa.struct([("0", pa.string()), ("1", pa.decimal32(9, 2))])),
        pa.struct([("text", pa.large_string()), ("price", pa.decimal128(12, 2))]),
        None,
    ),
}

MET_CASES = pytest.mark.parametrize(("make", "target", "oracle"), MET.values(), ids=MET.keys())


def plain(array):
    """Return the values, so that the codes of a dictionary are not compared."""
    return [str(value) if isinstance(value, Decimal) else value for value in array.to_pylist()]


def expected(array, target, oracle):
    if oracle is not None:
        return plain(oracle(array))
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_dictionary(target):
        target = target.value_type
    if pa.types.is_struct(target):
        children = [
            child.cast(field.type) for child, field in zip(array.flatten(), target, strict=True)
        ]
        return plain(
            pa.StructArray.from_arrays(children, fields=list(target), mask=array.is_null())
        )
    if pa.types.is_time(target):
        # pyarrow cannot cast from durations.
        return plain(array.cast(pa.int64()).cast(f"int{target.bit_width}").cast(target))
    return plain(array.cast(target))


@pytest.mark.parametrize("nulls", samples.NULLS)
@MET_CASES
def test_column_is_exported_as_the_requested_type(make, target, oracle, nulls):
    array = make(MANY, nulls)
    for steps in samples.cuts(MANY):
        found = read(export(array, target, steps))
        assert found.type.equals(target, check_metadata=True)
        rows = samples.cut(array, steps)
        assert plain(found) == expected(rows, target, oracle), steps


@MET_CASES
def test_column_without_rows_is_exported_as_the_requested_type(make, target, oracle):
    found = read(export(make(0, "none"), target))
    assert found.type.equals(target, check_metadata=True)
    assert len(found) == 0


def requests(obj, requested):
    """Request a schema in every possible way; return the array that pyarrow reads from each."""
    whole = cab.to_arrow_device(obj)
    asked = [
        cab.to_arrow_device(obj, requested_schema=requested),
        cab.to_arrow_device(obj, requested_schema=requested.__arrow_c_schema__()),
        whole.as_requested(requested),
        Capsules(whole.__arrow_c_device_array__(requested.__arrow_c_schema__())),
        Capsules(whole.__arrow_c_device_array__(requested_schema=requested.__arrow_c_schema__())),
    ]
    found = [pa.array(DeviceOnly(array)) for array in asked]
    found.append(
        pa.Array._import_from_c_capsule(*whole.__arrow_c_array__(requested.__arrow_c_schema__()))
    )
    return found


class Capsules:
    """An array whose protocol method returns a given pair of capsules, for one consumer."""

    def __init__(self, pair):
        self._pair = pair

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self._pair


@pytest.mark.parametrize("as_", [lambda type_: type_, lambda type_: pa.field("x", type_)])
def test_every_way_to_request_a_schema_gives_the_same_array(as_):
    array = samples.values(pa.string(), 9, "some")
    for found in requests(samples.column_of(array), as_(pa.large_string())):
        found.validate(full=True)
        assert found.equals(array.cast(pa.large_string()))


def test_export_does_not_consume_the_requested_schema_capsule():
    array = cab.to_arrow_device(samples.column_of(pa.array(["a"])))
    wanted = pa.large_string().__arrow_c_schema__()
    for _ in range(2):
        schema, _array = array.__arrow_c_device_array__(wanted)
        assert struct_of(schema).format == b"U"
    assert struct_of(wanted).release


def test_pyarrow_requests_its_target_type():
    array = cab.to_arrow_device(samples.column_of(pa.array(["a", None, "b"])))
    asked = []

    class Asking:
        def __arrow_c_array__(self, requested_schema=None):
            schema, array_ = array.__arrow_c_array__(requested_schema)
            asked.append(struct_of(schema).format)
            return schema, array_

    found = pa.array(Asking(), type=pa.large_string())
    assert found.equals(pa.array(["a", None, "b"], pa.large_string()))
    table = cab.to_arrow_device(plc.Table([samples.column_of(pa.array(["a"]))]))
    batch = pa.record_batch(
        table, schema=pa.schema([("text", pa.dictionary(pa.int8(), pa.utf8()))])
    )
    assert batch.column("text").dictionary_decode().to_pylist() == ["a"]
    assert asked == [b"U"]


def test_nanoarrow_reads_the_requested_type():
    array = samples.values(pa.string(), 40, "some")
    for type_ in (pa.large_string(), pa.dictionary(pa.int8(), pa.large_string())):
        found = nanoarrow.Array(export(array, type_))
        values = found.to_pylist() if type_ == pa.large_string() else pa.array(found).to_pylist()
        assert values == array.to_pylist()


#: Types that share the same buffers.
RELABELLED = {
    "bytes-binary": (lists(pa.uint8()), pa.binary()),
    "pairs-map": (lists(PAIRS.value_type), pa.map_(pa.string(), pa.int32())),
    "duration[us]-time64": (scaled(pa.duration("us"), 3), pa.time64("us")),
    "timestamp[ms]-date64": (scaled(pa.timestamp("ms"), DAY * 1_000), pa.date64()),
    "zone": (sample(pa.timestamp("us", "UTC")), pa.timestamp("us", "Asia/Tokyo")),
    "decimal": (sample(pa.decimal64(18, 0)), pa.decimal64(5, 0)),
    "codes": (
        sample(pa.dictionary(pa.int8(), pa.string())),
        pa.dictionary(pa.uint8(), pa.string()),
    ),
    "names": (
        sample(pa.list_(pa.struct([("0", pa.int8())]))),
        pa.list_(pa.field("x", pa.struct([("y", pa.int8())]))),
    ),
    "fixed_size_binary": (lambda size, nulls: fixed_bytes(size, "none"), pa.binary(4)),
}


@pytest.mark.parametrize("nulls", ["none", "some"])
@pytest.mark.parametrize(("make", "target"), RELABELLED.values(), ids=RELABELLED.keys())
def test_types_of_the_same_layout_share_their_buffers(make, target, nulls):
    array = make(64, nulls)
    own = addresses(cab.to_arrow_device(array))
    asked = cab.to_arrow_device(array, requested_schema=pa.field("", target))
    assert asked.schema.type == target
    assert addresses(asked) <= own
    assert all(buffer.zero_copy for buffer in asked.buffers())


def addresses(array):
    return {buffer.address for buffer in array.buffers()}


#: Converted types, and the buffers that are shared with the source.
CONVERTED = {
    "large_string": (sample(pa.string()), pa.large_string(), {"validity", "data"}),
    "string_view": (sample(pa.string()), pa.string_view(), {"validity", "data"}),
    "large_list": (
        sample(pa.list_(pa.int32())),
        pa.large_list(pa.int32()),
        {"validity", "[].validity", "[].data"},
    ),
    "time32": (scaled(pa.duration("s"), 3), pa.time32("s"), {"validity"}),
    "decimal": (sample(pa.decimal32(9, 2)), pa.decimal64(9, 2), set()),
    "dictionary": (sample(pa.string()), pa.dictionary(pa.int32(), pa.string()), set()),
    "decoded": (sample(pa.dictionary(pa.int8(), pa.string())), pa.string(), set()),
    "struct": (
        sample(pa.struct([("0", pa.int16()), ("1", pa.string())])),
        pa.struct([("0", pa.int16()), ("1", pa.dictionary(pa.int8(), pa.string()))]),
        {"validity", "0.validity", "0.data"},
    ),
}


@pytest.mark.parametrize(("make", "target", "shared"), CONVERTED.values(), ids=CONVERTED.keys())
def test_zero_copy_is_true_for_buffers_shared_with_the_source_only(make, target, shared):
    column = samples.column_of(make(64, "some"))
    own = addresses(cab.to_arrow_device(column))
    asked = cab.to_arrow_device(column, requested_schema=pa.field("", target))
    present = [buffer for buffer in asked.buffers() if buffer.address]
    assert {buffer.name for buffer in present if buffer.zero_copy} == shared
    for buffer in present:
        assert (buffer.address in own) == buffer.zero_copy, buffer


AS_IT_IS = [
    (pa.int64(), pa.int32()),
    (pa.int32(), pa.string()),
    (pa.string(), pa.int8()),
    (pa.string(), pa.binary()),
    (pa.float32(), pa.float16()),
    (pa.timestamp("s"), pa.timestamp("ms")),
    (pa.timestamp("s"), pa.timestamp("s", "UTC")),
    (pa.timestamp("s", "UTC"), pa.date32()),
    (pa.duration("s"), pa.time32("ms")),
    (pa.decimal32(9, 2), pa.decimal64(9, 3)),
    (pa.decimal32(9, 2), pa.decimal256(40, 2)),
    (pa.list_(pa.int32()), pa.map_(pa.int8(), pa.int8())),
    (pa.list_(pa.int32()), pa.list_view(pa.int32())),
    (pa.list_(pa.uint8()), pa.string()),
    (pa.int8(), pa.dictionary(pa.int32(), pa.string())),
    (pa.string(), pa.dictionary(pa.int32(), pa.date64())),
    (pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int8())),
    (pa.dictionary(pa.int8(), pa.string()), pa.int8()),
    (pa.timestamp("s", "UTC"), pa.dictionary(pa.int32(), pa.date32())),
    (pa.list_(pa.int8()), pa.dictionary(pa.int8(), pa.list_(pa.int8()))),
    (pa.null(), pa.int8()),
    (pa.string(), pa.run_end_encoded(pa.int32(), pa.string())),
    (pa.string(), pa.dense_union([pa.field("a", pa.string())])),
]


@pytest.mark.parametrize(("type_", "wanted"), AS_IT_IS)
def test_column_keeps_its_type_if_the_conversion_is_unsupported(type_, wanted):
    array = samples.values(type_, 20, "some")
    for obj in (array, pa.StructArray.from_arrays([array], fields=[pa.field("0", type_)])):
        type_asked = wanted if obj is array else pa.struct([("0", wanted)])
        asked = cab.to_arrow_device(obj, requested_schema=pa.field("", type_asked))
        found = read(asked)
        assert found.type.equals(obj.type, check_metadata=True)
        assert found.equals(obj)


def test_unsupported_type_of_one_level_does_not_prevent_conversion_of_others():
    array = samples.values(pa.struct([("0", pa.int64()), ("1", pa.list_(pa.string()))]), 20, "some")
    wanted = pa.struct([("0", pa.int8()), ("1", pa.list_view(pa.large_string()))])
    found = read(export(array, wanted))
    assert found.type == pa.struct([("0", pa.int64()), ("1", pa.list_(pa.large_string()))])


@pytest.mark.parametrize(
    "array",
    [
        pa.array([0, None], pa.date64()),
        pa.array([1, None], pa.time32("s")),
        pa.array([1, None], pa.time64("ns")),
        pa.array([1.5, None], pa.float16()),
        pa.array([b"ab", None], pa.binary(2)),
    ],
    ids=lambda array: str(array.type),
)
@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
def test_imported_column_keeps_its_type_if_other_dictionary_values_are_requested(array, to):
    obj = cab.from_arrow_device(array, to=to)
    own = cab.to_arrow_device(obj).schema.type
    for values in (pa.string(), pa.decimal128(20, 2), pa.duration("us")):
        asked = pa.field("", pa.dictionary(pa.int32(), values))
        assert cab.to_arrow_device(obj, requested_schema=asked).schema.type == own


INCOMPATIBLE = [
    (pa.int64(), pa.struct([("a", pa.int64())])),
    (pa.int64(), pa.list_(pa.int64())),
    (pa.int64(), pa.map_(pa.int8(), pa.int8())),
    (pa.int64(), pa.dictionary(pa.int8(), pa.struct([("a", pa.int64())]))),
    (pa.dictionary(pa.int8(), pa.string()), pa.struct([("a", pa.string())])),
    (pa.list_(pa.int32()), pa.struct([("a", pa.int32())])),
    (pa.list_(pa.int32()), pa.int32()),
    (pa.list_(pa.int32()), pa.binary()),
    (pa.struct([("0", pa.int8())]), pa.int8()),
    (pa.struct([("0", pa.int8())]), pa.list_(pa.int8())),
    (pa.struct([("0", pa.int8())]), pa.run_end_encoded(pa.int32(), pa.int8())),
]


@pytest.mark.parametrize(("type_", "wanted"), INCOMPATIBLE)
def test_incompatible_requests_are_an_error(type_, wanted):
    array = samples.values(type_, 20, "some")
    with pytest.raises(ValueError, match=r"column '\(top level\)': the requested type .* not fit"):
        export(array, wanted)
    with pytest.raises(ValueError, match=r"column 'x': the requested type .* does not fit"):
        cab.to_arrow_device(
            pa.record_batch([array], ["x"]), requested_schema=pa.schema([("x", wanted)])
        )
    for to in ("cudf", "pylibcudf"):
        obj = cab.from_arrow_device(array, to=to)
        with pytest.raises(ValueError, match="does not fit the column"):
            cab.to_arrow_device(obj, requested_schema=pa.field("", wanted))


REFUSED = {
    "another number of fields": (
        pa.array([{"0": 1}]),
        pa.struct([("0", pa.int64()), ("1", pa.int64())]),
        "of 1 fields, got 2",
    ),
    "nulls": (
        pa.array([{"0": 1}, {"0": None}]),
        pa.struct([pa.field("0", pa.int64(), nullable=False)]),
        r"column '0': the requested field is not nullable, and the column has nulls$",
    ),
    "nulls in a list": (
        pa.array([[1, None]]),
        pa.list_(pa.field("item", pa.int64(), nullable=False)),
        r"column '\[\]': the requested field is not nullable, and the column has nulls$",
    ),
    "a time within a day": (pa.array([DAY + 1], pa.timestamp("s")), pa.date32(), "within a day"),
    "before the epoch": (pa.array([-1], pa.timestamp("ms")), pa.date64(), "within a day"),
    "a negative time": (pa.array([None, -1], pa.duration("us")), pa.time64("us"), "times of day"),
    "midnight": (pa.array([DAY], pa.duration("s")), pa.time32("s"), "times of day"),
    "too many digits": (
        pa.array([Decimal("-1000.00")], pa.decimal64(18, 2)),
        pa.decimal32(5, 2),
        r"column '\(top level\)': expected decimals of at most 5.* got more digits$",
    ),
    "other lengths": (
        pa.array([[1], [1, 2]], BYTES),
        pa.binary(1),
        r"column '\(top level\)': expected lists of 1.* got lists of other lengths$",
    ),
    "null bytes": (pa.array([[None]], BYTES), pa.binary(), "bytes are null"),
    "null keys": (
        pa.array([[{"key": None, "value": 1}]], PAIRS),
        pa.map_(pa.string(), pa.int32()),
        r"column '\[\]\.key': entries or keys of a map are null$",
    ),
}


@pytest.mark.parametrize(("array", "wanted", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_requested_type_that_the_data_contradicts_is_an_error(array, wanted, message):
    with pytest.raises(ValueError, match=message):
        export(array, wanted)
    # A batch that fits has the requested type.
    if "fields" not in message:
        empty = read(export(array.slice(0, 0), wanted))
        assert empty.type.equals(wanted, check_metadata=True)


def test_more_dictionary_values_than_the_index_type_holds_are_an_error():
    array = pa.array([str(i) for i in range(300)])
    assert len(read(export(array, pa.dictionary(pa.int16(), pa.string()))).dictionary) == 300
    for codes, limit in ((pa.int8(), 128), (pa.uint8(), 256)):
        error = f"expected at most {limit} dictionary values .* got 300"
        with pytest.raises(OverflowError, match=error):
            export(array, pa.dictionary(codes, pa.string()))
    many = array.slice(0, 256)
    assert len(read(export(many, pa.dictionary(pa.uint8(), pa.string()))).dictionary) == 256


def test_values_under_nulls_are_not_checked():
    bits = pa.py_buffer(b"\x01")
    garbage = pa.py_buffer(b"\x00" * 8 + b"\xff" * 8)
    for type_, wanted in (
        (pa.timestamp("ms"), pa.date64()),
        (pa.timestamp("ms"), pa.date32()),
        (pa.duration("s"), pa.time32("s")),
        (pa.decimal64(18, 0), pa.decimal32(1, 0)),
    ):
        array = pa.Array.from_buffers(type_, 2, [bits, garbage], null_count=1)
        assert read(export(array, wanted)).null_count == 1


def test_null_struct_may_hold_nulls_in_non_nullable_fields():
    fields = [pa.field("0", pa.int64()), pa.field("1", pa.string())]
    children = [pa.array([1, None, 3]), pa.array(["a", None, "c"])]
    mask = pa.array([False, True, False])
    array = pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    wanted = pa.struct([field.with_nullable(False) for field in fields])
    found = read(export(array, wanted))
    assert found.type == wanted
    assert found.to_pylist() == [{"0": 1, "1": "a"}, None, {"0": 3, "1": "c"}]
    assert [
        child.null_count
        for child in cab.to_arrow_device(
            samples.column_of(array), requested_schema=pa.field("", wanted)
        ).children
    ] == [0, 0]


def test_null_dictionary_values_are_decoded_to_null_rows():
    array = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0], pa.int8()), pa.array(["a", None])
    )
    assert read(export(array, pa.string())).to_pylist() == ["a", None, None, "a"]


TABLE = pa.schema(
    [
        pa.field("id", pa.int64(), metadata={"a": "b"}),
        pa.field("text", pa.string()),
        pa.field("when", pa.timestamp("s")),
    ],
    metadata={"whose": "mine"},
)


def table(**columns):
    rows = {"id": [1, 2], "text": ["a", None], "when": pa.array([DAY, None], pa.timestamp("s"))}
    return pa.RecordBatch.from_pydict(rows | columns, schema=TABLE)


def test_table_is_exported_with_the_requested_fields():
    wanted = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("words", pa.large_string(), metadata={"c": "d"}),
            pa.field("when", pa.date32()),
        ]
    )
    found = cab.to_arrow_device(table(), requested_schema=wanted)
    # Fields and schemas without metadata in the request keep their own metadata.
    assert found.schema.equals(
        pa.schema(
            [wanted.field(0).with_metadata({"a": "b"}), wanted.field(1), wanted.field(2)],
            metadata={"whose": "mine"},
        ),
        check_metadata=True,
    )
    batch = pa.record_batch(found)
    batch.validate(full=True)
    assert batch.to_pydict() == {
        "id": [1, 2],
        "words": ["a", None],
        "when": [dt.date(1970, 1, 2), None],
    }
    replaced = found.as_requested(wanted.with_metadata({"whose": "yours"}))
    assert replaced.schema.metadata == {b"whose": b"yours"}


def test_requested_fields_in_another_order_are_an_error():
    wanted = pa.schema([TABLE.field("text"), TABLE.field("id"), TABLE.field("when")])
    with pytest.raises(
        ValueError,
        match=r"column '\(top level\)': expected field 'id' at position 0 of.* got 'text'$",
    ):
        cab.to_arrow_device(table(), requested_schema=wanted)


def test_requested_type_of_a_table_must_be_a_struct():
    with pytest.raises(
        ValueError,
        match=r"expected a requested schema of a table, got a type that is not a struct$",
    ):
        cab.to_arrow_device(table(), requested_schema=pa.field("", pa.int64()))


def test_invalid_requested_schema_capsules_are_rejected():
    array = cab.to_arrow_device(samples.column_of(pa.array([1])))
    capsule = pa.int64().__arrow_c_schema__()
    pa.DataType._import_from_c_capsule(capsule)
    with pytest.raises(ValueError, match="expected an unused schema capsule, got a consumed one"):
        array.__arrow_c_device_array__(capsule)
    with pytest.raises(
        ValueError,
        match="expected a PyCapsule named 'arrow_schema', got <capsule object \"arrow_array\" at",
    ):
        array.__arrow_c_device_array__(pa.array([1]).__arrow_c_array__()[1])
    with pytest.raises(
        TypeError, match=r"requested_schema: expected an Arrow schema,.* got an object of type int$"
    ):
        array.__arrow_c_device_array__(1)


def test_exported_schema_does_not_depend_on_the_data():
    wanted = pa.schema([("id", pa.int8()), ("text", pa.string_view()), ("when", pa.date32())])
    batches = [table(), table(text=[None, None]), table(id=[None, 5]), table().slice(0, 0)]
    schemas = [cab.to_arrow_device(batch, requested_schema=wanted).schema for batch in batches]
    for schema in schemas:
        assert schema.equals(schemas[0], check_metadata=True)
        assert schema.types == [pa.int64(), pa.string_view(), pa.date32()]


NAME, PARAMETERS = b"ARROW:extension:name", b"ARROW:extension:metadata"
POINT = {NAME: b"a.point", PARAMETERS: b"2"}


def field_of(type_, metadata=None):
    return pa.field("0", type_, metadata=metadata)


def test_requested_extension_is_exported_only_with_its_storage_type():
    batch = pa.record_batch([pa.array(["a"])], schema=pa.schema([field_of(pa.string())]))
    asked = pa.schema([field_of(pa.large_string(), POINT | {b"k": b"v"})])
    found = cab.to_arrow_device(batch, requested_schema=asked).schema
    assert found.field(0).equals(asked.field(0), check_metadata=True)
    # The storage cannot become int8, so the field loses the extension.
    asked = pa.schema([field_of(pa.int8(), POINT | {b"k": b"v"})])
    found = cab.to_arrow_device(batch, requested_schema=asked).schema
    assert found.field(0).equals(field_of(pa.string(), {b"k": b"v"}), check_metadata=True)


def test_extension_is_dropped_if_its_storage_is_converted():
    batch = pa.record_batch([pa.array(["a"])], schema=pa.schema([field_of(pa.string(), POINT)]))
    same = cab.to_arrow_device(batch, requested_schema=pa.schema([field_of(pa.string())]))
    assert same.schema.field(0).metadata == POINT
    other = cab.to_arrow_device(batch, requested_schema=pa.schema([field_of(pa.large_string())]))
    assert other.schema.field(0).metadata is None


def test_children_accept_a_requested_schema():
    frame = cab.to_arrow_device(table())
    found = pa.array(frame.children[1], type=pa.large_string())
    assert found.equals(pa.array(["a", None], pa.large_string()))
    nested = cab.to_arrow_device(pa.array([["a"], ["b", "c"]])).children[0]
    schema, _ = nested.__arrow_c_device_array__(pa.large_string().__arrow_c_schema__())
    assert struct_of(schema).format == b"U"


def test_host_copies_accept_a_requested_schema():
    found = (
        cab.to_arrow_device(table())
        .to_host()
        .as_requested(
            pa.schema(
                [("id", pa.int64()), ("text", pa.large_string()), ("when", pa.timestamp("s"))]
            )
        )
    )
    assert found.schema.field("text").type == pa.large_string()


def test_released_array_rejects_a_requested_schema():
    array = cab.to_arrow_device(table())
    array.release()
    with pytest.raises(ValueError, match="released"):
        array.__arrow_c_device_array__(pa.schema([("id", pa.int64())]).__arrow_c_schema__())


def test_frames_are_exported_with_the_requested_types():
    frame = cab.from_arrow_device(table())
    wanted = pa.schema(
        [("id", pa.int64()), ("text", pa.dictionary(pa.int8(), pa.string())), ("when", pa.date32())]
    )
    for array in (
        cab.to_arrow_device(frame, requested_schema=wanted),
        frame.arrow_device.export(requested_schema=wanted),
    ):
        assert array.schema.types == wanted.types
        back = cab.from_arrow_device(array)
        assert str(back["text"].dtype) == "category"


def test_requested_types_are_converted_at_any_depth():
    inner = pa.struct([("0", pa.string()), ("1", pa.decimal32(9, 2))])
    array = samples.values(pa.list_(pa.struct([("0", pa.list_(inner))])), 40, "some", (3, 5, 2))
    target = pa.struct(
        [("a", pa.dictionary(pa.uint8(), pa.large_string())), ("b", pa.decimal128(20, 2))]
    )
    wanted = pa.large_list(pa.struct([("x", pa.large_list(target))]))
    for steps in samples.cuts(40):
        column = samples.cut_column(
            column_from(array), steps, lambda start, size: array.slice(start, size).null_count
        )
        found = read(cab.to_arrow_device(column, requested_schema=pa.field("", wanted)))
        assert found.type == wanted
        assert [
            row
            and [
                item
                and {
                    "0": item["x"]
                    and [entry and {"0": entry["a"], "1": entry["b"]} for entry in item["x"]]
                }
                for item in row
            ]
            for row in found.to_pylist()
        ] == samples.cut(array, steps).to_pylist()


def test_string_offsets_beyond_32_bits_are_an_error_with_a_hint():
    offsets = pa.py_buffer(b"".join(i.to_bytes(8, "little") for i in (0, 1 << 31)))
    text = samples.column_of(pa.array(["a"], pa.large_string()))
    far = plc.Column(
        text.type(),
        1,
        text.data(),
        None,
        0,
        0,
        [plc.Column(plc.DataType(plc.TypeId.INT64), 2, Memory(offsets), None, 0, 0, [])],
    )
    for wanted in (pa.string(), pa.string_view()):
        with pytest.raises(OverflowError, match="ask for large_string"):
            cab.to_arrow_device(far, requested_schema=pa.field("", wanted))


def test_empty_name_of_an_extension_type_requests_storage():
    storage = pa.array(["1", None])
    array = pa.ExtensionArray.from_storage(pa.json_(), storage)
    column = pa.StructArray.from_arrays([array], names=["x"])
    wanted = pa.field("x", pa.string(), metadata={b"ARROW:extension:name": b"", b"k": b"v"})
    frame = cab.from_arrow_device(pa.record_batch({"a": column, "b": array}))
    for source in (pa.record_batch({"a": column, "b": array}), frame):
        exported = cab.to_arrow_device(
            source, requested_schema=pa.schema([pa.field("a", pa.struct([wanted])), wanted])
        )
        field = exported.schema.field(0).type.field(0)
        assert field.equals(wanted.with_metadata({"k": "v"}), check_metadata=True)
        assert exported.schema.field(1).equals(field, check_metadata=True)
        assert pa.record_batch(exported)["x"].equals(storage)
