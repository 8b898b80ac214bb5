# SPDX-License-Identifier: Apache-2.0
"""Footers of files are read and written; pyarrow and polars are the peers."""

from __future__ import annotations

import struct

import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc.metadata import make_footer, read_footer, schema_message
from cudf_arrow_bridge.ipc.transport.framing import Block
from testing.ipc.streams import COLUMNS, table_of

BLOCK = struct.Struct("<qi4xq")


def file_of(schema, batches, metadata=None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema, metadata=metadata) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def split(file):
    """Return the messages of a file and its footer."""
    size = int.from_bytes(file[-10:-6], "little")
    return file[: -10 - size], file[-10 - size : -10]


def with_footer(messages, footer):
    return messages + footer + len(footer).to_bytes(4, "little") + b"ARROW1"


@pytest.mark.parametrize("names", [*((name,) for name in COLUMNS), tuple(COLUMNS)])
def test_pyarrow_reads_files_with_our_footer(names):
    table = table_of(*names)
    messages, footer = split(file_of(table.schema, table.to_batches() * 3, metadata={"k": "v"}))
    read = read_footer(footer, len(messages))
    assert read.schema.schema == table.schema
    assert len(read.batches) == 3
    for block in [*read.dictionaries, *read.batches]:
        message = pa.ipc.read_message(messages[block.offset :])
        assert message.body.size == block.body_length
        assert message.type == ("dictionary" if block in read.dictionaries else "record batch")

    ours = make_footer(schema_message(table.schema), read.dictionaries, read.batches)
    again = pa.ipc.open_file(with_footer(messages, ours))
    assert again.num_record_batches == 3
    assert again.read_all() == pa.concat_tables([table] * 3)
    assert read_footer(ours, len(messages)).batches == read.batches
    assert read_footer(ours, len(messages)).dictionaries == read.dictionaries
    schema = read_footer(ours, len(messages)).schema
    assert schema.schema.equals(read.schema.schema, check_metadata=True)
    assert schema.dictionary_ids == read.schema.dictionary_ids


def test_polars_reads_files_with_our_footer():
    table = table_of("int", "string", "string view", "list", "struct", "dictionary")
    messages, footer = split(file_of(table.schema, table.to_batches() * 2))
    read = read_footer(footer, len(messages))
    ours = make_footer(schema_message(table.schema), read.dictionaries, read.batches)
    frame = pl.read_ipc(with_footer(messages, ours))
    assert frame.equals(pl.concat([pl.from_arrow(table)] * 2))


def test_read_footer_reads_footers_of_polars(tmp_path):
    frame = pl.DataFrame({"a": [1, None], "s": ["x", "of more than twelve bytes"]})
    frame.write_ipc(tmp_path / "file.arrow")
    messages, footer = split((tmp_path / "file.arrow").read_bytes())
    read = read_footer(footer, len(messages))
    assert read.schema.schema.names == ["a", "s"]
    assert len(read.batches) == 1


@pytest.mark.parametrize("columns", [0, 1, 2, 100])
@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_footer_holds_any_number_of_columns_and_batches(columns, count):
    batch = pa.record_batch({str(i): [i] for i in range(columns)})
    messages, footer = split(file_of(batch.schema, [batch] * count))
    blocks = read_footer(footer, len(messages)).batches
    ours = make_footer(schema_message(batch.schema), [], blocks)
    again = pa.ipc.open_file(with_footer(messages, ours))
    assert again.num_record_batches == count
    assert again.schema == batch.schema
    assert all(again.get_batch(i) == batch for i in range(0, count, 97))


@pytest.mark.parametrize(
    ("block", "fits"),
    [
        ((8, 16, 40), True),
        ((0, 64, 0), True),
        ((8, 16, 41), False),
        ((8, 57, 0), False),
        ((72, 1, 0), False),
        ((4, 16, 8), False),
        ((-8, 16, 8), False),
        ((8, 0, 8), False),
        ((8, -16, 8), False),
        ((8, 16, -8), False),
        ((2**63 - 8, 16, 8), False),
        ((8, 2**31 - 1, 2**63 - 1), False),
        ((-(2**63), 16, 8), False),
    ],
)
def test_blocks_must_lie_in_the_file(block, fits):
    footer = make_footer(schema_message(pa.schema([])), [Block(8, 8, 8)], [Block(8, 8, 8), block])
    if fits:
        assert read_footer(footer, 64).batches == [Block(8, 8, 8), Block(*block)]
        return
    where = footer.index(BLOCK.pack(*block))
    found = f"a message of {block[1]}\\+{block[2]} bytes at {block[0]}"
    expected = "a message at a multiple of 8 in 64 bytes"
    with pytest.raises(ValueError, match=f"footer byte {where}: expected {expected}, got {found}"):
        read_footer(footer, 64)


def test_read_footer_ignores_the_padding_of_a_block():
    footer = make_footer(schema_message(pa.schema([])), [], [Block(8, 16, 24)])
    first = footer.index(BLOCK.pack(8, 16, 24)) + 12
    read = read_footer(footer[:first] + b"\xff" * 4 + footer[first + 4 :], 64)
    assert read.batches == [Block(8, 16, 24)]


def test_read_footer_rejects_a_message():
    with pytest.raises(ValueError, match=r"footer byte \d+: "):
        read_footer(schema_message(pa.schema([("a", pa.int8())])), 64)


@pytest.mark.parametrize("version", [b"\0\0", None])
def test_open_file_reads_footers_without_a_version(version):
    """Arrow 0.14.1 wrote footers without a version. Each message has its own version."""
    table = pa.table({"a": [1, 2, 3]})
    messages, footer = split(file_of(table.schema, table.to_batches()))
    footer = bytearray(footer)
    root = int.from_bytes(footer[:4], "little")
    vtable = root - int.from_bytes(footer[root : root + 4], "little", signed=True)
    slot = int.from_bytes(footer[vtable + 4 : vtable + 6], "little")
    if version is None:
        footer[vtable + 4 : vtable + 6] = b"\0\0"
    else:
        footer[root + slot : root + slot + 2] = version
    data = with_footer(messages, bytes(footer))
    with cab.ipc.open_file(data) as file:
        assert pa.table(file).equals(table)
