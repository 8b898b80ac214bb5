# SPDX-License-Identifier: Apache-2.0
"""Objects with the same labels and dtypes share a schema; all others have their own."""

from __future__ import annotations

import weakref

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.import_.array_importer import importer_of
from cudf_arrow_bridge._core.schema import SchemaSpec, cache_spec, cached_spec
from cudf_arrow_bridge.ipc.metadata import read_schema, schema_message
from testing.host_frames import column, frame, index, numbers, series
from testing.peers.arrays import DeviceOnly

STRINGS = pa.array(["a", None, "b"])
#: The number of entries of the cache of specs.
MAX_SPECS = 48


def labelled(labels):
    return frame([numbers()], labels)


def imported(field, array=None):
    array = pa.array([1, 2, 3], field.type) if array is None else array
    return cab.from_arrow_device(DeviceOnly(pa.record_batch([array], pa.schema([field]))))


def with_range(*span, name=None):
    count = len(range(*span))
    return frame({"a": numbers(count)}, index=cudf.RangeIndex(*span, name=name))


def with_attrs():
    made = frame({"a": numbers()})
    made.attrs = {"k": 1}
    return made


#: Frames whose schemas differ in one detail.
FRAMES = {
    "plain": lambda: frame({"a": numbers()}),
    "another name": lambda: frame({"b": numbers()}),
    "two columns": lambda: frame({"a": numbers(), "b": numbers()}),
    "none": lambda: frame({}),
    "another dtype": lambda: frame({"a": column(pa.array([1, 2, 3]), pd.Int64Dtype())}),
    "another type": lambda: frame({"a": column(pa.array([1.5, 2, 3]), np.dtype("float64"))}),
    "strings": lambda: frame({"a": column(STRINGS, pd.StringDtype(na_value=np.nan))}),
    "strings of objects": lambda: frame({"a": column(STRINGS, np.dtype("object"))}),
    "large strings": lambda: imported(pa.field("a", pa.large_string()), STRINGS.cast("large_utf8")),
    "times": lambda: imported(pa.field("a", pa.timestamp("ms"))),
    "zoned times": lambda: imported(pa.field("a", pa.timestamp("ms", "Europe/Paris"))),
    "dates": lambda: imported(pa.field("a", pa.date32())),
    "decimals": lambda: imported(pa.field("a", pa.decimal128(9, 2))),
    "wider decimals": lambda: imported(pa.field("a", pa.decimal128(12, 2))),
    "categories": lambda: imported(
        pa.field("a", pa.dictionary(pa.int8(), pa.string())),
        STRINGS.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    ),
    "lists": lambda: imported(
        pa.field("a", pa.list_(pa.field("x", pa.int8()))),
        pa.array([[1], None, []], pa.list_(pa.field("x", pa.int8()))),
    ),
    "not nullable": lambda: imported(pa.field("a", pa.int64(), nullable=False)),
    "metadata": lambda: imported(pa.field("a", pa.int64(), metadata={"k": "v"})),
    "other metadata": lambda: imported(pa.field("a", pa.int64(), metadata={"k": "w"})),
    "named labels": lambda: labelled(pd.Index(["a"], name="n")),
    "object labels": lambda: labelled(pd.Index(["a"], dtype=object)),
    "a number as label": lambda: labelled(pd.Index([1], dtype=object)),
    "a bool as label": lambda: labelled(pd.Index([True], dtype=object)),
    "numbers as labels": lambda: labelled(pd.Index([0])),
    "a range as labels": lambda: labelled(pd.RangeIndex(1)),
    "another range": lambda: with_range(1, 4),
    "a named range": lambda: with_range(0, 3, name="n"),
    "no rows": lambda: with_range(0, 0),
    "no rows, elsewhere": lambda: with_range(3, 3),
    "an index": lambda: frame({"a": numbers()}, index=cudf.Index._from_column(numbers())),
    "a named index": lambda: frame(
        {"a": numbers()}, index=cudf.Index._from_column(numbers(), name="n")
    ),
    "attrs": with_attrs,
}


