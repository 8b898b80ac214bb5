# SPDX-License-Identifier: Apache-2.0
"""Metadata and footers with wrong bytes raise a ValueError with a position, or are read safely.

The tests change each byte, cut at each length, and change many bytes at random.
"""

from __future__ import annotations

import itertools
import random
import re
import struct
import tracemalloc

import pyarrow as pa
import pytest

from cudf_arrow_bridge.ipc.metadata import field_tables, schema_messages
from cudf_arrow_bridge.ipc.metadata.field_tables import MANY
from cudf_arrow_bridge.ipc.metadata.flatbuffer_tables import Flatbuffer, key_values
from cudf_arrow_bridge.ipc.metadata.footer import make_footer, read_footer
from cudf_arrow_bridge.ipc.metadata.headers import HeaderReader, read_header
from cudf_arrow_bridge.ipc.metadata.schema_messages import read_schema, schema_message
from cudf_arrow_bridge.ipc.transport.framing import Block
from testing.ipc.streams import messages_in, stream_of, table_of

VALUES = (0, 1, 4, 127, 128, 255)
WHERE = re.compile(
    r"(metadata|footer) byte \d+: expected .+, got .+"
    r"|schema: expected little-endian data, got big-endian"
    r"|message: expected a schema, got a (dictionary|batch)"
    r"|schema: .+",
    re.DOTALL,
)
FILE_SIZE = 4096


def samples():
    table = table_of("int", "string view", "struct of views", "dictionary")
    named = {
        header.kind: header.metadata
        for message in messages_in(stream_of(table, {"k": "v", "key": "value"}))
        for header in [read_header(message.metadata)]
    }
    compressed = messages_in(stream_of(table_of("string"), compression="zstd"))[-1]
    named["compressed"] = compressed.metadata.to_pybytes()
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
    named["wide schema"] = schema_message(pa.schema([(str(i), pa.int8()) for i in range(MANY)]))
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
    layout = header.layout
    for first, stop in layout.numbers():
        assert 0 < first <= stop <= len(data)
        assert first % 8 == 0 or stop - first == 1
    assert header.length >= 0
    assert header.body_length >= 0
    assert len(header.variadic_counts) == layout.num_variadic
    assert all(0 <= count <= layout.num_buffers for count in header.variadic_counts)
    outcome(lambda: header.custom_metadata)
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


def with_bytes_at_random(data, rng):
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 2, 3, 8))):
        size = rng.choice((1, 1, 2, 4, 8))
        position = rng.randrange(0, len(data) - size + 1, size)
        value = rng.choice((rng.getrandbits(8 * size), rng.randrange(64), 2 ** (8 * size) - 8))
        changed[position : position + size] = (value % 256**size).to_bytes(size, "little")
    return bytes(changed)


@pytest.mark.parametrize("name", SAMPLES)
def test_unchanged_samples_are_read(name):
    assert not isinstance(check(name, SAMPLES[name]), str)


@pytest.mark.parametrize("name", SAMPLES)
def test_change_of_any_byte_gives_an_error_or_valid_positions(name):
    outcomes = [check(name, data) for data in with_one_byte_changed(SAMPLES[name])]
    errors = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert len(outcomes) / 50 < len(errors) < len(outcomes)


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_at_any_length_gives_an_error_or_valid_positions(name):
    data = SAMPLES[name]
    for size in range(len(data)):
        check(name, data[:size])
    for size in range(8):
        assert isinstance(check(name, data[:size]), str)


@pytest.mark.parametrize("name", SAMPLES)
def test_random_changes_give_an_error_or_valid_positions(name):
    rng = random.Random(name)
    rounds = 5_000 if "schema" in name or name == "footer" else 30_000
    outcomes = [check(name, with_bytes_at_random(SAMPLES[name], rng)) for _ in range(rounds)]
    assert any(isinstance(outcome, str) for outcome in outcomes)


