# SPDX-License-Identifier: Apache-2.0
"""The rows of docs/pylibcudf.md: pylibcudf's own interop, compared with ours.

tests/project/test_pylibcudf_page.py compares them in host memory, as far as that needs no GPU.

Our result must be right. The property `pylibcudf` of each test in the report of
`pytest --junitxml=FILE` is pylibcudf's result. A wrong result of pylibcudf is not a failure.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from functools import partial

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import foreign
from testing.device import (
    GPU,
    ROWS,
    as_cupy,
    on_device,
    outcome,
    pylibcudf_rows,
    read_target,
    rows,
    side_stream,
    sliced,
    synchronize,
    unnamed,
)
from testing.peers import arrays, dlpack
from testing.peers.arrays import DeviceOnly, Producer, column_from, struct_of
from testing.peers.device_memory import OnDevice
from testing.peers.pylibcudf_interop import EXPORTS, NULL_VALUE, REFUSED
from testing.processes import PYTHONPATH

pytestmark = GPU

#: Producers that pylibcudf never released: C code may still have pointers to their callbacks.
NEVER_RELEASED = []


class Ours:
    name = "ours"
    export = staticmethod(cab.to_arrow_device)
    column = staticmethod(column_from)

    @staticmethod
    def to_dlpack(column):
        return cab.to_arrow_device(column).__dlpack__()

    @staticmethod
    def from_dlpack(tensor):
        return cab.from_dlpack(tensor, to="pylibcudf")

    @staticmethod
    def from_cuda_array_interface(tensor, stream):
        return cab.from_cuda_array_interface(tensor, stream=stream, to="pylibcudf")


class Theirs:
    name = "theirs"
    from_cuda_array_interface = staticmethod(plc.Column.from_cuda_array_interface)

    @staticmethod
    def export(obj, stream=None):
        return obj  # it has the protocol, which takes no stream

    @staticmethod
    def column(producer, **options):
        return plc.Column.from_arrow(DeviceOnly(producer), **options)

    @staticmethod
    def to_dlpack(column):
        return plc.interop.to_dlpack(plc.Table([column]))

    @staticmethod
    def from_dlpack(tensor):
        return plc.interop.from_dlpack(tensor.__dlpack__()).columns()[0]


#: The row of the page, what is compared, the right result, and the function that finds the result.
CASES = []


def case(row, what, right):
    """Add a function that finds the result of `Ours` or `Theirs`."""

    def add(find):
        CASES.append(pytest.param(row, what, right, find, id=f"{row} {what}"))
        return find

    return add


def struct(side, obj):
    """Return the capsule of an export and its struct."""
    _, capsule = side.export(obj).__arrow_c_device_array__()
    return capsule, struct_of(capsule)


def slice_rows(array, offset, size, side):
    return rows(Producer(side.export(sliced(on_device(array), offset, size))))


for name, (array, offset, size) in EXPORTS.items():
    right = array.slice(offset, size).to_pylist()
    case(name[:2], f"slice: {name[3:]}", right)(partial(slice_rows, array, offset, size))


@case("E6", "device type of managed memory", int(cab.DeviceType.CUDA_MANAGED))
def type_of_managed_memory(side):
    import rmm.mr

    column = on_device(pa.array([1, None, 3]), mr=rmm.mr.ManagedMemoryResource())
    _capsule, exported = struct(side, column)
    return exported.device_type


@case("E7", "release after a CUDA error that nothing clears", "released")
def release_after_an_error(side):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "testing.peers.sticky_error", side.name],
        env=os.environ | {"PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip()[-200:]


@case("E8", "event takes times, which makes it slower", False)
def event_takes_times(side):
    from cupy.cuda import runtime

    _capsule, exported = struct(side, on_device(pa.array([1, 2, 3])))
    event = ctypes.c_void_p.from_address(exported.sync_event).value
    runtime.eventSynchronize(event)
    try:
        runtime.eventElapsedTime(event, event)
    except runtime.CUDARuntimeError:
        return False
    return True


@case("I4", "rows behind an offset of 2^32 + 5", [1, 2, 3])
def rows_behind_a_far_offset(side):
    import cupy

    begin = 2**32 + 5
    memory = cupy.zeros(begin + 3, "int8")
    memory[begin:] = cupy.asarray([1, 2, 3], "int8")

    def far(schema, array):
        array.array.offset, array.array.buffers[1] = begin, memory.data.ptr

    exported = cab.to_arrow_device(on_device(pa.array([7, 8, 9], pa.int8())))
    return pylibcudf_rows(side.column(Producer(exported, far)))


def imported_rows(array, side):
    producer = OnDevice(array)
    return pylibcudf_rows(side.column(producer))


case("I5", "null value of a dictionary", NULL_VALUE.dictionary_decode().to_pylist())(
    partial(imported_rows, NULL_VALUE)
)
for array in REFUSED:
    plain = array.cast(pa.binary()) if array.type == pa.binary_view() else array
    right = unnamed(foreign.expected_import(plain).to_pylist())
    case("I6", f"import of {array.type}", right)(partial(imported_rows, array))


@case("I9", "bytes of the last rows that memory at an offset lacks", 0)
def missing_bytes(side):
    def cut(schema, array):
        array.array.offset, array.array.length = 2, 3

    column = side.column(Producer(cab.to_arrow_device(on_device(pa.array(range(5)))), cut))
    return 8 * (column.offset() + column.size()) - column.data().size


@case("DLPack", "an exported tensor shares its memory", True)
def shares_exported_tensor(side):
    column = on_device(pa.array([1, 2, 3]))
    return dlpack.struct_of(side.to_dlpack(column)).dl_tensor.data == column.data().ptr


@case("DLPack", "an imported tensor shares its memory", True)
def shares_imported_tensor(side):
    import cupy

    source = cupy.arange(3)
    return side.from_dlpack(source).data().ptr == source.data.ptr


def check(record_property, row, what, right, find):
    """Check our result, and record pylibcudf's result or its error as text."""
    found = find(Ours)
    kinds = (arrays.Producer, dlpack.Producer)
    before = [set(kind.alive) for kind in kinds]
    theirs = outcome(lambda: find(Theirs))
    synchronize()
    gc.collect()
    for kind, known in zip(kinds, before, strict=True):
        NEVER_RELEASED.extend(kind.alive - known)
        kind.alive &= known
    for name, value in (
        ("row", row),
        ("what", what),
        ("right", repr(right)),
        ("pylibcudf", theirs),
    ):
        record_property(name, value)
    assert found == right