def clear_cache():
    """Replace all entries of the cache of specs."""
    for _ in range(MAX_SPECS):
        cache_spec(object(), SchemaSpec([], {}), None)


def schema_of(obj):
    return cab.to_arrow_device(obj).schema


def schemas_alone(makers):
    """Return the schema of each object, which is the same with and without cached schemas."""
    made = {name: make() for name, make in makers.items()}
    alone = {}
    for name, obj in made.items():
        clear_cache()
        alone[name] = schema_of(obj)
    for _ in range(2):
        for name, obj in made.items():
            assert schema_of(obj).equals(alone[name], check_metadata=True), name
    return alone.values()


def test_frames_that_differ_in_one_detail_have_different_schemas():
    schemas = schemas_alone(FRAMES)
    assert len({schema.serialize().to_pybytes() for schema in schemas}) == len(FRAMES)


#: Frames without a cache key: their schema depends on data, or equal labels may differ in type.
UNSHARED = ["none", "categories", "lists", "attrs", "object labels", "numbers as labels"]
UNSHARED += ["a number as label", "a bool as label"]


#: Series and indexes whose schemas differ in one detail.
ARRAYS = {
    "plain": lambda: series(numbers()),
    "named": lambda: series(numbers(), "n"),
    "another name": lambda: series(numbers(), "o"),
    "an index": lambda: index(numbers(), "i"),
    "another dtype": lambda: series(column(pa.array([1, 2, 3]), pd.Int64Dtype())),
    "another type": lambda: series(column(pa.array([1.5, 2, 3]), np.dtype("float64"))),
    "strings of objects": lambda: series(column(STRINGS, np.dtype("object"))),
    "zoned times": lambda: imported(pa.field("t", pa.timestamp("ms", "Europe/Paris")))["t"],
    "dates": lambda: imported(pa.field("d", pa.date32()))["d"],
    "not nullable": lambda: imported(pa.field("a", pa.int64(), nullable=False))["a"],
    "metadata": lambda: imported(pa.field("a", pa.int64(), metadata={"k": "v"}))["a"],
    "another range": lambda: series(numbers(), index=cudf.RangeIndex(1, 4)),
    "a wider range": lambda: series(numbers(), index=cudf.RangeIndex(0, 6, 2)),
    "a named range": lambda: series(numbers(), index=cudf.RangeIndex(3, name="n")),
    "a number as name": lambda: series(numbers(), 1),
    "a bool as name": lambda: series(numbers(), True),
    "categories": lambda: FRAMES["categories"]()["a"],
}


def test_series_that_differ_in_one_detail_have_different_schemas():
    fields = schemas_alone(ARRAYS)
    written = {pa.schema([field]).serialize().to_pybytes() for field in fields}
    assert len(written) == len(ARRAYS)


CACHED = [make for name, make in FRAMES.items() if name not in UNSHARED]


@pytest.mark.parametrize("make", [*CACHED, *list(ARRAYS.values())[:-3]])
def test_equal_objects_share_a_cached_schema(make):
    first, second = (cab.to_arrow_device(make()) for _ in range(2))
    assert first._arrow_schema is second._arrow_schema
    assert first.schema.equals(second.schema, check_metadata=True)


def test_column_with_nulls_is_exported_as_nullable():
    field = pa.field("a", pa.int64(), nullable=False)
    clean = imported(field)
    assert not schema_of(clean).field("a").nullable
    spoiled = imported(field, pa.array([1, None, 3]))
    assert schema_of(spoiled).field("a").nullable
    assert not schema_of(clean).field("a").nullable


def test_exported_schema_has_the_changed_name_of_the_labels():
    obj = frame({"a": numbers()})
    labels = obj.columns
    before = schema_of(obj)
    labels.name = "n"
    assert labels is obj.columns
    after = schema_of(obj)
    assert before.pandas_metadata["column_indexes"][0]["name"] is None
    assert after.pandas_metadata["column_indexes"][0]["name"] == "n"


