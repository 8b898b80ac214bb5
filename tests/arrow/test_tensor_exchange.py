# SPDX-License-Identifier: Apache-2.0
"""Test DLPack's C exchange interface by its struct and with tvm-ffi, and DLPack with JAX."""

from __future__ import annotations

import ctypes
import gc
import math
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow.buffers import BufferTensor
from testing import owners
from testing.host import to_plc
from testing.peers import dlpack
from testing.peers.dlpack import DLTensor, Exchange, Producer, Versioned

API = Exchange.of(cab.DeviceArray)


def export(array):
    return cab.to_arrow_device(to_plc(array))


def table_of_separate_columns():
    return cab.to_arrow_device(plc.Table([to_plc(pa.array([1, 2])), to_plc(pa.array([3, 4]))]))


def values_of(tensor):
    """Read the memory of a tensor of integers of 64 bits, whose stride is 1 in the first dimension.

    The result is a copy.
    """
    size = math.prod(tensor.shape[: tensor.ndim])
    return list((ctypes.c_int64 * size).from_address(tensor.data))


def test_interface_is_a_complete_table_of_dlpack_1_3():
    assert (API.major, API.minor, API.previous) == (1, 3, None)
    for name, _ in Exchange._fields_[3:]:
        assert ctypes.cast(getattr(API, name), ctypes.c_void_p).value
    assert ctypes.addressof(Exchange.of(BufferTensor)) == ctypes.addressof(API)


@pytest.mark.parametrize("dtype", dlpack.NUMBERS)
def test_view_has_the_address_type_and_shape_of_the_column(dtype):
    array = pa.array(dlpack.values(100, dtype))
    exported = export(array.slice(3, 50))
    tensor = API.view(exported)
    expected = dlpack.struct_of(Producer(np.empty(0, dtype)).capsule()).dl_tensor
    assert (tensor.device_type, tensor.device_id) == dlpack.CPU
    assert (tensor.code, tensor.bits, tensor.lanes) == (expected.code, expected.bits, 1)
    assert (tensor.ndim, tensor.shape[0], tensor.strides[0]) == (1, 50, 1)
    assert tensor.data == array.buffers()[1].address + 3 * tensor.bits // 8
    assert tensor.byte_offset == 0


def test_managed_tensor_is_read_only_and_outlives_the_array():
    column, gone = owners.watched(pa.array([1, 2, 3]))
    exported = cab.to_arrow_device(column)
    managed = API.managed(exported)
    assert (managed.major, managed.minor, managed.flags) == (1, 3, dlpack.READ_ONLY)
    assert managed.dl_tensor.data == exported.buffers()[-1].address
    exported.release()
    del column, exported
    gc.collect()
    assert gone() is not None
    assert values_of(managed.dl_tensor) == [1, 2, 3]
    dlpack.delete(managed)
    gc.collect()
    assert gone() is None


def test_each_managed_tensor_of_a_copied_table_has_its_own_memory():
    table = table_of_separate_columns()
    view = API.view(table)
    first, second = API.managed(table), API.managed(table)
    assert first.flags == second.flags == dlpack.IS_COPIED
    assert len({view.data, API.view(table).data, first.dl_tensor.data, second.dl_tensor.data}) == 3
    for tensor in (view, first.dl_tensor, second.dl_tensor):
        assert (tensor.shape[:2], tensor.strides[:2]) == ([2, 2], [1, 2])
        assert values_of(tensor) == [1, 2, 3, 4]
    for managed in (first, second):
        dlpack.delete(managed)


@pytest.mark.parametrize("get", [API.view, API.managed], ids=["view", "managed"])
def test_columns_that_are_not_tensors_raise_a_buffer_error(get):
    exported = export(pa.array([1, None]))
    before = sys.getrefcount(exported)
    for _ in range(10):
        with pytest.raises(BufferError, match="nulls"):
            get(exported)
    assert sys.getrefcount(exported) == before


def test_calls_do_not_keep_references_to_the_array():
    exported = export(pa.array([1, 2]))
    before = sys.getrefcount(exported)
    shape = ctypes.addressof(API.view(exported).shape.contents)
    for _ in range(10):
        # All views share one tensor.
        assert ctypes.addressof(API.view(exported).shape.contents) == shape
        dlpack.delete(API.managed(exported))
    assert sys.getrefcount(exported) == before


@pytest.mark.parametrize(
    "obj", [object(), 1, SimpleNamespace(_array=1)], ids=["object", "int", "namespace"]
)
def test_objects_of_other_types_raise(obj):
    with pytest.raises((AttributeError, TypeError)):
        API.view(obj)


