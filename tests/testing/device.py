# SPDX-License-Identifier: Apache-2.0
"""Columns in device memory and slow kernels, for the tests under `tests/gpu`.

Importing this module neither uses CUDA nor imports libraries that may.
"""

from __future__ import annotations

import time

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.host import Memory
from testing.peers.arrays import DeviceOnly

#: Warnings of other libraries depend on the machine and do not fail these tests.
GPU = [pytest.mark.gpu, pytest.mark.filterwarnings("default")]

#: The types that pylibcudf's conversion supports: no nulls, and one width of dictionary indices.
TYPES = [t for t in samples.TYPES if not (pa.types.is_null(t) or pa.types.is_dictionary(t))]
types = pytest.mark.parametrize("type_", TYPES, ids=str)
#: Offsets and sizes.
SLICES = [(0, samples.MANY), (1, 64), (8, 40), (9, 65), (33, 0)]

ROWS = 1 << 16
#: About a second or more on any GPU: their clocks are not much faster than 2 GHz.
CYCLES = 1 << 31

_LATE_COPY = r"""
extern "C" __global__ void late_copy(
  int const* from, int* to, long long rows, long long cycles)
{
  long long const start = clock64();
  while (clock64() - start < cycles) {}
  for (long long i = threadIdx.x; i < rows; i += blockDim.x) { to[i] = from[i]; }
}
"""


class Late:
    """Copies of int32 values that start long after they are enqueued."""

    def __init__(self):
        import cupy

        self._kernel = cupy.RawKernel(_LATE_COPY, "late_copy")
        self.values = cupy.arange(ROWS, dtype="int32")
        # Loading a kernel or a module takes long and may wait for the device, so load them before
        # the slow copies.
        self.copy(self.values, cupy.empty_like(self.values), cupy.cuda.Stream.null, cycles=0)
        column = plc.Column.from_rmm_buffer(zeros(), plc.DataType(plc.TypeId.INT32), ROWS, [])
        cab.from_arrow_device(cab.to_arrow_device(column), to="pylibcudf")
        synchronize()

    def copy(self, source, target, stream, cycles=CYCLES):
        import numpy as np

        with stream:
            arguments = (source, target, np.int64(target.size), np.int64(cycles))
            self._kernel((1,), (1024,), arguments)

    def column(self, stream, mr=None):
        """Return a column of zeros, which a late copy on a stream sets to 0, 1, 2..."""
        (column,) = self.columns(1, stream, mr)
        return column

    def array(self, stream):
        """Return an export of a column like `column`, on its stream."""
        return cab.to_arrow_device(self.column(stream), stream=stream)

    def table(self, stream):
        """Return an export of a table of a column like `column`, on its stream."""
        return cab.to_arrow_device(plc.Table([self.column(stream)]), stream=stream)

    def columns(self, count, stream, mr=None):
        """Yield columns like `column`. Each copy is enqueued only when its column is requested."""
        # Allocating waits for the device, so allocate all buffers before the slow kernels.
        buffers = [zeros(mr) for _ in range(count)]
        synchronize()
        for buffer in buffers:
            self.copy(self.values, as_cupy(buffer), stream)
            yield plc.Column.from_rmm_buffer(buffer, plc.DataType(plc.TypeId.INT32), ROWS, [])


def zeros(mr=None):
    """Return memory of a resource with `ROWS` zeros."""
    import cupy
    import rmm

    buffer = rmm.DeviceBuffer(size=4 * ROWS, mr=mr)
    as_cupy(buffer).fill(0)
    cupy.cuda.Device().synchronize()
    return buffer


def read_target():
    """Return the target of a read. It waits for the device: call it before enqueuing slow work."""
    import cupy

    target = cupy.full(ROWS, -1, "int32")
    synchronize()
    return target


def as_cupy(span, dtype="int32"):
    """Return a cupy array over the memory of an object with a CUDA array interface."""
    import cupy

    return cupy.asarray(span).view(dtype)


class Address:
    """An address as a CUDA array interface that does not keep the memory alive."""

    def __init__(self, ptr):
        self.ptr = ptr

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.ptr, False), "shape": (4 * ROWS,), "typestr": "|u1", "version": 3}


def synchronize():
    import cupy

    cupy.cuda.Device().synchronize()


def side_stream():
    """Return a stream that is not ordered with the default stream."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


def expect_values(target, stream):
    """Check that the target of a read on a stream has the values of a late copy."""
    stream.synchronize()
    assert target.get().tolist() == list(range(ROWS))


def assert_late(late, readers, producer):
    """Check that reads of columns on their streams wait for the late copies of stream `producer`.

    Each reader is a target, allocated beforehand, a column and a stream.
    """
    for target, column, stream in readers:
        late.copy(as_cupy(column.data()), target, stream, cycles=0)
    assert not producer.done
    assert not any(stream.done for _, _, stream in readers)
    for target, _, stream in readers:
        expect_values(target, stream)


def wait_until(condition, seconds=20):
    """Wait until another thread makes a condition true; return whether it did so in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def on_device(array, **options):
    """Return a column in device memory, converted by pylibcudf."""
    return plc.Column.from_arrow(array, **options)


def sliced(column, offset, size):
    return plc.copying.slice(column, [offset, offset + size])[0]


def names_by_position(column, name=""):
    """Return metadata that names the fields of structs by position.

    pylibcudf names all fields "", but the dictionaries of rows need distinct names.
    """
    children = [names_by_position(child, str(i)) for i, child in enumerate(column.children())]
    return plc.interop.ColumnMetadata(name=name, children_meta=children)


def pylibcudf_rows(column):
    """Return rows that pylibcudf copies to the host. Fields of structs are named by position."""
    return column.to_arrow(names_by_position(column)).to_pylist()


def unnamed(value):
    """Return rows with the fields of structs named by position."""
    if isinstance(value, dict):
        return {str(i): unnamed(item) for i, item in enumerate(value.values())}
    return [unnamed(item) for item in value] if isinstance(value, list) else value


def fetched(column):
    """Copy a column in device memory to host memory, buffer by buffer."""

    def span(owner):
        if owner is None:
            return None
        return Memory(pa.py_buffer(as_cupy(owner, "uint8").get() if owner.size else b""))

    return plc.Column(
        column.type(),
        column.size(),
        span(column.data()),
        span(column.null_mask()),
        column.null_count(),
        column.offset(),
        [fetched(child) for child in column.children()],
    )


def rows(obj):
    """Return exported rows, which this package copies to host memory and pyarrow reads."""
    array = pa.array(cab.to_arrow_device(DeviceOnly(obj)).to_host())
    array.validate(full=True)
    return array.to_pylist()


def frame_rows(obj):
    """Return the rows of a cuDF object, exported by this package: it has no protocol of its own."""
    array = pa.array(cab.to_arrow_device(obj).to_host())
    array.validate(full=True)
    return array.to_pylist()


def outcome(call):
    """Return the result of another library's function as text: a value or an error."""
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
