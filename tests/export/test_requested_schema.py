# SPDX-License-Identifier: Apache-2.0
"""Types requested with ``requested_schema``: converted, not converted, or rejected."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.peers.arrays import Capsules, DeviceOnly, read, struct_of

BYTES = pa.list_(pa.uint8())
PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())]))
MAP = pa.map_(pa.string(), pa.int32())
WORDS = pa.dictionary(pa.int8(), pa.string())
DAY = 86_400
UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def as_type(obj, type_):
    return cab.to_arrow_device(obj, requested_schema=pa.field("", type_))


def export(array, type_, steps=()):
    return as_type(samples.column_of(array, steps), type_)


def values(type_, target, size, nulls):
    """Return values of a type that the target type can represent."""
    if target == pa.binary(4):
        # Null lists are empty, as libcudf requires.
        rows = enumerate(samples.mask(size, nulls))
        return pa.array([None if null else [i % 256] * 4 for i, null in rows], BYTES)
    if type_ in (BYTES, PAIRS):
        lists = samples.values(type_, size, nulls)
        elements = samples.values(type_.value_type, len(lists.values), "none")
        return pa.Array.from_buffers(type_, size, lists.buffers()[:2], children=[elements])
    if pa.types.is_time(target):
        scale, first = 3, 0
    elif pa.types.is_date(target) and pa.types.is_timestamp(type_):
        scale, first = DAY * UNITS[type_.unit], -45
    else:
        return samples.values(type_, size, nulls)
    rows = enumerate(samples.mask(size, nulls))
    integers = [None if null else (i % 90 + first) * scale for i, null in rows]
    return pa.array(integers, pa.int64()).cast(type_)


def plain(array):
    """Return the values, so that the codes of a dictionary are not compared."""
    return [str(value) if isinstance(value, Decimal) else value for value in array.to_pylist()]


def converted(array, target):
    """Return the values after pyarrow's conversion to the target type."""
    if array.type == BYTES:
        return [None if row is None else bytes(row) for row in array.to_pylist()]
    if pa.types.is_map(target):
        rows = array.to_pylist()
        return [None if row is None else [tuple(entry.values()) for entry in row] for row in rows]
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_dictionary(target):
        target = target.value_type
    if pa.types.is_struct(target):
        fields = zip(array.flatten(), target, strict=True)
        children = [child.cast(field.type) for child, field in fields]
        array = pa.StructArray.from_arrays(children, fields=list(target), mask=array.is_null())
    if pa.types.is_time(target):
        # pyarrow cannot cast from durations.
        array = array.cast(pa.int64()).cast(f"int{target.bit_width}")
    return plain(array.cast(target))


ALL = None
#: Requested types, and the buffers that are shared with the source.
SHARED = [
    (BYTES, pa.binary(), ALL),
    (PAIRS, MAP, ALL),
    (pa.duration("us"), pa.time64("us"), ALL),
    (pa.timestamp("ms"), pa.date64(), ALL),
    (pa.decimal64(18, 0), pa.decimal64(5, 0), ALL),
    (WORDS, pa.dictionary(pa.uint8(), pa.string()), ALL),
    (pa.list_(pa.int8()), pa.list_(pa.field("x", pa.int8())), ALL),
    (BYTES, pa.binary(4), ["validity"]),
    (pa.string(), pa.large_string(), ["validity", "data"]),
    (pa.string(), pa.string_view(), ["validity", "data"]),
    (pa.list_(pa.int8()), pa.large_list(pa.int8()), ["validity", "[].validity", "[].data"]),
    (pa.duration("s"), pa.time32("s"), ["validity"]),
    (pa.decimal32(9, 2), pa.decimal64(9, 2), []),
    (pa.string(), pa.dictionary(pa.int32(), pa.string()), []),
    (WORDS, pa.string(), []),
    (
        pa.struct([("0", pa.int16()), ("1", pa.string())]),
        pa.struct([("0", pa.int16()), ("1", WORDS)]),
        ["validity", "0.validity", "0.data"],
    ),
]
#: The type of a column, and a requested type that it is converted to.
MET = [
    (pa.large_string(), pa.string()),
    (pa.large_string(), pa.string_view()),
    (BYTES, pa.large_binary()),
    (BYTES, pa.binary_view()),
    (pa.duration("ms"), pa.time32("ms")),
    (pa.duration("ns"), pa.time64("ns")),
    (pa.date32(), pa.date64()),
    (pa.timestamp("s"), pa.date32()),
    (pa.timestamp("us"), pa.date64()),
    (pa.timestamp("ns"), pa.date32()),
    (pa.decimal64(18, 0), pa.decimal128(20, 0)),
    (pa.decimal128(38, -3), pa.decimal32(7, -3)),
    (pa.decimal128(38, -3), pa.decimal64(10, -3)),
    (pa.decimal64(18, 0), pa.decimal64(4, 0)),
    (pa.dictionary(pa.int32(), pa.timestamp("ms")), pa.timestamp("ms")),
    (pa.dictionary(pa.int64(), pa.bool_()), pa.bool_()),
    (pa.string(), pa.dictionary(pa.uint16(), pa.large_string())),
    (pa.decimal64(18, 0), pa.dictionary(pa.int16(), pa.decimal128(20, 0))),
    (
        pa.struct([("0", pa.string()), ("1", pa.decimal32(9, 2))]),
        pa.struct([("text", pa.large_string()), ("price", pa.decimal128(12, 2))]),
    ),
]


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize(("type_", "target"), [*MET, *(row[:2] for row in SHARED)], ids=str)
def test_column_is_exported_as_the_requested_type(type_, target, nulls):
    for size in (0, samples.MANY):
        array = values(type_, target, size, nulls)
        for steps in samples.cuts(size):
            found = read(export(array, target, steps))
            assert found.type.equals(target, check_metadata=True)
            assert plain(found) == converted(samples.cut(array, steps), target), steps


