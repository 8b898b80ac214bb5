# SPDX-License-Identifier: Apache-2.0
"""Columns of every type, and their slices, in device memory."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import samples
from testing.device import GPU, on_device, pylibcudf_rows, rows, sliced, unnamed, wait_until
from testing.peers.arrays import (
    Capsules,
    DeviceOnly,
    Producer,
    forget_null_counts,
    nodes,
    struct_of,
)

pytestmark = GPU

SLICES = [(0, samples.MANY), (1, 64), (8, 40), (9, 65), (33, 0)]


def can_upload(type_):
    """pylibcudf's conversion supports no null type and only one width of dictionary indices."""
    return not (pa.types.is_null(type_) or pa.types.is_dictionary(type_))


TYPES = [type_ for type_ in samples.TYPES if can_upload(type_)]


def column_from(obj, **options):
    return bridge.from_arrow_device(DeviceOnly(obj), to="pylibcudf", kind="column", **options)


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_slices_of_every_type_round_trip(type_, nulls):
    array = samples.values(type_, samples.MANY, nulls)
    column = on_device(array)
    for offset, size in SLICES:
        back = column_from(bridge.to_arrow_device(sliced(column, offset, size)))
        assert pylibcudf_rows(back) == unnamed(array.slice(offset, size).to_pylist())


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_exported_slices_are_read_on_the_host(type_, compact):
    array = samples.values(type_, samples.MANY, "some")
    column = on_device(array)
    for offset, size in SLICES:
        exported = bridge.to_arrow_device(sliced(column, offset, size), compact=compact)
        assert unnamed(rows(exported)) == unnamed(array.slice(offset, size).to_pylist())


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("type_", samples.TYPES, ids=str)
def test_host_memory_is_uploaded(type_, nulls):
    array = samples.values(type_, samples.MANY, nulls).slice(9, 65)
    exported = bridge.to_arrow_device(column_from(array))
    assert exported.device_type == bridge.DeviceType.CUDA
    assert unnamed(rows(exported)) == unnamed(array.to_pylist())


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_import_counts_the_nulls_of_an_unknown_null_count(type_):
    array = samples.values(type_, samples.MANY, "some")
    producer = Producer(bridge.to_arrow_device(on_device(array)), forget_null_counts)
    column = column_from(producer)
    assert column.null_count() == array.null_count
    assert pylibcudf_rows(column) == unnamed(array.to_pylist())


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_exported_buffers_are_in_device_memory(type_):
    cupy = pytest.importorskip("cupy")
    column = on_device(samples.values(type_, samples.MANY, "some"))
    exported = bridge.to_arrow_device(column)
    assert exported.device_type == bridge.DeviceType.CUDA
    assert exported.device_id == cupy.cuda.Device().id
    _, capsule = exported.__arrow_c_device_array__()
    found = [
        cupy.cuda.runtime.pointerGetAttributes(node.buffers[i]).type
        for node in nodes(struct_of(capsule).array)
        for i in range(node.n_buffers)
        if node.buffers[i]
    ]
    assert set(found) == {cupy.cuda.runtime.memoryTypeDevice}


def test_export_and_import_share_memory():
    column = on_device(pa.array([1, None, 3]))
    exported = bridge.to_arrow_device(column)
    expected = [column.null_mask().ptr, column.data().ptr]
    assert [buffer.address for buffer in exported.buffers()] == expected
    back = bridge.from_arrow_device(exported, to="pylibcudf")
    assert [back.null_mask().ptr, back.data().ptr] == expected


def test_import_with_copy_releases_the_producer():
    column = on_device(pa.array([1, None, 3]))
    producer = Producer(bridge.to_arrow_device(column))
    back = column_from(producer, copy=True)
    assert wait_until(lambda: producer.releases == 1)
    assert back.data().ptr != column.data().ptr
    assert pylibcudf_rows(back) == [1, None, 3]


def test_memory_of_another_device_is_refused():
    """libcudf 26.10 does not check the device of imported memory."""
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only")
    with cupy.cuda.Device(1):
        exported = bridge.to_arrow_device(on_device(pa.array([1, 2])))
        assert exported.device_id == 1
    with pytest.raises(ValueError, match="CUDA device 1"):
        column_from(exported)
    assert pylibcudf_rows(column_from(exported, copy=True)) == [1, 2]


def test_capsules_keep_the_memory_of_a_deleted_column():
    column = on_device(pa.array(["a", None, "c"] * 100))
    capsules = bridge.to_arrow_device(column).__arrow_c_device_array__()
    del column
    back = bridge.from_arrow_device(Capsules(*capsules), to="pylibcudf")
    assert pylibcudf_rows(back) == ["a", None, "c"] * 100


def test_sliced_table_round_trips():
    table = pa.table({"a": [1, None, 3], "b": ["x", "yy", None], "c": [True, False, None]})
    part = plc.copying.slice(plc.Table.from_arrow(table), [1, 3])[0]
    exported = bridge.to_arrow_device(part)
    back = bridge.from_arrow_device(exported, to="pylibcudf")
    assert [pylibcudf_rows(column) for column in back.columns()] == [
        [None, 3],
        ["yy", None],
        [False, None],
    ]
    batch = pa.record_batch(exported.to_host())
    assert [column.to_pylist() for column in batch] == [[None, 3], ["yy", None], [False, None]]
