# SPDX-License-Identifier: Apache-2.0
"""The same cases on device memory, where there is a GPU."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest
import samples
from peers import Capsules, DeviceOnly, nodes, struct_of

import cudf_arrow_bridge as bridge

pytestmark = pytest.mark.gpu

SLICES = [(0, samples.MANY), (1, 64), (8, 40), (9, 65), (33, 0)]


def on_device(array):
    """A column in device memory, made by pylibcudf's own conversion."""
    return plc.Column.from_arrow(array)


def sliced(column, offset, size):
    return plc.copying.slice(column, [offset, offset + size])[0]


def on_host(column):
    return column.to_arrow()


def can_upload(type_):
    """pylibcudf's conversion has no null type and one width of dictionary indices."""
    return not (pa.types.is_null(type_) or pa.types.is_dictionary(type_))


TYPES = [type_ for type_ in samples.TYPES if can_upload(type_)]


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_slices_come_back(type_, nulls):
    column = on_device(samples.values(type_, samples.MANY, nulls))
    for offset, size in SLICES:
        part = sliced(column, offset, size)
        exported = bridge.to_arrow_device(part)
        back = bridge.from_arrow_device(DeviceOnly(exported), to="pylibcudf", kind="column")
        assert on_host(back).to_pylist() == on_host(part).to_pylist()


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_memory_stays_where_it_is(type_):
    cupy = pytest.importorskip("cupy")
    column = on_device(samples.values(type_, samples.MANY, "some"))
    exported = bridge.to_arrow_device(column)
    assert exported.device_type == bridge.DeviceType.CUDA
    assert exported.device_id == cupy.cuda.Device().id
    assert not hasattr(exported, "__arrow_c_array__")
    _, capsule = exported.__arrow_c_device_array__()
    for node in nodes(struct_of(capsule).array):
        for i in range(node.n_buffers):
            if node.buffers[i]:
                attributes = cupy.cuda.runtime.pointerGetAttributes(node.buffers[i])
                assert attributes.type == cupy.cuda.runtime.memoryTypeDevice


def test_nothing_is_copied():
    column = on_device(pa.array([1, None, 3]))
    exported = bridge.to_arrow_device(column)
    expected = [column.null_mask().ptr, column.data().ptr]
    assert [buffer.address for buffer in exported.buffers()] == expected
    back = bridge.from_arrow_device(exported, to="pylibcudf")
    assert [back.null_mask().ptr, back.data().ptr] == expected


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_host_memory_is_uploaded(type_):
    array = samples.values(type_, samples.MANY, "some").slice(9, 65)
    column = bridge.from_arrow_device(DeviceOnly(array), to="pylibcudf", kind="column")
    assert bridge.to_arrow_device(column).device_type == bridge.DeviceType.CUDA
    assert on_host(column).to_pylist() == unnamed(array.to_pylist())


def unnamed(value):
    """Rows as pylibcudf gives them, which names no fields."""
    if isinstance(value, dict):
        return {str(i): unnamed(item) for i, item in enumerate(value.values())}
    return [unnamed(item) for item in value] if isinstance(value, list) else value


def test_the_label_of_managed_memory_is_the_truth():
    """PEERS.md E6."""
    import rmm

    column = plc.Column.from_arrow(pa.array([1, None, 3]), mr=rmm.mr.ManagedMemoryResource())
    assert bridge.to_arrow_device(column).device_type == bridge.DeviceType.CUDA_MANAGED


def test_memory_of_another_device_is_refused():
    """PEERS.md I8."""
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only")
    with cupy.cuda.Device(1):
        exported = bridge.to_arrow_device(on_device(pa.array([1, 2])))
        assert exported.device_id == 1
    with pytest.raises(ValueError, match="CUDA device 1"):
        bridge.from_arrow_device(DeviceOnly(exported), to="pylibcudf")


def test_work_on_the_callers_stream_is_waited_for():
    """PEERS.md P3."""
    cupy = pytest.importorskip("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        values = cupy.zeros(1 << 24, "int32")
        for _ in range(50):
            values += 1
        column = plc.Column.from_cuda_array_interface(values)
    exported = bridge.to_arrow_device(column, stream=stream)
    back = bridge.from_arrow_device(exported, to="pylibcudf")
    assert on_host(back).to_pylist()[-1] == 50


def test_the_source_may_go_first():
    column = on_device(pa.array(["a", None, "c"] * 100))
    capsules = bridge.to_arrow_device(column).__arrow_c_device_array__()
    del column
    back = bridge.from_arrow_device(Capsules(*capsules), to="pylibcudf")
    assert on_host(back).to_pylist() == ["a", None, "c"] * 100
