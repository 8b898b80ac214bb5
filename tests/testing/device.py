# SPDX-License-Identifier: Apache-2.0
"""Columns in device memory and work that takes its time, for the tests under `tests/gpu`.

Nothing here touches CUDA, or imports what may, before a test calls it.
"""

from __future__ import annotations

import time

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing.host import Memory
from testing.peers.arrays import DeviceOnly

#: What other libraries warn of on a machine we have not seen is not our failure.
GPU = [pytest.mark.gpu, pytest.mark.filterwarnings("default")]

ROWS = 1 << 16
#: Half a second and more on any GPU: no clock of one reaches 2 GHz by much.
CYCLES = 1 << 30

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
    """Copies of int32 values that begin long after they are enqueued."""

    def __init__(self):
        import cupy

        self._kernel = cupy.RawKernel(_LATE_COPY, "late_copy")
        self.values = cupy.arange(ROWS, dtype="int32")
        # Loading a kernel may wait for the device: not when it matters.
        self.copy(self.values, cupy.empty_like(self.values), cupy.cuda.Stream.null, cycles=0)
        settle()

    def copy(self, source, target, stream, cycles=CYCLES):
        import numpy as np

        with stream:
            arguments = (source, target, np.int64(target.size), np.int64(cycles))
            self._kernel((1,), (1024,), arguments)

    def column(self, stream, mr=None):
        """A column of zeros, which become 0, 1, 2... late on a stream."""
        (column,) = self.columns(1, stream, mr)
        return column

    def columns(self, count, stream, mr=None):
        """Several of them, one after the other; each is enqueued only when it is asked for."""
        # Allocating waits for the device, so that it all happens before the slow kernels.
        buffers = [zeros(mr) for _ in range(count)]
        settle()
        for buffer in buffers:
            self.copy(self.values, as_cupy(buffer), stream)
            yield plc.Column.from_rmm_buffer(buffer, plc.DataType(plc.TypeId.INT32), ROWS, [])


def zeros(mr=None):
    """Memory of a resource for `ROWS` values, all zero."""
    import cupy
    import rmm

    buffer = rmm.DeviceBuffer(size=4 * ROWS, mr=mr)
    as_cupy(buffer).fill(0)
    cupy.cuda.Device().synchronize()
    return buffer


def blank():
    """Where a test reads to. Made before anything slow is enqueued, which it would wait for."""
    import cupy

    made = cupy.full(ROWS, -1, "int32")
    settle()
    return made


def as_cupy(span, dtype="int32"):
    """Whatever has a CUDA array interface, as a cupy array over the same memory."""
    import cupy

    return cupy.asarray(span).view(dtype)


class Address:
    """Memory that this does not keep alive."""

    def __init__(self, ptr):
        self.ptr = ptr

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.ptr, False), "shape": (4 * ROWS,), "typestr": "|u1", "version": 3}


def settle():
    import cupy

    cupy.cuda.Device().synchronize()


def side_stream():
    """A stream that is not ordered with the default one."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


def assert_late(late, readers, producer):
    """The columns are read right on their streams, none of which has got there yet.

    The readers are a target each, made beforehand, with the column and the stream.
    """
    for target, column, stream in readers:
        late.copy(as_cupy(column.data()), target, stream, cycles=0)
    assert not producer.done
    for target, _, stream in readers:
        assert not stream.done
        stream.synchronize()
        assert target.get().tolist() == list(range(ROWS))


def wait_until(condition, seconds=20):
    """Wait for what another thread does; return whether it came to pass."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def on_device(array, **options):
    """A column in device memory, made by pylibcudf's own conversion."""
    return plc.Column.from_arrow(array, **options)


def sliced(column, offset, size):
    return plc.copying.slice(column, [offset, offset + size])[0]


def names_by_position(column, name=""):
    """Names for the fields of structs: pylibcudf names all "", and rows need other ones."""
    children = [names_by_position(child, str(i)) for i, child in enumerate(column.children())]
    return plc.interop.ColumnMetadata(name=name, children_meta=children)


def unloaded(column):
    """Rows by pylibcudf's own copy to the host, the fields of structs named by position."""
    return column.to_arrow(names_by_position(column)).to_pylist()


def unnamed(value):
    """Rows with the fields of structs named by position."""
    if isinstance(value, dict):
        return {str(i): unnamed(item) for i, item in enumerate(value.values())}
    return [unnamed(item) for item in value] if isinstance(value, list) else value


def fetched(column):
    """A column of device memory as one of host memory, each of its buffers copied as it is."""

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
    """What an exporter exports, copied to host memory by the bridge and read by pyarrow."""
    array = pa.array(bridge.to_arrow_device(DeviceOnly(obj)).to_host())
    array.validate(full=True)
    return array.to_pylist()


def frame_rows(obj):
    """What cuDF's objects hold: they have no protocol of their own, so we export them."""
    array = pa.array(bridge.to_arrow_device(obj).to_host())
    array.validate(full=True)
    return array.to_pylist()


def outcome(call):
    """The result of another library's function as text: a value or an error."""
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
