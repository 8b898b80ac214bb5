# SPDX-License-Identifier: Apache-2.0
"""pylibcudf columns are exported with the Arrow fields that they were imported with."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.broken import child
from testing.host import to_plc
from testing.peers.arrays import struct_of
from testing.samples import cut_column

DAY = dt.date(2024, 2, 29)
NOON = dt.time(12, 30, 5)

COLUMNS = {
    "date64": pa.array([DAY, None, DAY], pa.date64()),
    "null": pa.nulls(3),
    "empty strings": pa.array(["", None, ""]),
    "list of other names": pa.array(
        [[1], None, []], pa.list_(pa.field("element", pa.int32(), metadata={"a": "b"}))
    ),
    "map": pa.array([[("a", b"x")], None, []], pa.map_(pa.string(), pa.binary())),
    "struct": pa.array(
        [{"day": DAY, "in": {"at": NOON}}, None, {"day": None, "in": None}],
        pa.struct([("day", pa.date32()), ("in", pa.struct([("at", pa.time64("us"))]))]),
    ),
    "struct without nulls": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}] * 2),
    "dictionary of structs": pa.DictionaryArray.from_arrays(
        pa.array([0, 1], pa.int8()), pa.array([{"a": DAY}, {"a": None}])
    ),
}
CASES = pytest.mark.parametrize("array", COLUMNS.values(), ids=COLUMNS.keys())


def imported(obj):
    return cab.from_arrow_device(obj, to="pylibcudf")


def batch_of(array, **options):
    return pa.record_batch([array], schema=pa.schema([pa.field("x", array.type, **options)]))


def exported(table):
    """Export a table; return the batch that pyarrow reads and validates."""
    batch = pa.record_batch(cab.to_arrow_device(table))
    batch.validate(full=True)
    return batch


def field_of(column):
    """Export a column; return its field."""
    return pa.field(cab.to_arrow_device(column).schema)


@CASES
def test_round_trip_of_a_stream_keeps_the_fields(array):
    batch = batch_of(array, metadata={"k": "v"})
    for batches in ([batch], [batch, batch]):
        reader = pa.RecordBatchReader.from_batches(batch.schema, batches)
        together = exported(cab.from_arrow_device_stream(reader, to="pylibcudf"))
        assert together.schema.equals(batch.schema, check_metadata=True)
        assert together.to_pylist() == batch.to_pylist() * len(batches)
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch.slice(0, 0)])
    parts = cab.from_arrow_device_stream(reader, to="pylibcudf", concat=False)
    again = pa.table(cab.to_arrow_device_stream(parts))
    assert again.schema.equals(batch.schema, check_metadata=True)


def cut(column, begin, end):
    """Slice like libcudf: with another offset over the same spans."""
    rows = pa.array(cab.to_arrow_device(column))
    return cut_column(
        column, [(begin, end - begin)], lambda start, size: rows.slice(start, size).null_count
    )


@CASES
def test_export_of_a_slice_keeps_the_imported_field(array):
    batch = batch_of(array, metadata={"k": "v"})
    (column,) = imported(batch).columns()
    assert field_of(column).equals(batch.schema.field(0), check_metadata=True)
    found = exported(plc.Table([cut(column, 1, column.size())]))
    assert found.schema.equals(batch.schema, check_metadata=True)
    assert found["x"].to_pylist() == array.slice(1).to_pylist()


def test_export_of_a_child_keeps_the_field_of_the_child():
    (column,) = imported(batch_of(COLUMNS["struct"])).columns()
    day, inner = column.children()
    assert field_of(day).equals(pa.field("day", pa.date32()))
    assert field_of(inner.child(0)).equals(pa.field("at", pa.time64("us")))
    assert exported(plc.Table([inner, day])).schema.names == ["in", "day"]
    (lists,) = imported(batch_of(COLUMNS["list of other names"])).columns()
    assert field_of(lists.child(1)).name == "element"
    # The offsets have no imported field.
    assert field_of(lists.child(0)).equals(pa.field("", pa.int32()))


def test_round_trip_keeps_struct_fields_with_one_name():
    array = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert exported(imported(batch_of(array)))["x"].equals(array)


def test_export_numbers_all_columns_if_one_has_no_imported_name():
    days = imported(pa.record_batch([pa.array([DAY]), pa.array([NOON])], ["a", "b"])).columns()
    other = imported(pa.record_batch([pa.array([b"x"])], ["a"])).columns()
    computed = to_plc(pa.array([1]))
    for columns, names in (
        (days, ["a", "b"]),
        ([days[1], days[0]], ["b", "a"]),
        ([days[0], computed], ["0", "1"]),
        ([days[0], *other], ["a", "a"]),
        ([days[1], *other], ["b", "a"]),
        ([computed], ["0"]),
        ([imported(pa.array([DAY]))], ["0"]),
    ):
        found = exported(plc.Table(columns))
        assert found.schema.names == names
    assert exported(plc.Table([days[0], computed])).schema.types == [pa.date32(), pa.int64()]


def test_values_of_a_dictionary_without_a_field_have_no_name():
    column = to_plc(pa.array(["x", "y"]).dictionary_encode())
    with_fields = imported(pa.record_batch({"b": [1, 2]})).columns()
    for table in (plc.Table([column]), plc.Table([column, *with_fields])):
        schema, _ = cab.to_arrow_device(table).__arrow_c_device_array__()
        field = child(struct_of(schema), 0)
        assert (field.name, field.dictionary.contents.name) == (b"0", b"")


def test_struct_with_other_children_loses_its_imported_field():
    (column,) = imported(batch_of(COLUMNS["struct without nulls"])).columns()
    first, second = column.children()

    def struct(*children):
        return plc.Column(plc.DataType(plc.TypeId.STRUCT), first.size(), None, None, 0, 0, children)

    assert field_of(struct(first, second)).name == ""
    assert [f.name for f in field_of(struct(second, first)).type] == ["b", "a"]
    assert [f.name for f in field_of(struct(second, second)).type] == ["b", "b"]
    computed = to_plc(pa.array([1.5] * first.size()))
    assert [f.name for f in field_of(struct(first, computed)).type] == ["0", "1"]


def test_list_with_other_elements_is_exported_with_their_type():
    (column,) = imported(batch_of(COLUMNS["list of other names"])).columns()
    offsets, _ = column.children()
    elements = to_plc(pa.array([1.5]))
    made = plc.Column(column.type(), 3, None, column.null_mask(), 1, 0, [offsets, elements])
    assert field_of(made).equals(pa.field("x", pa.list_(pa.float64())))


def test_column_of_another_type_over_imported_memory_keeps_its_type():
    (column,) = imported(batch_of(COLUMNS["date64"])).columns()
    numbers = plc.Column(
        plc.DataType(plc.TypeId.INT64), 3, column.data(), column.null_mask(), 1, 0, []
    )
    assert field_of(numbers).equals(pa.field("", pa.int64()))


def test_two_imports_of_one_buffer_keep_their_fields():
    numbers = pa.array([1, 2])
    one = imported(pa.record_batch([numbers], ["a"]))
    two = imported(pa.record_batch([numbers.view(pa.timestamp("s", "UTC"))], ["b"]))
    three = imported(cab.to_arrow_device(one))
    assert [c.data().ptr for (c,) in (one.columns(), two.columns())] == [
        numbers.buffers()[1].address
    ] * 2
    assert exported(one).schema.equals(pa.schema([("a", pa.int64())]))
    assert exported(two).schema.equals(pa.schema([("b", pa.timestamp("s", "UTC"))]))
    assert exported(three).schema.equals(exported(one).schema)


def test_non_nullable_column_is_exported_as_nullable_if_it_has_nulls():
    batch = batch_of(pa.array([1, 2]), nullable=False)
    (column,) = imported(batch).columns()
    assert exported(plc.Table([column])).schema.equals(batch.schema)
    mask = to_plc(pa.array([1, None])).null_mask()
    # The exports alternate, because each column must have its own schema.
    for _ in range(2):
        found = exported(plc.Table([column.with_mask(mask, 1)]))
        assert found.schema.field(0).nullable
        assert found["x"].to_pylist() == [1, None]
        assert exported(plc.Table([column])).schema.equals(batch.schema)


#: A struct with required fields, one of them a struct with a required field.
REQUIRED = pa.struct(
    [
        pa.field("n", pa.int64(), nullable=False),
        pa.field("in", pa.struct([pa.field("s", pa.string(), nullable=False)]), nullable=False),
    ]
)


def required_rows(mask):
    inner_type = REQUIRED.field("in").type
    inner = pa.StructArray.from_arrays(
        [pa.array(["s"] * len(mask), pa.string())], fields=list(inner_type)
    )
    return pa.StructArray.from_arrays(
        [pa.array(range(len(mask)), pa.int64()), inner],
        fields=list(REQUIRED),
        mask=pa.array(mask, pa.bool_()),
    )


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
def test_non_nullable_fields_of_null_structs_stay_non_nullable(to):
    masks = [[False] * 3, [True, False, True], [True] * 2, [True, True, False], []]
    batches = [batch_of(required_rows(mask)) for mask in masks]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    parts = list(cab.from_arrow_device_stream(reader, to=to, concat=False))
    for part, batch in zip(parts, batches, strict=True):
        found = exported(part)
        assert found["x"].type == REQUIRED
        assert found["x"].to_pylist() == batch["x"].to_pylist()
    again = pa.table(cab.to_arrow_device_stream(parts))
    assert again.schema.field("x").type == REQUIRED


def test_non_nullable_fields_of_a_sliced_struct_stay_non_nullable():
    (column,) = imported(batch_of(required_rows([True, False, False, True]))).columns()
    for begin, end in ((0, 2), (1, 3), (2, 4), (0, 4)):
        assert exported(plc.Table([cut(column, begin, end)])).column(0).type == REQUIRED


def test_non_nullable_field_of_a_struct_is_nullable_if_it_has_own_nulls():
    (column,) = imported(batch_of(required_rows([True, False, False]))).columns()
    (values, inner) = column.children()
    mask = to_plc(pa.array([None, None, 1])).null_mask()
    for _ in range(2):
        children = [values.with_mask(mask, 2), inner]
        edited = plc.Column(column.type(), 3, None, column.null_mask(), 1, 0, children)
        found = exported(plc.Table([edited])).column(0)
        assert [field.nullable for field in found.type] == [True, False]
        below = {"s": "s"}
        assert found.to_pylist() == [None, {"n": None, "in": below}, {"n": 2, "in": below}]
        # The schema of the other column is not used.
        assert exported(plc.Table([column]))["x"].type == REQUIRED


def test_requested_schema_overrides_the_imported_field():
    table = imported(batch_of(COLUMNS["date64"]))
    requested = pa.schema([("y", pa.timestamp("ms"))])
    assert pa.schema(cab.to_arrow_device(table, requested_schema=requested).schema) == requested


def test_export_distinguishes_more_schemas_than_are_cached():
    """The cache keeps fewer schemas."""
    tables = [imported(pa.record_batch([pa.array([DAY])], [f"column {i}"])) for i in range(100)]
    for _ in range(2):
        assert [exported(t).schema.names for t in tables] == [[f"column {i}"] for i in range(100)]


def test_imported_fields_outlive_the_importer():
    """The key of a cached schema must differ from that of a later import."""
    for i in range(200):
        batch = pa.record_batch([pa.array([i]), pa.array([DAY])], [f"a{i}", f"b{i}"])
        assert exported(imported(batch)).schema.names == batch.schema.names


def test_pylibcudf_round_trip_does_not_import_cudf():
    code = """
import sys, pyarrow as pa, cudf_arrow_bridge as cab
batch = pa.record_batch([pa.array([{"a": 1}])], ["x"])
for options in ({}, {"columns": ["x"]}):
    table = cab.from_arrow_device(batch, to="pylibcudf", **options)
    assert pa.record_batch(cab.to_arrow_device(table)).schema == batch.schema
assert "cudf" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("names", [["", "b"], ["a", "a"], ["", ""], ["a", ""]])
def test_round_trip_keeps_empty_and_repeated_names(names):
    table = imported(pa.record_batch([pa.array([1]), pa.array(["x"])], names))
    assert exported(table).schema.names == names
    stream = cab.to_arrow_device_stream([table, table])
    again = cab.from_arrow_device_stream(stream, to="pylibcudf")
    assert exported(again).schema.names == names
