# SPDX-License-Identifier: Apache-2.0
"""Exports by pylibcudf's own interop, compared with ours row by row.

Our result must be right. The property `pylibcudf` of each test in the report of
`pytest --junitxml=FILE` is pylibcudf's result. A wrong result of pylibcudf is not a failure.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing.device import (
    GPU,
    ROWS,
    as_cupy,
    on_device,
    read_target,
    rows,
    side_stream,
    sliced,
    synchronize,
)
from testing.peers.arrays import Producer, column_from, nodes, struct_of
from testing.peers.pylibcudf_interop import (
    EMPTY_DICTIONARY,
    EXPORTS,
    empty_lists,
    null_column,
)
from testing.processes import PYTHONPATH

pytestmark = GPU


def exported(obj):
    """Return the capsule of an export and the struct, which the capsule keeps alive."""
    _, capsule = obj.__arrow_c_device_array__()
    return capsule, struct_of(capsule)


@pytest.mark.parametrize("name", EXPORTS)
def test_export_of_slices_has_the_right_rows(name, beside):
    array, offset, size = EXPORTS[name]
    part = sliced(on_device(array), offset, size)
    beside(
        row=name.split()[0],
        what=f"{array.type} {array.to_pylist()}, rows {offset} to {offset + size}, leave",
        right=array.slice(offset, size).to_pylist(),
        ours=lambda: rows(bridge.to_arrow_device(part)),
        theirs=lambda: rows(Producer(part)),
    )


def test_export_of_a_null_column_has_null_rows(beside):
    column = null_column()
    beside(
        row="E3",
        what="a column of three nulls and no type leaves",
        right=[None] * 3,
        ours=lambda: rows(bridge.to_arrow_device(column)),
        theirs=lambda: rows(Producer(column)),
    )


def test_export_of_an_empty_dictionary_keeps_its_type(beside):
    column = column_from(EMPTY_DICTIONARY)
    beside(
        row="E4",
        what="the type of a dictionary of no rows",
        right=str(EMPTY_DICTIONARY.type),
        ours=lambda: str(bridge.to_arrow_device(column).schema.type),
        theirs=lambda: str(pa.DataType._import_from_c_capsule(column._to_schema())),
    )


def test_export_of_empty_lists_has_offsets(beside):
    column = empty_lists()

    def has_offsets(obj):
        _capsule, struct = exported(obj)
        return bool(struct.array.buffers[1])

    beside(
        row="E5",
        what="lists of no rows, which libcudf makes without offsets, leave with one",
        right=True,
        ours=lambda: has_offsets(bridge.to_arrow_device(column)),
        theirs=lambda: has_offsets(column),
    )


def test_export_reports_managed_memory(beside):
    import rmm.mr

    column = on_device(pa.array([1, None, 3]), mr=rmm.mr.ManagedMemoryResource())

    def label(obj):
        _capsule, struct = exported(obj)
        return struct.device_type

    beside(
        row="E6",
        what="the device type of managed memory",
        right=int(bridge.DeviceType.CUDA_MANAGED),
        ours=lambda: label(bridge.to_arrow_device(column)),
        theirs=lambda: label(column),
    )


def test_export_reports_the_device_of_the_memory(beside):
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only")

    def number(obj):
        _capsule, struct = exported(obj)
        return struct.device_id

    with cupy.cuda.Device(1):
        column = on_device(pa.array([1, 2, 3]))
    beside(
        row="E6",
        what="the device of memory of device 1 while device 0 is current",
        right=1,
        ours=lambda: number(bridge.to_arrow_device(column)),
        theirs=lambda: number(column),
    )


def test_export_is_released_after_a_cuda_error(beside):
    def release(whose):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "testing.peers.sticky_error", whose],
            env=os.environ | {"PYTHONPATH": PYTHONPATH},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        said = done.stdout.strip() or done.stderr.strip()[-200:]
        return said if done.returncode == 0 else f"ended with {done.returncode}: {said}"

    beside(
        row="E7",
        what="an export is released after a CUDA error that nothing clears",
        right="released",
        ours=lambda: release("ours"),
        theirs=lambda: release("theirs"),
    )


def test_event_of_an_export_does_not_record_times(beside):
    import cupy

    column = on_device(pa.array([1, 2, 3]))

    def takes_times(obj):
        _capsule, struct = exported(obj)
        event = ctypes.c_void_p.from_address(struct.sync_event).value
        cupy.cuda.runtime.eventSynchronize(event)
        try:
            cupy.cuda.runtime.eventElapsedTime(event, event)
        except cupy.cuda.runtime.CUDARuntimeError:
            return False
        return True

    beside(
        row="E8",
        what="whether the event takes times, which makes it slower",
        right=False,
        ours=lambda: takes_times(bridge.to_arrow_device(column)),
        theirs=lambda: takes_times(column),
    )


def test_batches_with_and_without_nulls_have_one_schema(beside):
    batches = [plc.Table([on_device(pa.array([1, value]))]) for value in (2, None)]

    def flags(schemas):
        return [schema.field(0).nullable for schema in schemas]

    beside(
        row="E9",
        what="the nullable flag of a batch without nulls, and of one with",
        right=[True, True],
        ours=lambda: flags(bridge.to_arrow_device(batch).schema for batch in batches),
        theirs=lambda: flags(pa.Schema._import_from_c_capsule(b._to_schema()) for b in batches),
    )


def test_export_has_the_requested_name_of_list_elements(beside):
    column = on_device(pa.array([[1], [2, 3]]))
    wanted = pa.field("", pa.list_(pa.field("number", pa.int64())))

    def name():
        schema = bridge.to_arrow_device(column, requested_schema=wanted).schema
        return schema.type.value_field.name

    beside(
        row="E10",
        what="list metadata that names only the elements",
        right="number",
        ours=name,
        theirs="not run: it would read metadata out of bounds",
    )


class MallInfo(ctypes.Structure):
    """The result of glibc's `mallinfo2`."""

    names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks")
    _fields_ = tuple((name, ctypes.c_size_t) for name in (*names, "fordblks", "keepcost"))


