# SPDX-License-Identifier: Apache-2.0
"""Columns of every type, and their slices, in device memory."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import host, samples
from testing.device import (
    GPU,
    SLICES,
    fetched,
    on_device,
    pylibcudf_rows,
    rows,
    sliced,
    types,
    unnamed,
    wait_until,
)
from testing.peers.arrays import (
    DeviceOnly,
    Producer,
    column_from,
    forget_null_counts,
    read,
)

pytestmark = GPU


@pytest.mark.parametrize("nulls", samples.NULLS)
@types
def test_slices_of_every_type_round_trip(type_, nulls):
    array = samples.values(type_, samples.MANY, nulls)
    column = on_device(array)
    for offset, size in SLICES:
        expected = unnamed(array.slice(offset, size).to_pylist())
        for compact in (False, True):
            exported = cab.to_arrow_device(sliced(column, offset, size), compact=compact)
            assert unnamed(rows(exported)) == expected
            assert pylibcudf_rows(column_from(exported)) == expected


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("type_", samples.TYPES, ids=str)
def test_host_memory_is_uploaded(type_, nulls):
    array = samples.values(type_, samples.MANY, nulls).slice(9, 65)
    exported = cab.to_arrow_device(column_from(array))
    assert exported.device_type == cab.DeviceType.CUDA
    assert read(exported.to_host()).equals(array)


@types
def test_import_counts_the_nulls_of_an_unknown_null_count(type_):
    array = samples.values(type_, samples.MANY, "some")
    producer = Producer(cab.to_arrow_device(on_device(array)), forget_null_counts)
    column = column_from(producer)
    assert column.null_count() == array.null_count
    assert pylibcudf_rows(column) == unnamed(array.to_pylist())


def test_export_and_import_share_memory():
    column = on_device(pa.array([1, None, 3]))
    exported = cab.to_arrow_device(column)
    expected = [column.null_mask().ptr, column.data().ptr]
    assert [buffer.address for buffer in exported.buffers()] == expected
    back = cab.from_arrow_device(exported, to="pylibcudf")
    assert [back.null_mask().ptr, back.data().ptr] == expected


def test_import_with_copy_releases_the_producer():
    column = on_device(pa.array([1, None, 3]))
    producer = Producer(cab.to_arrow_device(column))
    back = column_from(producer, copy=True)
    assert wait_until(lambda: producer.releases == 1)
    assert back.data().ptr != column.data().ptr
    assert pylibcudf_rows(back) == [1, None, 3]


def test_import_rejects_or_copies_memory_of_another_device():
    """libcudf 26.10 does not check the device of imported memory."""
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only")
    with cupy.cuda.Device(1):
        exported = cab.to_arrow_device(on_device(pa.array([1, 2])))
        assert exported.device_id == 1
    with pytest.raises(ValueError, match="CUDA device 1"):
        column_from(exported)
    assert pylibcudf_rows(column_from(exported, copy=True)) == [1, 2]


@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_slice_of_an_array_has_its_rows(type_, nesting):
    array = samples.nest(type_, nesting, 75, "some")
    exported = cab.to_arrow_device(column_from(array))
    whole = pa.array(exported.to_host())
    for begin, end in ((0, 0), (2, 5), (9, 75), (40, 75)):
        part = exported[begin:end]
        expected = whole.slice(begin, end - begin)
        assert part.null_count == expected.null_count
        assert pa.array(part.to_host()).equals(expected)
        column = fetched(cab.from_arrow_device(part, to="pylibcudf"))
        assert host.to_arrow(column, expected.type).equals(expected)


def test_columns_and_slices_of_a_table_share_memory():
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None]})
    exported = cab.to_arrow_device(cab.from_arrow_device(table))
    part = exported[["b", "a"]][1:]
    assert part.device_type == exported.device_type
    expected = table.select(["b", "a"]).slice(1)
    assert cab.from_arrow_device(part).to_arrow().cast(expected.schema).equals(expected)
    addresses = {buffer.address for buffer in part.buffers()}
    assert addresses <= {buffer.address for buffer in exported.buffers()}


@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_slices_of_pylibcudf_are_imported(type_, nesting):
    array = samples.nest(type_, nesting, 75, "some")
    (part,) = plc.copying.slice(column_from(array), [9, 60])
    expected = array.slice(9, 51)
    shared = cab.from_arrow_device(part, to="pylibcudf", copy=False)
    copied = cab.from_arrow_device(part, to="pylibcudf", copy=True)
    for found in (shared, copied, *cab.iter_arrow_device_stream([part], to="pylibcudf")):
        assert host.to_arrow(fetched(found), expected.type).equals(expected)
    frames = [cab.from_arrow_device(plc.Table([part])) for _ in range(2)]
    frames.append(cab.from_arrow_device_stream(frames))
    assert [len(frame) for frame in frames] == [51, 51, 102]
    for frame in frames[:2]:
        exported = cab.to_arrow_device(frame).to_host()
        assert exported["0"].to_arrow().to_pylist() == expected.to_pylist()


@types
def test_pylibcudf_imports_exported_columns(type_):
    """Use `compact`: pylibcudf replaces the offsets of a struct's children by the parent's."""
    array = samples.values(type_, samples.MANY, "some")
    column = on_device(array)
    for offset, size in [(0, samples.MANY), (9, 65), (64, 64)]:
        exported = cab.to_arrow_device(sliced(column, offset, size), compact=True)
        theirs = plc.Column.from_arrow(DeviceOnly(exported))
        assert pylibcudf_rows(theirs) == unnamed(array.slice(offset, size).to_pylist())
