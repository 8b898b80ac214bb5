# SPDX-License-Identifier: Apache-2.0
"""Imports by pylibcudf's own interop, compared with ours row by row."""

from __future__ import annotations

import gc

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import foreign
from testing.device import (
    GPU,
    as_cupy,
    on_device,
    pylibcudf_rows,
    read_target,
    side_stream,
    synchronize,
    unnamed,
)
from testing.peers.arrays import DeviceOnly, Producer, column_from, forget_null_counts
from testing.peers.device_memory import OnDevice
from testing.peers.pylibcudf_interop import (
    NULL_VALUE,
    REFUSED,
    slice_the_children,
    slice_the_parent,
)

pytestmark = GPU

STRUCT = pa.array([{"0": i, "1": str(i)} for i in range(6)])


def their_column(producer):
    return plc.Column.from_arrow(DeviceOnly(producer))


def test_import_counts_the_nulls_of_an_unknown_null_count(beside):
    array = pa.array([1, None, 3])

    def producer():
        return Producer(bridge.to_arrow_device(on_device(array)), forget_null_counts)

    beside(
        row="I1",
        what="[1, None, 3] with a null_count of -1 arrives",
        right=array.to_pylist(),
        ours=lambda: pylibcudf_rows(column_from(producer())),
        theirs=lambda: pylibcudf_rows(their_column(producer())),
    )


def by_row(table):
    columns = [pylibcudf_rows(column) for column in table.columns()]
    return [{"0": number, "1": text} for number, text in zip(*columns, strict=True)]


@pytest.mark.parametrize(
    ("row", "edit", "kept"),
    [
        pytest.param("I2", slice_the_parent, slice(1, 4), id="parent"),
        pytest.param("I3", slice_the_children, slice(2, 6), id="children"),
    ],
)
@pytest.mark.parametrize("kind", ["table", "column"])
def test_import_applies_the_offsets_of_structs(row, kind, edit, kept, beside):
    def producer():
        return DeviceOnly(Producer(bridge.to_arrow_device(on_device(STRUCT)), edit))

    def ours():
        found = bridge.from_arrow_device(producer(), to="pylibcudf", kind=kind)
        return by_row(found) if kind == "table" else pylibcudf_rows(found)

    def theirs():
        if kind == "table":
            return by_row(plc.Table.from_arrow(producer()))
        return pylibcudf_rows(plc.Column.from_arrow(producer()))

    place = "parent's" if edit is slice_the_parent else "children's"
    beside(
        row=row,
        what=f"rows {kept.start} to {kept.stop} of a struct by its {place} offset, as a {kind}",
        right=STRUCT.to_pylist()[kept],
        ours=ours,
        theirs=theirs,
    )


def test_import_applies_offsets_beyond_32_bits(beside):
    import cupy

    begin = 2**32 + 5
    free, _ = cupy.cuda.runtime.memGetInfo()
    if free < 2 * begin:
        pytest.skip("too little device memory")
    memory = cupy.zeros(begin + 3, "int8")
    memory[begin:] = cupy.asarray([1, 2, 3], "int8")

    def far(schema, array):
        array.array.offset, array.array.buffers[1] = begin, memory.data.ptr

    def producer():
        source = bridge.to_arrow_device(on_device(pa.array([7, 8, 9], pa.int8())))
        return Producer(source, far)

    beside(
        row="I4",
        what="three rows behind an offset of 2^32 + 5, where [1, 2, 3] is",
        right=[1, 2, 3],
        ours=lambda: pylibcudf_rows(column_from(producer())),
        theirs=lambda: pylibcudf_rows(their_column(producer())),
    )


def test_import_keeps_the_null_values_of_a_dictionary(beside):
    beside(
        row="I5",
        what="a dictionary one of whose values is null",
        right=NULL_VALUE.dictionary_decode().to_pylist(),
        ours=lambda: pylibcudf_rows(column_from(OnDevice(NULL_VALUE))),
        theirs=lambda: pylibcudf_rows(their_column(OnDevice(NULL_VALUE))),
    )


def row_of(type_):
    if pa.types.is_dictionary(type_):
        return "I5"
    return "I7" if pa.types.is_fixed_size_list(type_) else "I6"


@pytest.mark.parametrize("array", REFUSED, ids=lambda array: str(array.type))
def test_import_supports_types_that_pylibcudf_rejects(array, beside):
    plain = array.cast(pa.binary()) if array.type == pa.binary_view() else array
    beside(
        row=row_of(array.type),
        what=f"{array.type} arrives",
        right=unnamed(foreign.expected_import(plain).to_pylist()),
        ours=lambda: pylibcudf_rows(column_from(OnDevice(array))),
        theirs=lambda: pylibcudf_rows(their_column(OnDevice(array))),
    )


def test_import_rejects_memory_of_another_device(beside):
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only")
    with cupy.cuda.Device(1):
        exported = bridge.to_arrow_device(on_device(pa.array([True, None, False])))

    def refused(take):
        try:
            take(exported)
        except ValueError:
            return "an error"
        return "taken"

    beside(
        row="I8",
        what="bools of device 1 arrive while device 0 is current",
        right="an error",
        ours=lambda: refused(column_from),
        theirs=lambda: refused(their_column),
    )


def test_memory_of_an_import_at_an_offset_includes_its_last_row(beside):
    def producer():
        source = bridge.to_arrow_device(on_device(pa.array(range(5))))

        def cut(schema, array):
            array.array.offset, array.array.length = 2, 3

        return Producer(source, cut)

    def missing(column):
        return 8 * (column.offset() + column.size()) - column.data().size

    beside(
        row="I9",
        what="bytes of the rows that a column's memory does not reach to, at an offset of 2",
        right=0,
        ours=lambda: missing(column_from(producer())),
        theirs=lambda: missing(their_column(producer())),
    )


def test_a_release_waits_for_the_reader(late, beside):
    """The memory stays valid, but after an early release the producer could reuse it."""
    import cupy

    source = late.column(cupy.cuda.Stream.null)
    synchronize()

    def releases(take):
        reader, found = side_stream(), read_target()
        producer = Producer(bridge.to_arrow_device(source))
        column = take(producer, reader)
        late.copy(as_cupy(column.data()), found, reader)
        del column
        gc.collect()
        early = 0 if reader.done else producer.releases
        reader.synchronize()
        return early

    beside(
        row="I11",
        what="releases of the producer while a kernel reads a column that was dropped",
        right=0,
        ours=lambda: releases(lambda producer, stream: column_from(producer, stream=stream)),
        theirs=lambda: releases(
            lambda producer, stream: plc.Column.from_arrow(DeviceOnly(producer), stream=stream)
        ),
    )


def test_import_releases_the_schema(beside):
    def releases(take):
        producer = Producer(bridge.to_arrow_device(on_device(pa.array([1]))))
        column = take(producer)
        column.size()
        return producer.schema_releases

    beside(
        row="owning types",
        what="releases of the schema of an import",
        right=1,
        ours=lambda: releases(column_from),
        theirs=lambda: releases(their_column),
    )
