# SPDX-License-Identifier: Apache-2.0
"""Streams that pyarrow writes, their messages, and tables of many types for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

ROWS = 5
TEXTS = ["a", "of more than twelve bytes", None, "", "b"]
LISTS = [[1, 2], None, [], [3], [None]]


def dictionary(values, indices=(0, 1, None, 1, 0)):
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(values))


def short_views():
    """Return views without data buffers, for which pyarrow makes one empty buffer."""
    array = pa.array(["a", "b", None, "", "c"], pa.string_view())
    return pa.Array.from_buffers(array.type, ROWS, array.buffers()[:2], array.null_count)


def nested_dictionary():
    inner = dictionary(["x", "y"])
    values = pa.StructArray.from_arrays([inner, pa.array(range(ROWS))], ["d", "i"])
    return pa.DictionaryArray.from_arrays(pa.array([4, 3, 2, 1, 0], pa.int32()), values)


#: Columns of every layout, each of `ROWS` rows.
COLUMNS = {
    "int": pa.array([1, 2, None, 4, 5]),
    "no nulls": pa.array(np.arange(ROWS)),
    "bool": pa.array([True, None, False, True, True]),
    "null": pa.nulls(ROWS),
    "decimal": pa.array([1, 2, None, 4, 5]).cast(pa.decimal128(20)),
    "string": pa.array(TEXTS),
    "large string": pa.array(TEXTS, pa.large_string()),
    "string view": pa.array(TEXTS, pa.string_view()),
    "short views": short_views(),
    "list": pa.array(LISTS),
    "large list": pa.array(LISTS, pa.large_list(pa.int8())),
    "list view": pa.array(LISTS, pa.list_view(pa.int16())),
    "fixed list": pa.array([[1, 2], None, [3, 4], [5, 6], [7, 8]], pa.list_(pa.int8(), 2)),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}, {}, {"a": 2}]),
    "struct of views": pa.array(
        [{"v": text} for text in TEXTS], pa.struct([("v", pa.binary_view())])
    ),
    "map": pa.array([[("a", 1)], None, [], [("b", None)], []], pa.map_(pa.string(), pa.int8())),
    "run ends": pa.RunEndEncodedArray.from_arrays([2, 5], ["p", None]),
    "dictionary": dictionary(["x", "y"]),
    "list of dictionary": pa.ListArray.from_arrays([0, 1, 2, 3, 4, 5], dictionary(["x", "y"])),
    "nested dictionary": nested_dictionary(),
}


def table_of(*names: str) -> pa.Table:
    return pa.table({name: COLUMNS[name] for name in names or COLUMNS})


def stream_of(table: pa.Table, custom_metadata=None, **options) -> pa.Buffer:
    """Return a stream that pyarrow writes."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch, custom_metadata=custom_metadata)
    return sink.getvalue()


def messages_in(stream: pa.Buffer) -> list[pa.ipc.Message]:
    """Return the messages of a stream, whose bodies share its memory."""
    return list(pa.ipc.MessageReader.open_stream(stream))


def framed(metadata: bytes, body=b"") -> bytes:
    """Return a message as it is stored in a stream."""
    metadata += bytes(-len(metadata) % 8)
    return b"\xff" * 4 + len(metadata).to_bytes(4, "little") + metadata + bytes(body)
