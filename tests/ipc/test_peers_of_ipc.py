# SPDX-License-Identifier: Apache-2.0
"""Streams and files of polars and nanoarrow, and streams whose dictionaries change."""

from __future__ import annotations

import io

import nanoarrow as na
import polars as pl
import pyarrow as pa
import pytest
from nanoarrow.ipc import StreamWriter

import cudf_arrow_bridge as cab
from testing.ipc import samples
from testing.ipc.metadata import DICTIONARY, Metadata, framed, messages_of, realigned
from testing.ipc.peers import assert_same_batches, read_bridge, read_polars, read_pyarrow

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

FRAME = pl.DataFrame(
    {
        "number": [1, None, 3],
        "small": pl.Series([1, 2, None], dtype=pl.UInt8),
        "text": ["a", None, "longer than twelve bytes"],
        "bytes": [b"", b"\x00\xff" * 10, None],
        "flag": [True, None, False],
        "list": [[1, 2], None, []],
        "texts": [["a", None], [], ["longer than twelve bytes"]],
        "array": pl.Series([[1, 2], None, [3, 4]], dtype=pl.Array(pl.Int16, 2)),
        "struct": [{"x": 1, "y": "a"}, {"x": None, "y": None}, {"x": 3, "y": "b"}],
        "day": pl.Series([0, None, 20_000], dtype=pl.Int32).cast(pl.Date),
        "clock": pl.Series([0, None, 5], dtype=pl.Time),
        "moment": pl.Series([0, 1, None], dtype=pl.Datetime("us", "Europe/Rome")),
        "span": pl.Series([0, 1, None], dtype=pl.Duration("ms")),
        "price": pl.Series(["1.25", None, "-3.50"]).cast(pl.Decimal(12, 2)),
        "kind": pl.Series(["a", "b", None], dtype=pl.Categorical),
        "choice": pl.Series(["x", None, "y"], dtype=pl.Enum(["x", "y"])),
        "none": pl.Series([None] * 3, dtype=pl.Null),
    }
)
LEVELS = [pl.CompatLevel.oldest, pl.CompatLevel.newest]


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("level", LEVELS, ids=["oldest", "newest"])
def test_streams_and_files_of_polars_are_read(level, compression):
    options = {"compat_level": level(), "compression": compression}
    stream, file = io.BytesIO(), io.BytesIO()
    FRAME.write_ipc_stream(stream, **options)
    FRAME.write_ipc(file, record_batch_size=2, **options)
    found = read_bridge(cab.ipc.open_stream(stream.getvalue()))
    assert_same_batches(found, read_pyarrow(stream.getvalue()))
    found = read_bridge(cab.ipc.open_file(file.getvalue()))
    assert_same_batches(found, read_pyarrow(file.getvalue()))
    back = io.BytesIO()
    cab.ipc.write_stream(cab.ipc.open_stream(stream.getvalue()), back)
    assert read_polars(back.getvalue()).equals(FRAME)


@pytest.mark.parametrize(
    "type_",
    [pa.int32(), pa.bool_(), pa.string(), pa.large_string(), pa.decimal128(20, 3),
     pa.date32(), pa.timestamp("ns", "UTC"), pa.null(), pa.list_(pa.string()),
     pa.list_(pa.int8(), 2),
     pa.struct([("x", pa.float64()), ("y", pa.list_(pa.bool_()))]),
     pa.map_(pa.string(), pa.int8())],
    ids=str,
)  # fmt: skip
def test_streams_of_nanoarrow_are_read(type_):
    batches = [batch for batch in samples.batches_of(type_) if len(batch)]
    # nanoarrow does not write slices.
    batches = read_pyarrow(samples.written(batches[0].schema, batches))[1]
    table, sink = pa.Table.from_batches(batches), io.BytesIO()
    with StreamWriter.from_writable(sink) as writer:
        writer.write_stream(na.ArrayStream(table))
    assert_same_batches(read_bridge(cab.ipc.open_stream(sink.getvalue())), (table.schema, batches))


def dictionary_streams():
    """Yield the name, the data and the batches of streams whose dictionaries change."""
    batches = list(samples.replaced())
    schema = batches[0].schema
    yield "replaced", samples.written(schema, batches), batches
    yield "deltas", samples.written(schema, batches, deltas=True), batches
    inner = [pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int8()), keys)
             for keys in (["a", "b"], ["a", "b"], ["c", "d"])]  # fmt: skip
    outer = [pa.DictionaryArray.from_arrays(pa.array([2, None, 0], pa.int16()),
                                            pa.StructArray.from_arrays([i], ["kind"]))
             for i in inner]  # fmt: skip
    batches = [pa.record_batch({"a": column}) for column in outer]
    yield "nested, replaced", samples.written(batches[0].schema, batches), batches


