# SPDX-License-Identifier: Apache-2.0
"""Test that schemas that contradict the specification or their arrays are rejected."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

from testing.broken import BATCH, check, child
from testing.peers.arrays import Producer, column_from, refused

FORMATS = [b"", b"?", b"d:", b"d:5", b"tsx:", b"+w", b"+", b"ll"]


@pytest.mark.parametrize("found", FORMATS, ids=repr)
def test_unknown_formats_are_rejected(found):
    def edit(schema, array):
        child(schema, 2).format = found

    check(edit, ValueError, "n")


def test_missing_format_is_rejected():
    def edit(schema, array):
        child(schema, 2).format = None

    check(edit, ValueError, "n")


def test_schema_with_fewer_children_than_its_array_is_rejected():
    def edit(schema, array):
        child(schema, 0).n_children = 0

    check(edit, ValueError, "orders")


@pytest.mark.parametrize(("path", "steps"), [("(top level)", ()), ("orders", (0,))])
def test_null_pointer_to_the_children_of_a_schema_is_rejected(path, steps):
    def edit(schema, array):
        child(schema, *steps).children = None

    check(edit, ValueError, path, "children of the schema, got a null pointer")


@pytest.mark.parametrize("path", ["orders[].price", "kind"])
@pytest.mark.parametrize("how", ["missing", "released"])
def test_schema_without_a_format_or_release_callback_is_rejected(path, how):
    def edit(schema, array):
        kind, price = child(schema, 1).dictionary.contents, child(schema, 0, 0, 1)
        struct = kind if path == "kind" else price
        if how == "released":
            struct.release = None
        else:
            struct.format = None

    producer = Producer(BATCH, edit)
    assert "schema" in refused(ValueError, producer, kind=None)
    assert (producer.releases, producer.schema_releases) == (1, 1)


@pytest.mark.parametrize("depth", [63, 64, 65, 200])
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