@pytest.mark.parametrize("used", [False, True], ids=["unused", "used"])
@pytest.mark.parametrize("get", [API.view, API.managed], ids=["view", "managed"])
def test_released_array_raises(get, used):
    column, gone = owners.watched(pa.array([1, 2, 3]))
    exported = cab.to_arrow_device(column)
    del column
    if used:
        API.view(exported)
    exported.release()
    gc.collect()
    assert gone() is None
    with pytest.raises(ValueError, match="released"):
        get(exported)


def test_release_while_the_tensor_is_opened_raises(monkeypatch):
    column, gone = owners.watched(pa.array([1, 2, 3]))
    exported = cab.to_arrow_device(column)
    del column

    def open_and_release(array, real=cab.DeviceArray._open_exchanged):
        tensor = real(array)
        array.release()
        return tensor

    monkeypatch.setattr(cab.DeviceArray, "_open_exchanged", open_and_release)
    with pytest.raises(ValueError, match="released"):
        API.view(exported)
    gc.collect()
    assert gone() is None


def test_first_of_two_tensors_that_are_opened_at_once_stays(monkeypatch):
    """Another thread may use the view of the first one."""
    exported = export(pa.array([1, 2, 3]))
    views = []

    def open_twice(array, real=cab.DeviceArray._open_exchanged):
        monkeypatch.undo()
        views.append(API.view(array))
        return real(array)

    monkeypatch.setattr(cab.DeviceArray, "_open_exchanged", open_twice)
    views.append(API.view(exported))
    first, second = (ctypes.addressof(view.shape.contents) for view in views)
    assert first == second


def test_device_memory_is_ordered_with_the_legacy_default_stream(monkeypatch):
    calls = []
    tensor = SimpleNamespace(
        make_wait=lambda stream: calls.append(("wait", stream)),
        release_after=lambda freed, reader: calls.append(("release", freed, reader)),
    )
    exported = export(pa.array([1]))
    monkeypatch.setattr(cab.DeviceArray, "open_tensor", lambda array, copy: tensor)
    assert exported._open_exchanged() is tensor
    assert calls == []
    device = cab.DeviceType.CUDA, 0
    monkeypatch.setattr(cab.DeviceArray, "__dlpack_device__", lambda array: device)
    assert exported._open_exchanged() is tensor
    assert calls == [("wait", 1), ("release", exported._array.stream, 1)]


@pytest.mark.parametrize("device", [(1, 0), (2, 0), (2, 3), (13, 0)])
def test_work_stream_is_the_legacy_default_stream(device):
    out = ctypes.c_void_p(1)
    assert API.current_stream(*device, ctypes.byref(out)) == 0
    assert out.value is None


@pytest.mark.parametrize("shape", [(100,), (20, 5)])
@pytest.mark.parametrize("dtype", [*dlpack.NUMBERS, "bool"])
def test_object_over_a_tensor_shares_its_memory(dtype, shape):
    array = dlpack.values(100, dtype).reshape(shape)
    producer = Producer(array)
    Producer.alive.add(producer)
    created = API.object(ctypes.addressof(producer._struct))
    assert isinstance(created, cab.DeviceArray)
    assert created.to_arrow().to_pylist() == array.tolist()
    assert API.view(created).data == array.ctypes.data
    assert producer.deleted == 0
    del created
    gc.collect()
    assert producer.deleted == 1


def test_tensor_that_is_not_imported_is_deleted_once():
    def edit(struct):
        struct.major = 2

    producer = Producer(np.arange(3), edit)
    Producer.alive.add(producer)
    with pytest.raises(ValueError, match=r"DLPack.*2\.0"):
        API.object(ctypes.addressof(producer._struct))
    gc.collect()
    assert producer.deleted == 1


def allocate(shape, code=dlpack.INT, bits=64, lanes=1, device=dlpack.CPU):
    """Return a new tensor, or the errors that the function has set."""
    errors = []
    set_error = dlpack.SET_ERROR(lambda context, *error: errors.append((context, *error)))
    extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    prototype = DLTensor(None, *device, len(shape), code, bits, lanes, extents, None, 0)
    out = ctypes.c_void_p()
    status = API.allocate(ctypes.byref(prototype), ctypes.byref(out), 7, set_error)
    assert (status, bool(out.value)) == ((-1, False) if errors else (0, True))
    return errors or Versioned.from_address(out.value)