def requests(obj, requested):
    """Request a schema in every possible way; return the array that pyarrow reads from each."""
    whole = cab.to_arrow_device(obj)
    exported = [
        cab.to_arrow_device(obj, requested_schema=requested),
        cab.to_arrow_device(obj, requested_schema=requested.__arrow_c_schema__()),
        whole.as_requested(requested),
        whole.to_host().as_requested(requested),
        Capsules(*whole.__arrow_c_device_array__(requested.__arrow_c_schema__())),
        Capsules(*whole.__arrow_c_device_array__(requested_schema=requested.__arrow_c_schema__())),
    ]
    found = [pa.array(DeviceOnly(array)) for array in exported]
    capsules = whole.__arrow_c_array__(requested.__arrow_c_schema__())
    return [*found, pa.Array._import_from_c_capsule(*capsules)]


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
    found = pa.array(array, type=pa.large_string())
    assert found.equals(pa.array(["a", None, "b"], pa.large_string()))
    table = cab.to_arrow_device(plc.Table([samples.column_of(pa.array(["a"]))]))
    batch = pa.record_batch(
        table, schema=pa.schema([("text", pa.dictionary(pa.int8(), pa.utf8()))])
    )
    assert batch.column("text").dictionary_decode().to_pylist() == ["a"]


@pytest.mark.parametrize(("type_", "target", "shared"), SHARED, ids=str)
def test_zero_copy_is_true_for_buffers_shared_with_the_source_only(type_, target, shared):
    column = samples.column_of(values(type_, target, 64, "some"))
    own = {buffer.address for buffer in cab.to_arrow_device(column).buffers()}
    present = [buffer for buffer in as_type(column, target).buffers() if buffer.address]
    expected = {buffer.name for buffer in present} if shared is ALL else set(shared)
    assert {buffer.name for buffer in present if buffer.zero_copy} == expected
    for buffer in present:
        assert (buffer.address in own) == buffer.zero_copy, buffer


def test_lists_of_equal_lengths_are_shared_as_bytes_of_a_fixed_size():
    array = values(BYTES, pa.binary(4), 64, "none")
    assert all(buffer.zero_copy for buffer in as_type(array, pa.binary(4)).buffers())


def test_another_time_zone_is_exported_over_the_same_memory():
    array = pa.array([1, None, 3], pa.timestamp("us", "UTC"))
    tokyo = pa.timestamp("us", "Asia/Tokyo")
    found = read(as_type(array, tokyo))
    assert found.equals(array.cast(tokyo))
    assert found.buffers()[1].address == array.buffers()[1].address


#: Requests that an export does not convert to.
KEPT = [
    (pa.int64(), pa.int32()),
    (pa.string(), pa.binary()),
    (pa.timestamp("s"), pa.timestamp("ms")),
    (pa.timestamp("s"), pa.timestamp("s", "UTC")),
    (pa.timestamp("s", "UTC"), pa.date32()),
    (pa.duration("s"), pa.time32("ms")),
    (pa.decimal32(9, 2), pa.int64()),
    (pa.decimal32(9, 2), pa.decimal64(9, 3)),
    (pa.decimal32(9, 2), pa.decimal256(40, 2)),
    (pa.list_(pa.int32()), pa.map_(pa.int8(), pa.int8())),
    (pa.int8(), pa.dictionary(pa.int32(), pa.string())),
    (WORDS, pa.dictionary(pa.int32(), pa.int8())),
    (WORDS, pa.int8()),
    (pa.timestamp("s", "UTC"), pa.dictionary(pa.int32(), pa.date32())),
    (pa.list_(pa.int8()), pa.dictionary(pa.int8(), pa.list_(pa.int8()))),
    (pa.null(), pa.int8()),
    (pa.string(), pa.run_end_encoded(pa.int32(), pa.string())),
    (pa.string(), pa.dense_union([pa.field("a", pa.string())])),
]


