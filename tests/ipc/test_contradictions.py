# SPDX-License-Identifier: Apache-2.0
"""Messages in which one number contradicts the others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc.metadata import make_footer, schema_message
from cudf_arrow_bridge.ipc.transport.framing import Block
from testing.ipc import samples as ipc_samples
from testing.ipc.metadata import DICTIONARY, SCHEMA, Metadata, framed, messages_of

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


def messages_with(batches, at=-1, body=None, **places):
    """Return the messages of batches, one with changed numbers in its metadata or another body."""
    found = list(messages_of(ipc_samples.written(batches[0].schema, batches)))
    metadata, old = found[at]
    found[at] = Metadata(metadata).patched(**places), old if body is None else body(old)
    return [(m, [] if Metadata(m).kind == SCHEMA else [b]) for m, b in found]


def refused(messages, match, **options):
    with pytest.raises(ValueError, match=match):
        list(cab.ipc.from_messages(messages, **options))


NUMBERS = pa.record_batch({"n": pa.array([1, None, 3], pa.int64())})


@pytest.mark.parametrize(
    ("places", "match"),
    [
        ({"length": 2}, "column 'n': expected 2 rows, as the batch has, got 3"),
        ({"length": -1}, "metadata byte 64: expected a length of at least 0, got -1"),
        ({"node 0": 2**62}, r"'n': expected a validity buffer of \d+ bytes, got 1$"),
        ({"node 1": 4}, "'n': expected a null count of 0 to 3, got 4"),
        ({"node 1": -1}, "column 'n': expected a null count of 0 to 3, got -1"),
        ({"buffer 1": 0}, "column 'n': expected a validity buffer of 1 bytes, got 0"),
        ({"buffer 2": -8}, "buffer 1: expected bytes within .* got -8 to 16"),
        ({"buffer 0": 1}, "buffer 0: expected an offset that is a multiple of 8, got 1"),
        ({"buffer 3": 23}, "column 'n': expected a data buffer of 24 bytes, got 23"),
        ({"buffer 3": 2**63 - 1}, f"buffer 1: expected bytes within .* got 8 to {2**63 + 7:,}"),
    ],
)
@pytest.mark.parametrize("validate", ["sizes", "minimal", "full"])
def test_message_with_a_contradictory_number_is_rejected(places, match, validate):
    (array,) = cab.ipc.from_messages(messages_with([NUMBERS]), validate=validate)
    assert pa.record_batch(array).equals(NUMBERS)
    refused(messages_with([NUMBERS], **places), match, validate=validate)


def test_full_validation_checks_the_null_count_of_list_elements():
    """The null count also covers elements that no list refers to."""
    batch = pa.record_batch({"a": pa.array([[1, None], [None, 4]], pa.list_(pa.int32()))})

    def without_the_last(body):
        # The offsets are the first buffer, because no list is null.
        offsets = np.frombuffer(body, "int32").copy()
        assert offsets[:3].tolist() == [0, 2, 4]
        offsets[2] = 3
        return offsets

    (array,) = cab.ipc.from_messages(messages_with([batch], body=without_the_last), validate="full")
    assert pa.record_batch(array)["a"].to_pylist() == [[1, None], [None]]
    messages = messages_with([batch], body=without_the_last, **{"node 3": 1})
    refused(messages, r"column 'a\[\]': expected a null count of 2, got 1", validate="full")


@pytest.mark.parametrize("type_", [pa.int64(), pa.string_view(), pa.list_(pa.int8())], ids=str)
def test_full_validation_rejects_a_null_count_of_zero_over_nulls(type_):
    batch = pa.record_batch({"n": pa.nulls(3, type_)})
    messages = messages_with([batch], **{"node 1": 0})
    refused(messages, "column 'n': expected a null count of 3, got 0", validate="full")


@pytest.mark.parametrize(
    ("values", "sent"),
    [
        (pa.nulls(7), [(5, 5)]),
        (pa.RunEndEncodedArray.from_arrays([5, 7], [1, 2]), [(5, 0), (1, 0), (1, 0)]),
    ],
    ids=["null", "runs"],
)
@pytest.mark.parametrize("null_count", [0, 3, 7])
@pytest.mark.parametrize("validate", ["sizes", "minimal", "full"])
def test_null_counts_of_fields_without_masks_are_ignored(values, sent, null_count, validate):
    """Also if the field has more rows than its struct."""
    batch = pa.record_batch({"s": pa.StructArray.from_arrays([values], ["x"])})
    changed = messages_with([batch], length=5, **{"node 0": 5, "node 3": null_count})
    (array,) = cab.ipc.from_messages(changed, validate=validate)
    metadata = list(cab.ipc.messages(array))[-1].metadata
    assert Metadata(metadata).nodes == [(5, 0), *sent]
    assert array.to_host().to_pylist() == batch.slice(0, 5).to_pylist()
    assert f"{sent[0][1]} nulls" in repr(array["s"].children[0])


def test_mask_of_a_column_without_nulls_may_be_short_or_without_zeros():
    batch = pa.record_batch({"n": pa.array([1, None, 3], pa.int8())})
    ones = lambda body: np.full(len(body), 0xFF, "uint8")  # noqa: E731
    for size in (0, 1):
        changed = messages_with([batch], body=ones, **{"node 1": 0, "buffer 1": size})
        (array,) = cab.ipc.from_messages(changed, validate="full")
        assert pa.record_batch(array)["n"].to_pylist() == [-1, -1, -1]


def test_full_validation_checks_a_dictionary_only_when_it_arrives():
    """Values that change later are not checked again with each batch."""
    batch = pa.record_batch({"d": pa.array(["a", "b", "a"]).dictionary_encode()})
    schema, (metadata, body), first, second = messages_of(
        ipc_samples.written(batch.schema, [batch, batch])
    )
    assert Metadata(metadata).kind == DICTIONARY
    values = np.frombuffer(body, "uint8").copy()
    position, size = Metadata(metadata).buffers[2]

    def messages():
        yield schema[0], []
        yield metadata, [values]
        yield first[0], [first[1]]
        values[position : position + size] = 0xFF
        yield second[0], [second[1]]

    assert len(list(cab.ipc.from_messages(messages(), validate="full"))) == 2
    refused(messages(), "'d': row 0: the string is not UTF-8", validate="full")


def test_schema_with_a_dictionary_below_a_binary_field_is_rejected():
    batch = pa.record_batch(
        {"a": pa.ListArray.from_arrays([0, 2], ipc_samples.coded([0, 1], "ab"))}
    )
    (metadata, _), *rest = messages_with([batch])
    list_, binary = 12, 4  # of the union Type
    places = [i for i, code in enumerate(metadata) if code == list_]
    found = []
    for place in places:
        changed = bytearray(metadata)
        changed[place] = binary
        try:
            list(cab.ipc.from_messages([(bytes(changed), []), *rest]))
        except ValueError as error:
            found.append(str(error))
    assert any("dictionary ids, got" in text for text in found), found


@pytest.mark.parametrize(
    "validate",
    [
        pytest.param("sizes", marks=pytest.mark.unsound),  # imports batches before the delta
        pytest.param("minimal", marks=pytest.mark.unsound),
        "full",
    ],
)
@pytest.mark.parametrize("offset", [-1, 2**31 - 1, -(2**31)])
def test_deltas_are_checked_before_they_are_appended(validate, offset):
    """Every `validate` option checks the offsets, because appending reads the values."""
    batches = [pa.record_batch({"a": ipc_samples.coded([0], keys)}) for keys in ("xyz", "xyzuvw")]
    stream = ipc_samples.written(batches[0].schema, batches, deltas=True)
    messages = [(m, [b] if b.size else []) for m, b in messages_of(stream)]
    for at in (1, 3):
        changed = list(messages)
        metadata, (body,) = changed[at]
        data = np.frombuffer(body, "int32").copy()
        data[1] = offset
        changed[at] = metadata, [data]
        refused(changed, "offset", validate=validate)


def file_of(messages, schema):
    """Return a file of framed messages, and the block of each."""
    data, blocks = b"ARROW1\0\0", []
    for metadata, body in messages:
        framed_message = framed([(metadata, body)], end=False)
        size = len(body or b"")
        blocks.append(Block(len(data), len(framed_message) - size, size))
        data += framed_message
    dictionaries = [
        block
        for block, (metadata, _) in zip(blocks, messages, strict=True)
        if Metadata(metadata).kind == DICTIONARY
    ]
    batches = [block for block in blocks[1:] if block not in dictionaries]
    return data, dictionaries, batches, schema_message(schema)


def with_footer(data, dictionaries, batches, schema):
    footer = make_footer(schema, dictionaries, batches)
    return data + footer + len(footer).to_bytes(4, "little") + b"ARROW1"


def test_file_with_two_dictionaries_of_one_id_is_rejected():
    schema, batches = pa.schema({"a": pa.dictionary(pa.int8(), pa.string())}), []
    for keys in ("ab", "xy"):
        batches.append(pa.record_batch({"a": ipc_samples.coded([0, 1], keys)}, schema))
    messages = list(messages_of(ipc_samples.written(schema, batches)))
    data, dictionaries, blocks, stored = file_of(messages, schema)
    file = cab.ipc.open_file(with_footer(data, dictionaries[:1], blocks, stored))
    assert file[0].to_pylist() == [{"a": "a"}, {"a": "b"}]
    # A record batch that is listed as a dictionary is not one.
    file = cab.ipc.open_file(with_footer(data, [dictionaries[0], blocks[1]], blocks[:1], stored))
    assert file[0].to_pylist() == [{"a": "a"}, {"a": "b"}]
    file = cab.ipc.open_file(with_footer(data, dictionaries, blocks, stored))
    match = f"byte {dictionaries[1].offset:,}: a second dictionary has the id 0 and is not a delta"
    for read in (lambda: file[0], lambda: list(file)):
        with pytest.raises(ValueError, match=match):
            read()


@pytest.mark.parametrize("length", [-5, 0, 2**31 - 1])
def test_length_of_the_footer_out_of_range_is_rejected(length):
    data = with_footer(b"ARROW1\0\0", [], [], schema_message(NUMBERS.schema))
    changed = data[:-10] + length.to_bytes(4, "little", signed=True) + data[-6:]
    match = f"expected a footer of 1 to {len(data) - 16:,} bytes, got {length:,}$"
    with pytest.raises(ValueError, match=match):
        cab.ipc.open_file(changed)


def test_footer_with_overlapping_messages_is_rejected():
    messages = list(messages_of(ipc_samples.written(NUMBERS.schema, [NUMBERS] * 2)))
    data, _, (first, second), stored = file_of(messages, NUMBERS.schema)
    assert len(cab.ipc.open_file(with_footer(data, [], [second, first], stored))) == 2
    nested = Block(first.offset + 8, 8, 0)
    for blocks in ([first, first], [first, second, second], [nested, first]):
        with pytest.raises(ValueError, match="overlaps"):
            cab.ipc.open_file(with_footer(data, [], blocks, stored))
