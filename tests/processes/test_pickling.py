# SPDX-License-Identifier: Apache-2.0
"""Arrays of every type, and random arrays, are equal after every protocol of pickle."""

from __future__ import annotations

import copy
import pickle

import cudf
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.types import is_fixed_size_list

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cuda.streams import resolve_stream
from cudf_arrow_bridge.ipc import pickling
from cudf_arrow_bridge.ipc.encoder import MessageEncoder
from testing.exchange.pickles import (
    PICKLE_OPTIONS,
    adopted,
    batch_in,
    column_in,
    copied,
    pickle_out_of_band,
    pickle_round_trip,
    places,
    referred_of_batch,
)
from testing.host_frames import assert_same_object, frame, multi, numbers, series
from testing.ipc import samples
from testing.ipc.peers import has_type, polars_reads
from testing.ipc.random_batches import batches, sliced_table
from testing.ipc.samples import ALL_TYPES, UNUSUAL
from testing.labels import INDEXES
from testing.peers.arrays import Producer, assert_same
from testing.samples import cut
from testing.strategies import NOT_SLOW, edits, slices

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


def assert_batch(array, expected):
    found = batch_in(array)
    assert found.schema.equals(expected.schema, check_metadata=True), found.schema
    assert found.equals(expected), (found, expected)
    assert array.schema.equals(expected.schema, check_metadata=True)


@pytest.mark.parametrize("type_", ALL_TYPES)
def test_pickled_tables_of_every_type_are_equal(type_):
    """The tables are whole, sliced or without rows. pyarrow and polars read them."""
    batches = [samples.batch_of(type_), *samples.batches_of(type_)]
    arrays = adopted(batches[0].schema, batches)
    for array, batch in zip(arrays, batches, strict=True):
        for way in PICKLE_OPTIONS:
            found = pickle_round_trip(array, way)
            assert_batch(found, batch)
            assert found._kind == "table"
            # Polars fails on fixed-size lists without null rows, even on those of pyarrow.
            if polars_reads(batch.schema) and not has_type(batch.schema, is_fixed_size_list):
                assert pl.DataFrame(found).equals(pl.DataFrame(batch))


@pytest.mark.parametrize("type_", ALL_TYPES)
def test_pickled_slices_of_every_type_are_equal(type_):
    """Arrays of IPC messages keep layouts that cuDF lacks, such as run ends."""
    batch = samples.batch_of(type_)
    (array,) = adopted(batch.schema, [batch])
    for begin in range(0, len(batch), 5):
        for end in range(begin, len(batch) + 1, 9):
            assert_batch(pickle_round_trip(array[begin:end]), batch[begin:end])


@pytest.mark.parametrize("type_", ALL_TYPES)
def test_pickled_columns_of_every_type_are_equal(type_):
    batches = samples.batches_of(type_)
    for array, batch in zip(adopted(batches[0].schema, batches), batches, strict=True):
        for name in batch.schema.names:
            for way in PICKLE_OPTIONS:
                found = pickle_round_trip(array[name], way)
                assert found.schema.equals(batch.schema.field(name), check_metadata=True)
                assert_same(column_in(found), batch[name])
        assert_same(
            column_in(pickle_round_trip(array["struct"]["lists"])), batch["struct"].field("lists")
        )


@pytest.mark.parametrize("name", [name for name, (_, batches) in UNUSUAL.items() if batches])
def test_pickled_tables_keep_unusual_schemas(name):
    """The schemas have metadata, duplicate names, extension types and nested dictionaries."""
    schema, batches = UNUSUAL[name]
    for array, batch in zip(adopted(schema, batches), batches, strict=True):
        assert_batch(pickle_round_trip(array), batch)
        for i, column in enumerate(array.children):
            found = pickle_round_trip(column)
            assert found.schema.equals(schema.field(i), check_metadata=True)
            assert column_in(found).equals(batch.column(i))


def test_pickled_struct_columns_stay_columns():
    """A column of structs keeps its null rows, and its field if that is not nullable."""
    structs = pa.array([{"a": 1}, None, {"a": None}])
    found = pickle_round_trip(cab.to_arrow_device(structs))
    assert found.null_count == 1
    assert_same(column_in(found), structs)
    field = pa.field("s", structs.type, nullable=False, metadata={"k": "v"})
    batch = pa.record_batch([structs[:1]], schema=pa.schema([field]))
    (array,) = adopted(batch.schema, [batch])
    assert pickle_round_trip(array["s"]).schema.equals(field, check_metadata=True)
    assert pickle_round_trip(array["s"])._kind == "column"


def test_tables_with_null_rows_are_refused():
    structs = pa.array([{"a": 1}, None])
    table = cab.DeviceArray(
        cab.to_arrow_device(structs)._array, pa.field("", structs.type), "table"
    )
    with pytest.raises(ValueError, match=r"rows.*null"):
        pickle_round_trip(table)


