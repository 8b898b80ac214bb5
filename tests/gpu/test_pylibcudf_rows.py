# SPDX-License-Identifier: Apache-2.0
"""What reading pylibcudf's own interop led us to expect of it, row by row, beside ours.

Ours must be right. What theirs gave is on record as the property `pylibcudf` of each test, in the
report of `pytest --junitxml=FILE`: right or wrong, it is not for us to fail.
"""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing.device import GPU, ROWS, as_cupy, blank, on_device, outcome, rows, side_stream, sliced
from testing.peers.arrays import (
    DeviceOnly,
    Producer,
    column_from,
    forget_null_counts,
    nodes,
    read,
    struct_of,
)
from testing.peers.pylibcudf_interop import (
    EXPORTS,
    null_column,
    slice_the_children,
    slice_the_parent,
)

pytestmark = GPU


@pytest.fixture
def theirs(record_property):
    """Record what pylibcudf gives, or how it fails."""
    return lambda call: record_property("pylibcudf", outcome(call))


def imported(column):
    """A column that pylibcudf imported, read on the host by its own copy."""
    return column.to_arrow().to_pylist()


@pytest.mark.parametrize("name", EXPORTS)
def test_sliced_exports(name, theirs):
    array, offset, size = EXPORTS[name]
    part = sliced(on_device(array), offset, size)
    assert rows(bridge.to_arrow_device(part)) == array.slice(offset, size).to_pylist()
    theirs(lambda: rows(part))


def test_e3_null_columns(theirs):
    column = null_column()
    assert rows(bridge.to_arrow_device(column)) == [None] * 3
    theirs(lambda: rows(column))


def test_e5_empty_lists_have_their_one_offset(theirs):
    column = on_device(pa.array([], pa.list_(pa.int32())))

    def offsets(obj):
        _, capsule = obj.__arrow_c_device_array__()
        return struct_of(capsule).array.buffers[1]

    assert offsets(bridge.to_arrow_device(column))
    assert read(bridge.to_arrow_device(column).to_host()).to_pylist() == []
    theirs(lambda: offsets(column))


def test_e6_managed_memory(theirs):
    import rmm.mr

    column = on_device(pa.array([1, None, 3]), mr=rmm.mr.ManagedMemoryResource())

    def label(obj):
        _, capsule = obj.__arrow_c_device_array__()
        return struct_of(capsule).device_type

    assert label(bridge.to_arrow_device(column)) == bridge.DeviceType.CUDA_MANAGED
    theirs(lambda: label(column))


def test_e6_another_current_device(theirs):
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only")

    def owner(obj):
        _, capsule = obj.__arrow_c_device_array__()
        return struct_of(capsule).device_id

    with cupy.cuda.Device(1):
        column = on_device(pa.array([1, 2, 3]))
    assert owner(bridge.to_arrow_device(column)) == 1
    theirs(lambda: owner(column))


def test_i1_nulls_that_nobody_counted(theirs):
    def producer():
        source = on_device(pa.array([{"0": 1}, None, {"0": 3}]))
        return Producer(bridge.to_arrow_device(source), forget_null_counts)

    assert imported(column_from(producer())) == [{"0": 1}, None, {"0": 3}]
    theirs(lambda: imported(plc.Column.from_arrow(DeviceOnly(producer()))))


STRUCT = pa.array([{"0": i, "1": str(i)} for i in range(6)])


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        pytest.param(slice_the_parent, slice(1, 4), id="I2"),
        pytest.param(slice_the_children, slice(2, 6), id="I3"),
    ],
)
@pytest.mark.parametrize("kind", ["table", "column"])
def test_offsets_of_structs(kind, edit, expected, theirs):
    def producer():
        return Producer(bridge.to_arrow_device(on_device(STRUCT)), edit)

    wanted = STRUCT.to_pylist()[expected]
    if kind == "column":
        assert imported(column_from(producer())) == wanted
        theirs(lambda: imported(plc.Column.from_arrow(DeviceOnly(producer()))))
        return

    def by_row(table):
        columns = [imported(column) for column in table.columns()]
        return [{"0": number, "1": text} for number, text in zip(*columns, strict=True)]

    ours = bridge.from_arrow_device(DeviceOnly(producer()), to="pylibcudf", kind="table")
    assert ours.num_rows() == len(wanted)
    assert by_row(ours) == wanted
    theirs(lambda: by_row(plc.Table.from_arrow(DeviceOnly(producer()))))


def test_p3_the_stream_that_made_the_data(late, theirs):
    """Zeros where values should be: read before the stream got there."""

    def last(export):
        producer, consumer, found = side_stream(), side_stream(), blank()
        column = late.column(producer)
        column = column_from(export(column, producer), stream=consumer)
        late.copy(as_cupy(column.data()), found, consumer, cycles=0)
        consumer.synchronize()
        value = int(found[-1])
        producer.synchronize()
        return value

    ours = last(lambda column, stream: bridge.to_arrow_device(column, stream=stream))
    assert ours == ROWS - 1
    theirs(lambda: last(lambda column, stream: column))


def test_p4_names(theirs):
    import cudf

    frame = cudf.DataFrame({"number": [1, 2], "text": ["a", "b"]})

    def names(obj):
        capsule, _ = obj.__arrow_c_device_array__()
        return [node.name for node in nodes(struct_of(capsule))[1:]]

    assert names(bridge.to_arrow_device(frame)) == [b"number", b"text"]
    theirs(lambda: names(plc.Table([series.to_pylibcudf()[0] for _, series in frame.items()])))