@pytest.mark.parametrize(("row", "what", "right", "find"), CASES)
def test_result_is_right(row, what, right, find, record_property):
    check(record_property, row, what, right, find)


def test_export_is_ordered_after_the_stream_that_wrote_the_data(late, record_property):
    def last_value(side):
        producer, consumer, found = side_stream(), side_stream(), read_target()
        stream = {"stream": producer} if side is Ours else {}
        column = side.export(late.column(producer), **stream)
        column = column_from(Producer(column), stream=consumer)
        late.copy(as_cupy(column.data()), found, consumer, cycles=0)
        consumer.synchronize()
        value = int(found[-1])
        producer.synchronize()
        return value

    what = "last value of a column that a side stream writes late: 0 if read too early"
    check(record_property, "P3", what, ROWS - 1, last_value)


def test_release_of_an_import_waits_for_the_reader(late, record_property):
    """The memory stays valid, but after an early release the producer could reuse it."""
    import cupy

    source = late.column(cupy.cuda.Stream.null)
    synchronize()

    def early_releases(side):
        reader, found = side_stream(), read_target()
        producer = Producer(cab.to_arrow_device(source))
        column = side.column(producer, stream=reader)
        late.copy(as_cupy(column.data()), found, reader)
        del column
        gc.collect()
        early = 0 if reader.done else producer.releases
        reader.synchronize()
        return early

    what = "releases of the producer while a kernel reads a column that was dropped"
    check(record_property, "I11", what, 0, early_releases)


def test_cuda_array_interface_import_waits_for_the_producer(late, record_property):
    import cupy

    def last_value(side):
        producer, consumer, found = side_stream(), side_stream(), read_target()
        source = cupy.zeros(ROWS, "int32")
        synchronize()
        late.copy(late.values, source, producer)
        with producer:
            column = side.from_cuda_array_interface(source, stream=consumer)
        late.copy(as_cupy(column.data()), found, consumer, cycles=0)
        consumer.synchronize()
        value = int(found[-1])
        producer.synchronize()
        return value

    what = "last value of an array that its own stream writes late: 0 if read too early"
    check(record_property, "CUDA array interface", what, ROWS - 1, last_value)
