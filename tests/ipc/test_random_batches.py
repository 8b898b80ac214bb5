# SPDX-License-Identifier: Apache-2.0
"""Random nested and sliced batches are written without extra bytes, and pyarrow reads them.

The batches are frames, tables of pylibcudf and arrays of foreign producers.
"""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from testing import foreign
from testing.device import unnamed
from testing.ipc.metadata import SCHEMA, Metadata, messages_of
from testing.ipc.peers import assert_same_batches, read_bridge, read_pyarrow
from testing.ipc.random_batches import batches, sliced_table
from testing.ipc.samples import written
from testing.peers.arrays import DeviceOnly, Producer
from testing.samples import cut
from testing.shared_memory import children_of
from testing.strategies import NOT_SLOW, edits, slices

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


def stream_of(source, **options):
    sink = io.BytesIO()
    cab.ipc.write_stream(source, sink, **options)
    return sink.getvalue()


def check(source, **options):
    """Write an object. Check that pyarrow reads its rows from a stream without extra bytes."""
    exported = cab.to_arrow_device_stream(source, **options)
    expected = [pa.record_batch(DeviceOnly(array)) for array in exported]
    stream = stream_of(source, **options)
    assert_same_batches(read_pyarrow(stream), (exported.schema, expected))
    assert_no_larger(stream, expected)
    for batch in pa.ipc.open_stream(stream):
        for column in batch.columns:
            assert_no_bits_after_rows(column)
    assert_same_batches(read_bridge(cab.ipc.open_stream(stream)), (exported.schema, expected))
    bodies = [packed(message) for message in cab.ipc.messages(source, **options)]
    assert bodies == [body.to_pybytes() for _, body in messages_of(stream)]
    return pa.Table.from_batches(expected)


def packed(message):
    pairs = zip(message.buffers, message.padding, strict=True)
    return b"".join(bytes(memoryview(part)) + bytes(zeros) for part, zeros in pairs)


def assert_no_larger(stream, batches):
    """Check that bodies are as small as pyarrow's, which also writes slices, but for padding."""

    def sizes(data):
        return [
            (Metadata(metadata).kind, body.size, Metadata(metadata).buffers)
            for metadata, body in messages_of(data)
            if Metadata(metadata).kind != SCHEMA
        ]

    found, expected = sizes(stream), sizes(written(batches[0].schema, batches))
    assert [kind for kind, *_ in found] == [kind for kind, *_ in expected]
    for (_, size, buffers), (_, theirs, _) in zip(found, expected, strict=True):
        assert size <= theirs + 64 * len(buffers)


def assert_no_bits_after_rows(array):
    """Check that bitmaps that were read from a stream have no bits after those of the rows."""
    assert array.offset == 0
    is_bool = pa.types.is_boolean(array.type)
    for bitmap in filter(None, array.buffers()[: 2 if is_bool else 1]):
        bits = int.from_bytes(bitmap.to_pybytes(), "little")
        assert bits >> len(array) == 0, f"{array.type}: {bits:b} for {len(array)} rows"
    for child in children_of(array):
        assert_no_bits_after_rows(child)


def landed(batch):
    """Return a batch as it is after an import, without data under its nulls."""
    return pa.table([foreign.expected_import(column) for column in batch.columns], batch.schema)


@NOT_SLOW
@given(batches(), edits, st.data())
def test_write_stream_of_foreign_arrays_writes_only_their_rows(batch, edit, data):
    batch = cut(batch, data.draw(slices(len(batch))))
    assert check(cab.to_arrow_device(Producer(batch, edit))).equals(landed(batch))


@NOT_SLOW
@given(batches(), st.data())
def test_write_stream_of_sliced_columns_writes_only_their_rows(batch, data):
    steps = data.draw(slices(len(batch)))
    found = check(sliced_table(batch, steps))
    # Compare without the names of fields, which libcudf does not store.
    expected = [list(row.values()) for row in landed(cut(batch, steps)).to_pylist()]
    assert unnamed([list(row.values()) for row in found.to_pylist()]) == unnamed(expected)


@NOT_SLOW
@given(batches(), st.integers(1, 90), st.data())
def test_write_stream_of_sliced_frames_writes_only_their_rows(batch, max_rows, data):
    try:
        frame = cab.from_arrow_device(batch)
    except TypeError:
        reject()  # for example a time zone that cuDF does not know
    for start, size in data.draw(slices(len(batch))):
        frame = frame.iloc[start : start + size]
    assert check(frame, max_rows=max_rows, preserve_index=False).num_rows == len(frame)


@NOT_SLOW
@given(batches(), st.data())
def test_write_stream_of_sliced_messages_writes_only_their_rows(batch, data):
    """The batches share the body of a message and are sliced before they are written again."""
    (array,) = cab.ipc.open_stream(written(batch.schema, [batch]))
    part = cut(pa.record_batch(DeviceOnly(array)), data.draw(slices(len(batch))))
    assert check(cab.to_arrow_device(DeviceOnly(part))).equals(landed(part))
