# SPDX-License-Identifier: Apache-2.0
"""Metadata and footers with wrong bytes raise a ValueError with a position, or are read safely.

`test_hostile_messages.py` also changes bytes at random.
"""

from __future__ import annotations

import re
import struct
from operator import itemgetter

import pyarrow as pa
import pytest

from cudf_arrow_bridge.ipc.metadata import (
    batch_message,
    make_footer,
    read_footer,
    read_header,
    read_schema,
    schema_message,
)
from cudf_arrow_bridge.ipc.transport.framing import Block
from testing.ipc.metadata import Metadata, messages_of
from testing.ipc.samples import written

VALUES = (0, 1, 4, 127, 128, 255)
WHERE = re.compile(
    r"(metadata|footer) byte \d+: expected .+, got .+"
    r"|schema: the data is big-endian"
    r"|the message is a (dictionary|batch), not a schema"
    r"|schema: .+",
    re.DOTALL,
)
FILE_SIZE = 4096


def samples():
    views = pa.StructArray.from_arrays([pa.array(["a", None], pa.string_view())], ["v"])
    kinds = pa.array(["x", None]).dictionary_encode()
    batch = pa.record_batch({"int": [1, None], "views": views, "kinds": kinds})
    sent = map(itemgetter(0), messages_of(written(batch.schema, [batch])))
    named = {read_header(metadata).kind: metadata for metadata in sent}
    *_, (named["compressed"], _) = messages_of(written(batch.schema, [batch], compression="zstd"))
    rich = pa.schema(
        [
            pa.field("d", pa.dictionary(pa.int8(), pa.string()), metadata={"a": "b"}),
            pa.field(
                "s", pa.struct([("x", pa.timestamp("us", "UTC")), ("y", pa.decimal128(9, 2))])
            ),
        ],
        metadata={"k": "v"},
    )
    named["rich schema"] = schema_message(rich)
    named["wide schema"] = schema_message(pa.schema([(str(i), pa.int8()) for i in range(32)]))
    named["footer"] = make_footer(schema_message(rich), [Block(8, 8, 64)], [Block(80, 64, 128)] * 2)
    return named


SAMPLES = samples()
BATCHES = [name for name in SAMPLES if "schema" not in name and name != "footer"]


def outcome(read, *arguments):
    """Return the result, or the text of the error. Check the form of the text."""
    text = None
    try:
        return read(*arguments)
    except ValueError as error:
        text = str(error) if type(error) is ValueError else repr(error)
    except TypeError as error:
        text = str(error)
    assert WHERE.fullmatch(text), text
    return text


def check_header(data):
    header = outcome(read_header, data)
    if isinstance(header, str):
        return header
    for numbers in (header.nodes, header.buffers):
        assert len(numbers) % 16 == 0
    assert header.length >= 0
    assert header.body_length >= 0
    assert all(0 <= count <= len(header.buffers) // 16 for count in header.variadic_counts)
    return header


def check(name, data):
    if name == "footer":
        footer = outcome(read_footer, data, FILE_SIZE)
        if not isinstance(footer, str):
            for offset, metadata_length, body_length in footer.dictionaries + footer.batches:
                assert offset % 8 == 0
                assert min(offset, metadata_length - 1, body_length) >= 0
                assert offset + metadata_length + body_length <= FILE_SIZE
        return footer
    header = check_header(data)
    if "schema" in name:
        return outcome(read_schema, data)
    return header


def with_one_byte_changed(data):
    for position, byte in enumerate(data):
        for value in {*VALUES, byte ^ 1, byte ^ 4, byte ^ 8} - {byte}:
            yield data[:position] + bytes([value]) + data[position + 1 :]


@pytest.mark.parametrize("name", SAMPLES)
def test_change_of_any_byte_gives_an_error_or_valid_positions(name):
    assert not isinstance(check(name, SAMPLES[name]), str)
    outcomes = [check(name, data) for data in with_one_byte_changed(SAMPLES[name])]
    errors = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert len(outcomes) / 50 < len(errors) < len(outcomes)


@pytest.mark.parametrize("name", BATCHES)
def test_counts_beyond_the_metadata_are_rejected(name):
    places = Metadata(SAMPLES[name]).places
    for first in (places["node 0"], places["buffer 0"]):
        data = bytearray(SAMPLES[name])
        data[first - 4 : first] = b"\xff\xff\xff\xff"
        expected = f"metadata byte {first}: expected items within {len(data)} bytes"
        size = 16 * (2**32 - 1)
        assert check_header(bytes(data)) == f"{expected}, got an item of {size} bytes"


def vtable_of(data):
    (root,) = struct.unpack_from("<I", data)
    return root, root - struct.unpack_from("<i", data, root)[0]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        *((name, version) for name in ("batch", "schema") for version in (2, 5)),
        *(("footer", version) for version in (2, 5)),
    ],
)
def test_unknown_metadata_versions_are_rejected(name, version):
    data = bytearray(SAMPLES[name])
    root, vtable = vtable_of(data)
    (slot,) = struct.unpack_from("<H", data, vtable + 4)
    struct.pack_into("<h", data, root + slot, version)
    subject = "footer" if name == "footer" else "metadata"
    error = f"{subject} byte {root}: expected V4 or V5, got metadata version V{version + 1}"
    assert check(name, bytes(data)) == error


@pytest.mark.parametrize("size", [2, 7])
def test_vtables_of_invalid_sizes_are_rejected(size):
    data = bytearray(SAMPLES["batch"])
    _, vtable = vtable_of(data)
    struct.pack_into("<H", data, vtable, size)
    found = f"expected a vtable with an even number of at least 4 bytes, got {size} bytes"
    assert check_header(bytes(data)) == f"metadata byte {vtable}: {found}"


@pytest.mark.parametrize(("what", "number"), [("length", 0x1234567), ("body length", 0x89ABCDEF)])
def test_negative_lengths_are_rejected(what, number):
    data = batch_message((0x1234567, b"", b"", b"", 0x89ABCDEF))
    position = data.index(struct.pack("<q", number))
    changed = data.replace(struct.pack("<q", number), struct.pack("<q", -3))
    error = f"metadata byte {position}: expected a {what} of at least 0, got -3"
    assert check_header(changed) == error