STREAMS = [pytest.param(data, batches, id=name) for name, data, batches in dictionary_streams()]


@pytest.mark.parametrize(("data", "batches"), STREAMS)
def test_streams_with_changing_dictionaries_are_read_and_written(data, batches):
    expected = batches[0].schema, batches
    # The stream has several dictionary messages.
    assert len([m for m, _ in messages_of(data) if Metadata(m).kind == DICTIONARY]) > 2
    assert_same_batches(read_pyarrow(data), expected)
    aligned = framed([realigned(*message, 64) for message in messages_of(data)])
    for stream in (data, aligned):
        assert_same_batches(read_bridge(cab.ipc.open_stream(stream)), expected)
    messages = pa.ipc.MessageReader.open_stream(data)
    assert_same_batches(read_bridge(cab.ipc.from_messages(messages)), expected)
    sink = io.BytesIO()
    cab.ipc.write_stream(cab.ipc.open_stream(data), sink)
    assert_same_batches(read_pyarrow(sink.getvalue()), expected)


def test_open_file_reads_dictionary_deltas():
    batches = list(samples.replaced())[:3]
    data = samples.written(batches[0].schema, batches, file=True, deltas=True)
    file = cab.ipc.open_file(data)
    # All of a file's dictionaries are read before its batches.
    expected = read_pyarrow(data)
    assert_same_batches(read_bridge(file), expected)
    assert pa.record_batch(file[2]).equals(batches[2])


# pyarrow does not read dictionaries of dictionaries, and the bridge none of binary(0).
VALUE_TYPES = [
    type_ for type_ in samples.TYPES if not pa.types.is_dictionary(type_) and type_ != pa.binary(0)
]


@pytest.mark.parametrize("type_", VALUE_TYPES, ids=str)
def test_values_are_appended_to_dictionaries_of_all_types(type_):
    """The values keep their own types, also those that cuDF does not have."""
    keys = samples.with_nulls(type_, "some")
    batches = [pa.record_batch({"a": samples.coded([size - 1, None, 0], keys[:size])})
               for size in (2, 3, 9)]  # fmt: skip
    expected = batches[0].schema, batches
    stream = samples.written(batches[0].schema, batches, deltas=True)
    assert_same_batches(read_bridge(cab.ipc.open_stream(stream)), expected)
    replaced = samples.written(batches[0].schema, batches)
    for write in (cab.ipc.write_stream, cab.ipc.write_file):
        sink = io.BytesIO()
        write(cab.ipc.open_stream(replaced), sink)
        rows = [batch.to_pylist() for batch in read_pyarrow(sink.getvalue())[1]]
        assert rows == [batch.to_pylist() for batch in batches]


def test_pyarrow_reads_streams_whose_nested_dictionaries_grow():
    """pyarrow does not read a delta whose values contain dictionaries."""
    keys = pa.StructArray.from_arrays([samples.coded([0, 1, 0], ["a", "b"])], ["kind"])
    batches = [pa.record_batch({"a": samples.coded([0], keys[:size])}) for size in (1, 3)]
    sink = io.BytesIO()
    cab.ipc.write_stream(cab.ipc.open_stream(samples.written(batches[0].schema, batches)), sink)
    assert_same_batches(read_pyarrow(sink.getvalue()), (batches[0].schema, batches))


@pytest.mark.parametrize("nest", [lambda x: x, lambda x: [x], lambda x: {"a": [x, None]}])
def test_dictionaries_of_floats_are_compared_bit_by_bit(nest):
    """NaN equals NaN, and a reader distinguishes -0.0 from 0.0."""
    floats = [[float("nan"), 0.0], [float("nan"), 0.0], [float("nan"), 0.0, -0.0], [-0.0]]
    keys = [[nest(x) for x in part] for part in floats]
    streams = [pa.record_batch({"a": samples.coded([0], part)}) for part in keys]
    arrays = [next(iter(cab.ipc.open_stream(samples.written(b.schema, [b])))) for b in streams]
    for write, count in ((cab.ipc.write_file, 3), (cab.ipc.write_stream, 4)):
        sink = io.BytesIO()
        write(arrays[:count], sink)
        found = read_pyarrow(sink.getvalue())[1][count - 1]["a"]
        assert str(found.dictionary.to_pylist()) == str(keys[count - 1])


def test_write_file_rejects_replaced_dictionaries():
    """A file has one dictionary for each id."""
    batches = list(samples.replaced())
    with pytest.raises(ValueError, match="dictionar"):
        cab.ipc.write_file(cab.ipc.open_stream(samples.written(batches[0].schema, batches)),
                           io.BytesIO())  # fmt: skip