#: Fields that differ in one detail, at the top level or below.
FIELDS = [
    pa.field("a", pa.int64()),
    pa.field("b", pa.int64()),
    pa.field("", pa.int64()),
    pa.field("a", pa.int64(), nullable=False),
    pa.field("a", pa.int64(), metadata={"k": "v"}),
    pa.field("a", pa.int64(), metadata={"k": "w"}),
    pa.field("a", pa.int64(), metadata={"k": "vv"}),
    pa.field("a", pa.int64(), metadata={"k": "v", "l": "v"}),
    pa.field("a", pa.float64()),
    pa.field("a", pa.timestamp("s")),
    pa.field("a", pa.timestamp("s", "UTC")),
    pa.field("a", pa.struct([pa.field("x", pa.int64())])),
    pa.field("a", pa.struct([pa.field("y", pa.int64())])),
    pa.field("a", pa.struct([pa.field("x", pa.int64(), nullable=False)])),
    pa.field("a", pa.struct([pa.field("x", pa.int64(), metadata={"k": "v"})])),
    pa.field("a", pa.list_(pa.field("x", pa.int64()))),
    pa.field("a", pa.list_(pa.field("y", pa.int64()))),
    pa.field("a", pa.dictionary(pa.int8(), pa.string())),
    pa.field("a", pa.dictionary(pa.int8(), pa.string(), ordered=True)),
    pa.field("a", pa.dictionary(pa.int8(), pa.large_string())),
]


SCHEMAS = [
    *(pa.schema([f], metadata=metadata) for f in FIELDS for metadata in (None, {"k": "v"})),
    *(pa.schema(FIELDS[:2]), pa.schema([])),
]


def test_export_distinguishes_the_schemas_of_peers():
    for schema in SCHEMAS * 2:
        batch = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
        found = cab.to_arrow_device(DeviceOnly(batch)).schema
        assert found.equals(schema, check_metadata=True)


def test_importer_cache_distinguishes_schemas():
    """The test uses more schemas than the cache keeps, in both orders."""
    for schema in [*SCHEMAS, *reversed(SCHEMAS)] * 2:
        importer = importer_of(schema.__arrow_c_schema__())
        assert pa.schema(importer.schema).equals(schema, check_metadata=True)
        assert importer_of(schema.__arrow_c_schema__()) is importer


def test_cache_of_specs_removes_the_oldest_entry():
    clear_cache()
    specs = [SchemaSpec([], {}) for _ in range(MAX_SPECS + 1)]
    for number, spec in enumerate(specs):
        cache_spec(["a key", number], spec, None)
    assert cached_spec(["a key", 0]) is None
    assert all(cached_spec(["a key", i]) is specs[i] for i in range(1, len(specs)))


def test_cache_of_specs_keeps_objects_alive_with_their_entry():
    owner = column(pa.array([1]), np.dtype("int64"))
    alive = weakref.ref(owner)
    cache_spec("a key", SchemaSpec([], {}), owner)
    del owner
    assert alive() is not None
    clear_cache()
    assert alive() is None


def test_requested_schema_applies_to_one_export_only():
    obj = frame({"a": numbers()})
    wanted = pa.schema([("z", pa.int64())])
    assert cab.to_arrow_device(obj, requested_schema=wanted).schema.names == ["z"]
    assert schema_of(obj).names == ["a"]
    assert cab.to_arrow_device(obj, requested_schema=wanted).schema.names == ["z"]


def test_name_of_the_labels_of_a_cached_schema_can_change():
    """The names of a pandas Index are mutable, and a comparison with NA has no truth value."""
    one, other = (frame({"a": numbers()}) for _ in range(2))
    for each in one, other:
        each.columns = pd.Index(["a"], name="k", dtype="str")
    cab.to_arrow_device(one)
    one.columns.name = pd.NA
    assert cab.to_arrow_device(other).schema.names == ["a"]


def test_large_schema_messages_are_not_cached():
    for size, is_cached in ((1 << 19, True), (1 << 20, False)):
        data = schema_message(pa.schema({"a": pa.int64()}, metadata={"k": "v" * size}))
        assert (read_schema(data) is read_schema(data)) == is_cached