def test_exports_do_not_leak_host_memory(beside):
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        pytest.skip("the C library does not count")
    mallinfo.restype = MallInfo
    column = on_device(pa.array([1, 2, 3]))

    def leak(export, times=4000):
        def repeat(count):
            for _ in range(count):
                _schema, _array = export(column).__arrow_c_device_array__()
            del _schema, _array
            synchronize()
            time.sleep(0.2)  # a thread of ours may still be releasing exports

        repeat(1000)
        before = mallinfo().uordblks
        repeat(times)
        return round((mallinfo().uordblks - before) / times / 8) * 8

    beside(
        row="P1",
        what="bytes of host memory that each export leaves behind",
        right=0,
        ours=lambda: leak(bridge.to_arrow_device),
        theirs=lambda: leak(lambda column: column),
    )


def test_exports_on_several_threads_keep_the_reference_count(beside):
    column = on_device(pa.array([1, 2, 3]))

    def references_left():
        def export():
            for _ in range(200):
                bridge.to_arrow_device(column).__arrow_c_device_array__()

        before = sys.getrefcount(column)
        threads = [threading.Thread(target=export) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sys.getrefcount(column) - before

    beside(
        row="P2",
        what="references to a column that exports of 8 threads leave behind",
        right=0,
        ours=references_left,
        theirs="not run: it counts references without the GIL, and might free a column in use",
    )


def test_export_is_ordered_after_the_stream_that_made_the_data(late, beside):
    def last(export):
        producer, consumer, found = side_stream(), side_stream(), read_target()
        column = late.column(producer)
        column = column_from(export(column, producer), stream=consumer)
        late.copy(as_cupy(column.data()), found, consumer, cycles=0)
        consumer.synchronize()
        value = int(found[-1])
        producer.synchronize()
        return value

    beside(
        row="P3",
        what="the last value of a column that a side stream makes late: 0 if read too early",
        right=ROWS - 1,
        ours=lambda: last(lambda column, stream: bridge.to_arrow_device(column, stream=stream)),
        theirs=lambda: last(lambda column, stream: Producer(column)),
    )


def test_export_has_the_names_of_columns_and_fields(beside):
    import cudf

    frame = cudf.DataFrame({"number": [1, 2], "struct": [{"a": 1}, {"a": 2}]})

    def names(obj):
        capsule, _ = obj.__arrow_c_device_array__()
        return [node.name for node in nodes(struct_of(capsule))[1:]]

    beside(
        row="P4",
        what="names of a frame's columns and of a struct's fields",
        right=[b"number", b"struct", b"a"],
        ours=lambda: names(bridge.to_arrow_device(frame)),
        theirs=lambda: names(plc.Table([s.to_pylibcudf()[0] for _, s in frame.items()])),
    )
