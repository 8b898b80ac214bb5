# SPDX-License-Identifier: Apache-2.0
"""Test round trips: pyarrow reads the values, types and names that were imported."""

from __future__ import annotations

import nanoarrow
import nanoarrow.device
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import samples
from testing.peers.arrays import (
    Capsules,
    DeviceOnly,
    HostOnly,
    Producer,
    assert_same,
    column_from,
    forget_null_counts,
    read,
    refused,
)

ALL_TYPES = [*samples.TYPES, *samples.PARAMETRIC]


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("type_", ALL_TYPES, ids=str)
def test_round_trip_of_arrays_keeps_types_and_values(type_, nulls):
    for size in (0, 1, samples.MANY):
        array = samples.values(type_, size, nulls)
        for edit in (None, forget_null_counts):
            assert_same(read(bridge.to_arrow_device(Producer(array, edit))), array)


@pytest.mark.parametrize("nulls", samples.NULLS)
def test_round_trip_of_batches_keeps_schema_and_values(nulls):
    fields = [
        pa.field(f"the {type_}", type_, metadata={"key": str(i)})
        for i, type_ in enumerate(ALL_TYPES)
    ]
    schema = pa.schema(fields, metadata={"of": "the schema"})
    columns = [samples.values(type_, samples.MANY, nulls) for type_ in ALL_TYPES]
    batch = pa.record_batch(columns, schema)
    for part in (batch, batch.slice(33, 65), batch.slice(7, 0)):
        back = pa.record_batch(DeviceOnly(bridge.to_arrow_device(DeviceOnly(part))))
        back.validate(full=True)
        assert back.schema.equals(schema, check_metadata=True)
        assert back.equals(part)


def test_export_keeps_fields_non_nullable():
    schema = pa.schema([pa.field("a", pa.int8(), nullable=False)])
    exported = bridge.to_arrow_device(pa.record_batch([[1, 2]], schema))
    assert exported.schema.equals(schema)


def test_round_trip_keeps_duplicate_and_unicode_names():
    batch = pa.RecordBatch.from_arrays([pa.array([1])] * 4, ["", "x", "x", "żółw 🐢"])
    assert pa.record_batch(bridge.to_arrow_device(batch)).equals(batch)


@pytest.mark.parametrize("type_", samples.TYPES, ids=str)
def test_import_of_a_device_array_keeps_the_column(type_):
    array = samples.values(type_, samples.MANY, "some")
    column = column_from(array)
    again = bridge.from_arrow_device(bridge.to_arrow_device(column), to="pylibcudf")
    assert isinstance(again, plc.Column)
    assert_same(read(bridge.to_arrow_device(again)), array)


def test_export_of_a_device_array_returns_the_same_object():
    exported = bridge.to_arrow_device(column_from(pa.array([1])))
    assert bridge.to_arrow_device(exported) is exported


STRUCT = pa.array([{"a": 1}, {"a": None}], pa.struct([("a", pa.int8())]))
BATCH = pa.RecordBatch.from_struct_array(STRUCT)


KINDS = [
    pytest.param(BATCH, plc.Table, id="a batch of pyarrow"),
    pytest.param(STRUCT, plc.Column, id="a struct array of pyarrow"),
    pytest.param(DeviceOnly(BATCH), plc.Table, id="some record batch"),
    pytest.param(DeviceOnly(STRUCT), plc.Column, id="some struct array"),
    pytest.param(HostOnly(BATCH), plc.Table, id="a record batch on the host"),
    pytest.param(HostOnly(STRUCT), plc.Column, id="a struct array on the host"),
    pytest.param(nanoarrow.device.c_device_array(BATCH), plc.Table, id="a batch of nanoarrow"),
    pytest.param(nanoarrow.device.c_device_array(STRUCT), plc.Column, id="nanoarrow's struct"),
    pytest.param(DeviceOnly(pa.array([1])), plc.Column, id="no struct"),
]


@pytest.mark.parametrize(("source", "expected"), KINDS)
def test_kind_follows_the_schema(source, expected):
    assert isinstance(bridge.from_arrow_device(source, to="pylibcudf"), expected)


@pytest.mark.parametrize("source", [STRUCT, BATCH], ids=["struct array", "record batch"])
@pytest.mark.parametrize(("kind", "expected"), [("table", plc.Table), ("column", plc.Column)])
def test_kind_option_overrides_the_schema(source, kind, expected):
    assert isinstance(
        bridge.from_arrow_device(DeviceOnly(source), to="pylibcudf", kind=kind), expected
    )


def test_table_objects_with_a_nullable_schema_are_imported_as_tables():
    """pylibcudf's tables set the nullable flag of their schema, as struct arrays do."""
    column = column_from(pa.array([1, 2]))
    exported = bridge.to_arrow_device(plc.Table([column]))
    assert isinstance(bridge.from_arrow_device(exported, to="pylibcudf"), plc.Table)

    class FlaggedTable(plc.Table):
        def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
            return STRUCT.__arrow_c_device_array__()

    table = FlaggedTable([column])
    assert isinstance(bridge.from_arrow_device(table, to="pylibcudf"), plc.Table)
    assert isinstance(bridge.from_arrow_device(DeviceOnly(table), to="pylibcudf"), plc.Column)


@pytest.mark.parametrize("nulls", [[True, False], [False, True]])
@pytest.mark.parametrize("edit", [None, forget_null_counts])
def test_batch_with_nulls_at_the_top_level_is_rejected(nulls, edit):
    """Nulls at the top level do not change the kind from a table to a column."""
    struct = pa.StructArray.from_arrays([STRUCT.field(0)], ["a"], mask=pa.array(nulls))
    array = Producer(struct, edit)
    source = Capsules(BATCH.schema.__arrow_c_schema__(), array.__arrow_c_device_array__()[1])
    assert 'kind="column"' in refused(ValueError, source, kind=None)


def test_nulls_outside_the_slice_are_ignored():
    mask = pa.array([True, False, False])
    struct = pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["a"], mask=mask).slice(1)
    table = bridge.from_arrow_device(
        Producer(struct, forget_null_counts), to="pylibcudf", kind="table"
    )
    assert read(bridge.to_arrow_device(table.columns()[0])).to_pylist() == [2, 3]


@pytest.mark.parametrize("options", [{"kind": "frame"}, {"to": "pandas"}], ids=str)
def test_invalid_options_are_rejected(options):
    (value,) = options.values()
    assert repr(value) in refused(ValueError, DeviceOnly(BATCH), **options)


def test_array_other_than_a_struct_is_rejected_as_a_table():
    assert "int64" in refused(ValueError, DeviceOnly(pa.array([1])), kind="table")
