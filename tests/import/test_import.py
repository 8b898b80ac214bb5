# SPDX-License-Identifier: Apache-2.0
"""Imports of arrays of pyarrow and nanoarrow. The columns are read by their layout alone."""

from __future__ import annotations

import nanoarrow
import nanoarrow.device
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import foreign, host, samples
from testing.peers.arrays import (
    Capsules,
    DeviceOnly,
    Producer,
    assert_same,
    column_from,
    forget_null_counts,
)


def check(column, expected):
    assert column.size() == len(expected)
    assert column.null_count() == expected.null_count
    assert_same(host.to_arrow(column, expected.type), expected)


@samples.each_case_with_nulls([*samples.NESTED_TYPES, *foreign.NESTED_TYPES])
def test_import_of_sliced_children_keeps_their_rows(type_, nesting, nulls):
    """A child's offset is added to the parent's; libcudf 26.10 replaces it.

    An unknown null count is -1 on every level; libcudf 26.10 uses this value as the count.
    """
    edits = (None, forget_null_counts) * 2
    for inner, edit in zip(((1,), (9, 1), (33, 7), (0, 31)), edits, strict=True):
        base = samples.nest(type_, nesting, samples.MANY, nulls, inner)
        for steps in ([(0, samples.MANY)], [(7, 65)], [(32, 60), (1, 40)], [(9, 0)]):
            array = samples.cut(base, steps)
            check(column_from(Producer(array, edit)), foreign.expected_import(array))


def as_batch(schema, struct):
    """Return a struct array as a record batch with the offset of the array."""
    return Capsules(schema.__arrow_c_schema__(), struct.__arrow_c_device_array__()[1])


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("inner", [0, 1, 33])
def test_import_applies_the_offset_of_a_record_batch(nulls, inner):
    """The batch has an offset, with and without sliced columns; libcudf 26.10 ignores it."""
    columns = [samples.sliced(type_, samples.MANY, nulls, (inner,)) for type_ in samples.TYPES]
    names = [str(i) for i in range(len(columns))]
    schema = pa.schema(list(zip(names, samples.TYPES, strict=True)))
    struct = pa.StructArray.from_arrays(columns, fields=list(schema))
    for offset in samples.OFFSETS:
        part = struct.slice(offset, 50)
        table = cab.from_arrow_device(as_batch(schema, part), to="pylibcudf")
        assert table.num_rows() == 50
        for column, expected in zip(table.columns(), columns, strict=True):
            check(column, expected.slice(offset, 50))


def test_import_accepts_arrays_built_by_nanoarrow():
    built = nanoarrow.c_array([1, None, 3], nanoarrow.int16())
    check(column_from(nanoarrow.device.c_device_array(built)), pa.array([1, None, 3], pa.int16()))
    text = nanoarrow.c_array(["a", "", None, "żółw"], nanoarrow.string())
    check(column_from(nanoarrow.device.c_device_array(text)), pa.array(["a", "", None, "żółw"]))


def test_import_drops_a_validity_bitmap_without_nulls():
    valid = pa.array([1, None, 3, 4]).slice(2)
    assert column_from(valid).null_mask() is None
    assert column_from(Producer(valid, forget_null_counts)).null_mask() is None


def test_import_of_an_extension_array_gives_its_storage():
    words = pa.ExtensionArray.from_storage(
        pa.opaque(pa.int32(), "word", "us"), pa.array([1, None], pa.int32())
    )
    check(column_from(words), words.storage)
    assert_same(pa.array(DeviceOnly(cab.to_arrow_device(DeviceOnly(words)))), words)


def test_column_of_structs_that_are_not_nullable_is_imported_as_a_column():
    field = pa.field("s", pa.struct([("x", pa.int64())]), nullable=False)
    table = pa.table([pa.array([{"x": 1}], field.type)], schema=pa.schema([field]))
    column = cab.to_arrow_device(table)["s"]
    assert isinstance(cab.from_arrow_device(column, to="pylibcudf"), plc.Column)
    imported = cab.from_arrow_device(column, to="pylibcudf", kind="table")
    assert isinstance(imported, plc.Table)