ALLOCATED = [
    ((3,), dlpack.INT, 64, 1, (1,)),
    ((2, 3, 4), dlpack.BFLOAT, 16, 1, (12, 4, 1)),
    ((5, 2), dlpack.FLOAT, 32, 4, (2, 1)),
    ((7,), 17, 4, 1, (1,)),
    ((), dlpack.FLOAT, 64, 1, ()),
    ((2, 0), dlpack.INT, 64, 1, (0, 1)),
]


@pytest.mark.parametrize(("shape", "code", "bits", "lanes", "strides"), ALLOCATED)
def test_allocated_tensor_has_the_shape_and_type_of_its_prototype(
    shape, code, bits, lanes, strides
):
    managed = allocate(shape, code, bits, lanes)
    tensor = managed.dl_tensor
    assert (managed.major, managed.minor, managed.flags) == (1, 3, 0)
    assert (tensor.device_type, tensor.device_id) == dlpack.CPU
    assert (tensor.code, tensor.bits, tensor.lanes) == (code, bits, lanes)
    assert tuple(tensor.shape[: tensor.ndim]) == shape
    assert tuple(tensor.strides[: tensor.ndim]) == strides
    if size := math.prod(shape) * math.ceil(bits * lanes / 8):
        ctypes.memset(tensor.data, 1, size)
    else:
        assert tensor.data is None
    dlpack.delete(managed)


@pytest.mark.parametrize(
    ("shape", "device", "kind", "message"),
    [
        ((3,), (2, 0), b"ValueError", b"expected a tensor on the CPU or a CUDA device, got"),
        ((3,), (10, 0), b"ValueError", b"expected a tensor on the CPU or a CUDA device, got"),
        ((-1,), dlpack.CPU, b"ValueError", b"an extent is negative: -1"),
        ((2**62, 2), dlpack.CPU, b"ValueError", b"the tensor has more bytes than"),
        ((2**58,), dlpack.CPU, b"MemoryError", b""),
    ],
    ids=["CUDA", "ROCm", "negative", "overflow", "huge"],
)
def test_failed_allocation_sets_one_error(shape, device, kind, message):
    ((context, found, text),) = allocate(shape, device=device)
    assert (context, found) == (7, kind)
    assert text.startswith(message)


@pytest.fixture
def tvm_ffi():
    return pytest.importorskip("tvm_ffi", reason="the dependency group consumers is not installed")


@pytest.fixture
def echo(tvm_ffi):
    """Return a function that returns its argument."""
    return tvm_ffi.get_global_func("testing.echo")


def test_tvm_ffi_functions_share_the_memory_of_a_column(tvm_ffi, echo):
    exported = export(pa.array([1, 2, 3], pa.int16()))
    seen = []
    tvm_ffi.convert(lambda tensor: seen.append((tensor.shape, str(tensor.dtype))))(exported)
    assert seen == [((3,), "int16")]
    echoed = echo(exported)
    assert isinstance(echoed, cab.DeviceArray)
    assert pa.array(echoed).to_pylist() == [1, 2, 3]
    addresses = {API.view(exported).data, API.view(echoed).data}
    assert addresses == {tvm_ffi.from_dlpack(exported).data_ptr()}


def test_tvm_ffi_raises_the_errors_of_the_export(tvm_ffi, echo):
    with pytest.raises(BufferError, match="nulls"):
        echo(export(pa.array([1, None])))
    with pytest.raises(BufferError, match="'string'"):
        tvm_ffi.from_dlpack(export(pa.array(["a"])))


#: JAX warns of all later forks of its process.
JAX = """
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import cudf_arrow_bridge as cab

whole = pa.array(range(100), pa.int32())
for begin in range(33):
    exported = cab.to_arrow_device(whole.slice(begin, 50))
    found = jnp.from_dlpack(exported)
    address = np.from_dlpack(exported).ctypes.data
    assert (found.unsafe_buffer_pointer() == address) == (begin * 4 % 64 == 0)
    exported.release()
    assert found.tolist() == whole.slice(begin, 50).to_pylist()

tensor = jnp.array([True, False])
column = cab.from_dlpack(tensor, to="pylibcudf", copy=False)
assert column.data().ptr == tensor.unsafe_buffer_pointer()
del tensor
assert cab.to_arrow_device(column).to_pylist() == [True, False]
"""


@pytest.mark.skipif(
    find_spec("jax") is None, reason="the dependency group consumers is not installed"
)
def test_jax_shares_memory_that_is_aligned_to_64_bytes():
    subprocess.run([sys.executable, "-P", "-W", "error", "-c", JAX], check=True)
