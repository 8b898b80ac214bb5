# SPDX-License-Identifier: Apache-2.0
"""Test that the cost of a table grows linearly with its columns, not with their square.

The tests count how often names are listed or compared, for some columns and for twice as many.
"""

import tracemalloc

import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.frames.layout import decode_schema
from cudf_arrow_bridge.frames.selected_columns import selected_positions

FEW, MANY = 100, 200


class CountingSchema:
    """A schema that counts how often its names are listed; a listing reads each column."""

    def __init__(self, schema):
        self.schema, self.listings = schema, 0

    @property
    def names(self):
        self.listings += 1
        return self.schema.names

    def __len__(self):
        return len(self.schema)

    def __iter__(self):
        return iter(self.schema)

    def __getattr__(self, name):
        return getattr(self.schema, name)


def names(count, start="c"):
    return [f"{start}{i}" for i in range(count)]


def table(count):
    return pa.table([pa.array([1])] * count, names=names(count))


def frame_schema(count):
    return pa.schema(cab.to_arrow_device(cab.from_arrow_device(table(count))).schema)


def pandas_schema(count):
    frame = pd.DataFrame([[1] * count], columns=pd.MultiIndex.from_product([["a"], names(count)]))
    return pa.Table.from_pandas(frame).schema


def renamed(schema):
    fields = [field.with_name(f"new {field.name}") for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


@pytest.mark.parametrize(
    "make_schema",
    [
        lambda count: table(count).schema,
        frame_schema,
        pandas_schema,
        lambda count: renamed(frame_schema(count)),
        lambda count: renamed(pandas_schema(count)),
    ],
    ids=["plain", "exported", "pandas", "exported renamed", "pandas renamed"],
)
def test_decode_schema_lists_the_names_a_fixed_number_of_times(make_schema):
    schemas = [CountingSchema(make_schema(count)) for count in (FEW, MANY)]
    layouts = [decode_schema(schema) for schema in schemas]
    assert [len(layout.labels) for layout in layouts] == [FEW, MANY]
    assert schemas[0].listings == schemas[1].listings <= 6


def test_selected_positions_lists_the_names_once():
    for count in (FEW, MANY):
        schema = CountingSchema(table(count).schema)
        selected_positions(names(count), schema)
        assert schema.listings == 1


@pytest.mark.parametrize("key", ["c1", 1])
def test_memory_of_reading_one_column_does_not_depend_on_the_number_of_columns(key):
    array = cab.to_arrow_device(table(2_000))
    structs = cab.to_arrow_device(array.to_arrow().to_struct_array())
    for source in (array, structs):
        source[key]  # converts the schema
        tracemalloc.start()
        column = source[key]
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert column.to_pylist() == [1]
        assert peak < 10_000


def test_two_level_labels_of_a_frame_are_kept_after_a_column_is_appended():
    labels = pd.MultiIndex.from_tuples([("a", "c0"), ("a", "c1")])
    frame = cab.from_arrow_device(pa.Table.from_pandas(pd.DataFrame([[1, 2]], columns=labels)))
    crossed = pa.record_batch(cab.to_arrow_device(frame)).append_column("new", pa.array([3]))
    assert cab.from_arrow_device(crossed).columns.tolist() == [("a", "c0"), ("a", "c1"), "new"]