@pytest.mark.parametrize(("type_", "wanted"), KEPT, ids=str)
def test_column_keeps_its_type_if_the_conversion_is_unsupported(type_, wanted):
    array = samples.values(type_, 20, "some")
    struct = pa.StructArray.from_arrays([array], fields=[pa.field("0", type_)])
    for obj, requested in ((array, wanted), (struct, pa.struct([("0", wanted)]))):
        found = read(as_type(obj, requested))
        assert found.type.equals(obj.type, check_metadata=True)
        assert found.equals(obj)


def test_unsupported_type_of_one_level_does_not_prevent_conversion_of_others():
    array = samples.values(pa.struct([("0", pa.int64()), ("1", pa.list_(pa.string()))]), 20, "some")
    wanted = pa.struct([("0", pa.int8()), ("1", pa.list_view(pa.large_string()))])
    found = read(export(array, wanted))
    assert found.type == pa.struct([("0", pa.int64()), ("1", pa.list_(pa.large_string()))])


INCOMPATIBLE = [
    (pa.int64(), pa.struct([("a", pa.int64())])),
    (pa.int64(), pa.list_(pa.int64())),
    (pa.int64(), pa.dictionary(pa.int8(), pa.struct([("a", pa.int64())]))),
    (WORDS, pa.struct([("a", pa.string())])),
    (pa.list_(pa.int32()), pa.struct([("a", pa.int32())])),
    (pa.list_(pa.int32()), pa.int32()),
    (pa.list_(pa.int32()), pa.binary()),
    (pa.struct([("0", pa.int8())]), pa.int8()),
    (pa.struct([("0", pa.int8())]), pa.list_(pa.int8())),
    (pa.struct([("0", pa.int8())]), pa.run_end_encoded(pa.int32(), pa.int8())),
]


@pytest.mark.parametrize(("type_", "wanted"), INCOMPATIBLE, ids=str)
def test_incompatible_requests_are_an_error(type_, wanted):
    array = samples.values(type_, 20, "some")
    for obj in (array, *(cab.from_arrow_device(array, to=to) for to in ("cudf", "pylibcudf"))):
        with pytest.raises(ValueError, match="does not fit the column"):
            as_type(obj, wanted)
    batch = pa.record_batch([array], ["x"])
    with pytest.raises(ValueError, match=r"column 'x': the requested type .* does not fit"):
        cab.to_arrow_device(batch, requested_schema=pa.schema([("x", wanted)]))


STRICT = pa.field("0", pa.int64(), nullable=False)
REFUSED = {
    "another number of fields": (
        pa.array([{"0": 1}]),
        pa.struct([("0", pa.int64()), ("1", pa.int64())]),
        "of 1 fields, got 2",
    ),
    "nulls": (
        pa.array([{"0": 1}, {"0": None}]),
        pa.struct([STRICT]),
        "column '0': the requested field is not nullable",
    ),
    "nulls in a list": (
        pa.array([[1, None]]),
        pa.list_(STRICT),
        r"column '\[\]': the requested field is not nullable",
    ),
    "a time within a day": (pa.array([DAY + 1], pa.timestamp("s")), pa.date32(), "within a day"),
    "before the epoch": (pa.array([-1], pa.timestamp("ms")), pa.date64(), "within a day"),
    "a negative time": (pa.array([None, -1], pa.duration("us")), pa.time64("us"), "times of day"),
    "midnight": (pa.array([DAY], pa.duration("s")), pa.time32("s"), "times of day"),
    "too many digits": (
        pa.array([Decimal("-1000.00")], pa.decimal64(18, 2)),
        pa.decimal32(5, 2),
        "decimals of more than 5",
    ),
    "other lengths": (pa.array([[1], [1, 2]], BYTES), pa.binary(1), "not all lists have 1"),
    "null bytes": (pa.array([[None]], BYTES), pa.binary(), "bytes are null"),
    "null keys": (pa.array([[{"key": None, "value": 1}]], PAIRS), MAP, r"column '\[\]\.key'"),
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


def test_invalid_requested_schema_capsules_are_rejected():
    array = cab.to_arrow_device(samples.column_of(pa.array([1])))
    consumed = pa.int64().__arrow_c_schema__()
    pa.DataType._import_from_c_capsule(consumed)
    for requested, error, message in (
        (consumed, ValueError, "capsule is already consumed"),
        (pa.array([1]).__arrow_c_array__()[1], ValueError, 'got <capsule object "arrow_array"'),
        (1, TypeError, "requested_schema: .* got an object of type int$"),
    ):
        with pytest.raises(error, match=message):
            array.__arrow_c_device_array__(requested)
