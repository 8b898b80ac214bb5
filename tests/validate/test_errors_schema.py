# SPDX-License-Identifier: Apache-2.0
"""Test that schemas that contradict the specification or their arrays are rejected."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.broken import BATCH, check, child
from testing.peers.arrays import DeviceOnly, Producer, column_from, refused

FORMATS = [b"", b"?", b"d:", b"d:5", b"tsx:", b"+w", b"+", b"ll", None]


@pytest.mark.parametrize("found", FORMATS, ids=repr)
def test_unknown_formats_are_rejected(found):
    def edit(schema, array):
        child(schema, 2).format = found

    check(edit, ValueError, "n")


COLUMNS = {
    pa.int32(): [1],
    pa.list_(pa.int32()): [[1]],
    pa.map_(pa.string(), pa.int32()): [[("key", 1)]],
    pa.dictionary(pa.int32(), pa.string()): ["x"],
}


@pytest.mark.parametrize("flags", [0, 1, 4, 6, 8, -1, 1 << 62], ids=hex)
@pytest.mark.parametrize("type_", COLUMNS, ids=str)
def test_flags_that_a_type_does_not_have_are_ignored_as_in_pyarrow(type_, flags):
    batch = pa.record_batch({"a": pa.array(COLUMNS[type_], type_)})

    def edited():
        return Producer(batch, lambda schema, array: set_flags(child(schema, 0)))

    def set_flags(field):
        field.flags = flags

    expected = pa.record_batch(edited())
    assert pa.record_batch(cab.to_arrow_device(edited())).schema == expected.schema
    frame = cab.from_arrow_device(edited())
    assert pa.record_batch(cab.to_arrow_device(frame)).schema.field("a") == expected.field("a")
    stream = cab.to_arrow_device_stream([edited(), DeviceOnly(expected), edited()])
    assert pa.table(stream).schema == expected.schema


def test_schema_with_fewer_children_than_its_array_is_rejected():
    def edit(schema, array):
        child(schema, 0).n_children = 0

    check(edit, ValueError, "orders")


@pytest.mark.parametrize(("path", "steps"), [("(top level)", ()), ("orders", (0,))])
def test_null_pointer_to_the_children_of_a_schema_is_rejected(path, steps):
    def edit(schema, array):
        child(schema, *steps).children = None

    check(edit, ValueError, path, "children of the schema, got a null pointer")


@pytest.mark.parametrize("is_dictionary", [False, True])
@pytest.mark.parametrize("member", ["format", "release"])
def test_schema_without_a_format_or_release_callback_is_rejected(is_dictionary, member):
    def edit(schema, array):
        price, kind = child(schema, 0, 0, 1), child(schema, 1).dictionary.contents
        setattr(kind if is_dictionary else price, member, None)

    producer = Producer(BATCH, edit)
    assert "schema" in refused(ValueError, producer, kind=None)
    assert (producer.releases, producer.schema_releases) == (1, 1)


@pytest.mark.parametrize("depth", [64, 65, 200])
def test_array_deeper_than_64_levels_is_rejected(depth):
    array = pa.array([1], pa.int8())
    for _ in range(depth):
        array = pa.StructArray.from_arrays([array], ["a"])
    producer = Producer(array)
    if depth <= 64:
        column_from(producer)
    else:
        assert "64 levels" in refused(ValueError, producer)
    gc.collect()
    assert (producer.releases, producer.schema_releases) == (1, 1)
