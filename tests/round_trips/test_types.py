# SPDX-License-Identifier: Apache-2.0
"""Test round trips of arrays of every type and of random arrays: pyarrow reads what it exported."""

from __future__ import annotations

from itertools import product

import nanoarrow
import nanoarrow.device
import pyarrow as pa
import pylibcudf as plc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from testing import foreign, host, samples
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
from testing.samples import cut, cut_column
from testing.strategies import NOT_SLOW, arrays, edits, has_unsigned_indices, signed, slices
from testing.views import string_view

ALL_TYPES = [*samples.TYPES, *samples.PARAMETRIC]


@pytest.mark.parametrize("type_", ALL_TYPES, ids=str)
def test_round_trip_of_arrays_keeps_types_and_values(type_):
    for size, nulls in product((0, 1, samples.MANY), samples.NULLS):
        array = samples.values(type_, size, nulls)
        for edit in (None, forget_null_counts):
            assert_same(read(cab.to_arrow_device(Producer(array, edit))), array)


def test_export_of_a_device_array_returns_the_same_object():
    exported = cab.to_arrow_device(column_from(pa.array([1])))
    assert cab.to_arrow_device(exported) is exported


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
    assert isinstance(cab.from_arrow_device(source, to="pylibcudf"), expected)


@pytest.mark.parametrize("source", [STRUCT, BATCH], ids=["struct array", "record batch"])
@pytest.mark.parametrize(("kind", "expected"), [("table", plc.Table), ("column", plc.Column)])
def test_kind_option_overrides_the_schema(source, kind, expected):
    assert isinstance(
        cab.from_arrow_device(DeviceOnly(source), to="pylibcudf", kind=kind), expected
    )


def test_table_objects_with_a_nullable_schema_are_imported_as_tables():
    """pylibcudf's tables set the nullable flag of their schema, as struct arrays do."""
    column = column_from(pa.array([1, 2]))
    exported = cab.to_arrow_device(plc.Table([column]))
    assert isinstance(cab.from_arrow_device(exported, to="pylibcudf"), plc.Table)

    class FlaggedTable(plc.Table):
        def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
            return STRUCT.__arrow_c_device_array__()

    table = FlaggedTable([column])
    assert isinstance(cab.from_arrow_device(table, to="pylibcudf"), plc.Table)
    assert isinstance(cab.from_arrow_device(DeviceOnly(table), to="pylibcudf"), plc.Column)


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
    table = cab.from_arrow_device(
        Producer(struct, forget_null_counts), to="pylibcudf", kind="table"
    )
    assert read(cab.to_arrow_device(table.columns()[0])).to_pylist() == [2, 3]


@pytest.mark.parametrize("type_", [pa.string(), pa.binary()], ids=str)
@pytest.mark.parametrize("values", [["", ""], [None, ""], [None, None]], ids=str)
def test_views_of_only_empty_strings_are_imported(type_, values):
    array = pa.array(values, pa.string()).cast(type_)
    requested = pa.field("", type_)
    exported = cab.to_arrow_device(column_from(string_view(array)), requested_schema=requested)
    assert pa.array(exported).to_pylist() == array.to_pylist()


@NOT_SLOW
@given(arrays(), edits, st.booleans(), st.booleans(), st.data())
def test_import_and_export_of_random_slices_match_pyarrow(array, edit, sanitize, compact, data):
    array = cut(array, data.draw(slices(len(array))))
    expected = foreign.expected_import(array)
    column = column_from(Producer(array, edit), sanitize=sanitize)
    assert column.null_count() == expected.null_count
    if not has_unsigned_indices(array.type):
        assert_same(host.to_arrow(column, array.type), expected)
        assert_same(read(cab.to_arrow_device(Producer(array, edit), compact=compact)), expected)
    between = data.draw(slices(len(array)))
    column = cut_column(column, between, lambda start, size: expected.slice(start, size).null_count)
    back = read(cab.to_arrow_device(column, compact=compact))
    rows = cut(array, between)
    after = data.draw(slices(len(rows)))
    assert cut(back, after).to_pylist() == cut(rows, after).to_pylist()


@NOT_SLOW
@given(st.lists(arrays(signed), max_size=4), st.data())
def test_round_trip_of_random_batches_keeps_schema_and_values(columns, data):
    size = min((len(column) for column in columns), default=0)
    columns = [column[:size] for column in columns]
    names = data.draw(st.lists(st.text(), min_size=len(columns), max_size=len(columns)))
    names = [name.replace("\0", "") for name in names]
    metadata = data.draw(st.dictionaries(st.text(min_size=1), st.text()))
    schema = pa.schema(
        [pa.field(n, c.type) for n, c in zip(names, columns, strict=True)], metadata=metadata
    )
    batch = pa.record_batch(columns, schema)
    back = pa.record_batch(DeviceOnly(cab.to_arrow_device(DeviceOnly(batch))))
    back.validate(full=True)
    assert back.schema.equals(schema, check_metadata=True)
    assert back.equals(pa.record_batch([foreign.expected_import(c) for c in columns], schema))