@pytest.mark.parametrize("labels", INDEXES.values(), ids=INDEXES)
def test_pickled_frames_keep_their_labels(labels):
    columns = [numbers(start=10 * i) for i in range(len(labels))]
    index = multi([numbers(), numbers(start=5)], ["u", None])
    for source in (frame(columns, labels), frame(columns, labels, index)):
        found = pickle_round_trip(cab.to_arrow_device(source))
        assert_same_object(cab.from_arrow_device(found), source)


def test_pickled_batches_keep_their_part_of_the_index():
    source = frame({"a": numbers(7)}, index=cudf.RangeIndex(10, 24, 2))
    batches = list(cab.to_arrow_device_stream(source, max_rows=3))
    found = list(map(pickle_round_trip, batches))
    parts = [list(array.to_pandas().index) for array in found]
    assert parts == [[10, 12, 14], [16, 18, 20], [22]]
    for array, batch in zip(found, batches, strict=True):
        assert_same_object(cab.from_arrow_device(array), cab.from_arrow_device(batch))


@pytest.mark.parametrize("label", [frozenset("a"), range(3), pa.int8()], ids=str)
def test_labels_without_a_json_form_are_pickled(label):
    source = frame([numbers(), numbers(start=3)], pd.Index([label, "b"], dtype=object))
    array = cab.to_arrow_device(source)
    assert array._labels, "expected labels that the schema cannot hold, got none"
    for way in PICKLE_OPTIONS:
        back = cab.from_arrow_device(pickle_round_trip(array, way))
        assert_same_object(back, source)
        assert type(back.columns[0]) is type(label)


def test_pickled_series_keep_their_names():
    for source in (series(numbers(), ("a", 1)), series(numbers(), None)):
        assert_same_object(
            cab.from_arrow_device(pickle_round_trip(cab.to_arrow_device(source))), source
        )
    found = pickle_round_trip(cab.to_arrow_device(series(numbers(), "n")))
    assert found.to_pandas().equals(pd.Series([0, 1, 2], name="n"))


PACKED = {
    **{str(type_): samples.batches_of(type_) for type_ in samples.TYPES[::3]},
    **{name: batches for name, (_, batches) in UNUSUAL.items() if batches},
}


def packed(body):
    """Return the buffers of a body, each with zeros up to a multiple of 64 bytes."""
    return b"".join(
        bytes(buffer).ljust(-(-len(buffer) // 64) * 64, b"\0") for buffer in body.buffers()
    )


@pytest.mark.parametrize("name", PACKED)
def test_unpack_reads_packed_bodies(name):
    """Device memory needs packed bodies, which this test creates of host memory.

    Each body is one buffer, dictionaries first. Empty bodies are omitted.
    """
    batches = PACKED[name]
    for array, batch in zip(adopted(batches[0].schema, batches), batches, strict=True):
        encoder = MessageEncoder(array._arrow_schema, "table", resolve_stream(None))
        bodies = [message.body for message in encoder.encode(array._array)]
        buffers = [packed(body) for body in bodies if body.packed_size]
        assert [len(buffer) for buffer in buffers] == [
            body.packed_size for body in bodies if body.packed_size
        ]
        kind, device_type, _, *rest = pickling.pack(array)[0]
        found = pickling.unpack((kind, device_type, True, *rest), buffers)
        # `found` must not use the memory of the source.
        array.release()
        assert batch_in(found).equals(batch)


def check(array, way):
    """Check that an array is equal after pickling and copying, and that buffers are not moved."""
    expected = batch_in(array)
    data, buffers = pickle_out_of_band(array)
    for (found, size), (address, wanted) in zip(
        places(buffers), referred_of_batch(expected), strict=True
    ):
        assert size == wanted
        assert address in (found, None)
    given = copied(buffers)
    for back in (
        pickle.loads(data, buffers=given),
        pickle_round_trip(array, way),
        copy.deepcopy(array),
    ):
        found = batch_in(back)
        assert found.schema.equals(expected.schema, check_metadata=True)
        assert found.equals(expected)
    assert batch_in(pickle_round_trip(pickle.loads(data, buffers=given))).equals(expected)


ways = st.sampled_from([*PICKLE_OPTIONS])


@NOT_SLOW
@given(batches(), edits, ways, st.data())
def test_pickled_foreign_arrays_are_equal_and_not_copied(batch, edit, way, data):
    batch = cut(batch, data.draw(slices(len(batch))))
    check(cab.to_arrow_device(Producer(batch, edit)), way)


@NOT_SLOW
@given(batches(), ways, st.data())
def test_pickled_tables_of_sliced_columns_are_equal_and_not_copied(batch, way, data):
    check(cab.to_arrow_device(sliced_table(batch, data.draw(slices(len(batch))))), way)