def test_read_of_changed_metadata_uses_bounded_memory():
    rng = random.Random(5)
    changed = [with_bytes_at_random(SAMPLES[name], rng) for name in BATCHES for _ in range(300)]
    tracemalloc.start()
    try:
        for data in changed:
            check("batch", data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 500_000


def test_header_reader_with_known_layouts_reads_the_same_headers():
    reader = HeaderReader()
    rng = random.Random(6)
    changed = itertools.chain(
        *(with_one_byte_changed(SAMPLES[name]) for name in BATCHES),
        (with_bytes_at_random(SAMPLES[name], rng) for _ in range(5_000) for name in BATCHES),
    )
    originals = itertools.cycle(SAMPLES[name] for name in BATCHES)
    reused = 0
    for data in changed:
        # The original is read repeatedly, so that the reader keeps its layout.
        for given in (next(originals), data):
            known = {id(entry[0]) for entry in reader._known}
            header = outcome(reader.read, given)
            assert header == outcome(read_header, given)
            reused += not isinstance(header, str) and id(header.layout) in known
    assert reused > 10_000


def test_header_reader_detects_a_body_length_that_overlaps_a_buffer_count():
    data = bytearray(SAMPLES["compressed"])
    layout = read_header(data).layout
    root, message_vtable = vtable_of(data)
    # The body length overlaps the batch's number of buffers.
    count = layout.buffers - 4
    shared = count - count % 8
    assert shared in (count, count - 4)
    struct.pack_into("<H", data, message_vtable + 10, shared - root)
    one, other = bytes(data), bytearray(data)
    struct.pack_into("<I", other, count, layout.num_buffers - 1)
    reader = HeaderReader()
    for given in (one, bytes(other), one):
        header = reader.read(given)
        assert header == read_header(given)
        assert header.layout.body_length == shared
    assert reader.read(bytes(other)).layout.num_buffers == layout.num_buffers - 1


@pytest.mark.parametrize("type_", [pa.int8(), pa.list_(pa.int8())])
def test_reading_many_fields_at_once_equals_reading_each_field(type_, monkeypatch):
    metadata = schema_message(
        pa.schema([*((str(i), pa.int8()) for i in range(MANY - 1)), ("last", type_)])
    )
    for data in itertools.islice(with_one_byte_changed(metadata), 0, None, 5):
        at_once = outcome(read_schema, data)
        with monkeypatch.context() as patch:
            patch.setattr(field_tables, "MANY", len(data))
            schema_messages._read_schema.cache_clear()
            one_by_one = outcome(read_schema, data)
        schema_messages._read_schema.cache_clear()
        if isinstance(at_once, str):
            assert isinstance(one_by_one, str)
        else:
            assert at_once.schema.equals(one_by_one.schema, check_metadata=True)
            assert at_once.dictionary_ids == one_by_one.dictionary_ids


def test_counts_beyond_the_metadata_are_rejected():
    for name in BATCHES:
        layout = read_header(SAMPLES[name]).layout
        for first in filter(None, (layout.nodes, layout.buffers, layout.variadic_counts)):
            data = bytearray(SAMPLES[name])
            data[first - 4 : first] = b"\xff\xff\xff\xff"
            size = (16 if first != layout.variadic_counts else 8) * (2**32 - 1)
            expected = f"metadata byte {first}: expected items within {len(data)} bytes"
            assert check_header(bytes(data)) == f"{expected}, got an item of {size} bytes"


def vtable_of(data):
    (root,) = struct.unpack_from("<I", data)
    return root, root - struct.unpack_from("<i", data, root)[0]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        *((name, version) for name in ("batch", "schema") for version in (0, 2, 5, -1)),
        *(("footer", version) for version in (1, 2, 5, -1)),
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


@pytest.mark.parametrize("size", [0, 2, 7])
def test_vtables_of_invalid_sizes_are_rejected(size):
    data = bytearray(SAMPLES["batch"])
    _, vtable = vtable_of(data)
    struct.pack_into("<H", data, vtable, size)
    found = f"expected a vtable with an even number of at least 4 bytes, got {size} bytes"
    assert check_header(bytes(data)) == f"metadata byte {vtable}: {found}"


def test_negative_lengths_are_rejected():
    layout = read_header(SAMPLES["batch"]).layout
    for position, what in ((layout.length, "length"), (layout.body_length, "body length")):
        data = bytearray(SAMPLES["batch"])
        struct.pack_into("<q", data, position, -3)
        error = f"metadata byte {position}: expected a {what} of at least 0, got -3"
        assert check_header(bytes(data)) == error


def test_overlapping_strings_are_rejected_without_large_allocations():
    """The custom metadata has many long strings, which share all bytes but the first few."""
    count, size = 2_000, 100_000
    vtable, table, pair_vtable, vector = 4, 20, 28, 36
    pairs = vector + 4 + 4 * count
    texts = pairs + 12 * count
    parts = [
        struct.pack("<I", table),
        struct.pack("<7H2x", 14, 8, 0, 0, 0, 0, 4),
        struct.pack("<iI", table - vtable, vector - (table + 4)),
        struct.pack("<4H", 8, 12, 4, 8),
        struct.pack("<I", count),
        *(struct.pack("<I", pairs + 8 * i - (vector + 4)) for i in range(count)),
    ]
    for i in range(count):
        pair, text = pairs + 12 * i, texts + 4 * i
        parts.append(struct.pack("<iII", pair - pair_vtable, text - pair - 4, text - pair - 8))
    data = b"".join([*parts, struct.pack("<I", size) * count, bytes(size)])
    buffer = Flatbuffer(data, "metadata")

    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f"got strings of {2 * size} bytes so far"):
            key_values(buffer.root(), 4)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(data)
