# SPDX-License-Identifier: Apache-2.0
"""Tensors in device memory are exchanged with cupy, torch and numba."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.device import (
    GPU,
    ROWS,
    as_cupy,
    expect_values,
    on_device,
    pylibcudf_rows,
    read_target,
    side_stream,
    synchronize,
    wait_until,
)
from testing.peers import dlpack

pytestmark = GPU

each_import = pytest.mark.parametrize(
    "import_tensor", [cab.from_dlpack, cab.from_cuda_array_interface]
)
DTYPES = ["int8", "uint16", "int64", "float32", "float64"]


def export(dtype="int64"):
    return cab.to_arrow_device(on_device(pa.array(np.arange(100, dtype=dtype))))


@pytest.mark.parametrize("function", ["from_dlpack", "asarray"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy_shares_columns(dtype, function):
    cupy = pytest.importorskip("cupy")
    exported = export(dtype)
    found = getattr(cupy, function)(exported)
    assert found.dtype == dtype
    assert found.data.ptr == exported.buffers()[-1].address
    exported.release()
    del exported
    gc.collect()
    assert found.get().tolist() == list(range(100))


@pytest.mark.parametrize("function", ["from_dlpack", "as_tensor"])
def test_torch_shares_columns(function):
    torch = pytest.importorskip("torch")
    exported = export("int32")
    if function == "as_tensor":
        tensor = torch.as_tensor(exported, device="cuda")
    else:
        tensor = torch.from_dlpack(exported)
    assert tensor.is_cuda
    assert tensor.data_ptr() == exported.buffers()[-1].address
    assert tensor.tolist() == list(range(100))
    rows = cab.from_dlpack(tensor.reshape(25, 4), to="pylibcudf", kind="column", copy=False)
    assert rows.child(1).data().ptr == tensor.data_ptr()


def test_jax_shares_columns(monkeypatch):
    # JAX reserves most of the memory of the GPU when it first uses it.
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    try:
        jax.devices("cuda")
    except RuntimeError:
        pytest.skip("jax has no CUDA backend")
    exported = export("float32")
    found = jax.numpy.from_dlpack(exported)
    assert found.unsafe_buffer_pointer() == exported.buffers()[-1].address
    assert found.tolist() == list(range(100))
    back = cab.from_dlpack(found, to="pylibcudf", copy=False)
    assert back.data().ptr == found.unsafe_buffer_pointer()
    assert pylibcudf_rows(back) == list(range(100))


def test_numba_shares_columns():
    cuda = pytest.importorskip("numba.cuda")
    exported = export("float64")
    assert cuda.as_cuda_array(exported).copy_to_host().tolist() == list(range(100))


def test_cupy_shares_offsets():
    cupy = pytest.importorskip("cupy")
    exported = cab.to_arrow_device(on_device(pa.array(["ab", "c"])))
    assert cupy.from_dlpack(exported.buffer("offsets")).get().tolist() == [0, 2, 3]
    assert cupy.asarray(exported.buffer("data")).get().tolist() == [97, 98, 99]


def test_export_reports_its_dlpack_device(resource):
    _, label = resource
    exported = export()
    device_type, number = exported.__dlpack_device__()
    assert device_type.name == label
    assert number == 0
    assert np.from_dlpack(exported, device="cpu").tolist() == list(range(100))
    array = np.asarray(exported)
    assert array.tolist() == list(range(100))
    assert (array.ctypes.data == exported.buffers()[-1].address) == (label != "CUDA")
    if label == "CUDA":
        with pytest.raises(BufferError, match="data is in the memory of CUDA device 0"):
            exported.__dlpack__(dl_device=(1, 0), copy=False)
        with pytest.raises(BufferError, match="to_host"):
            memoryview(exported)


@pytest.mark.parametrize("function", ["from_dlpack", "asarray"])
def test_tensors_of_cupy_wait_for_the_stream_of_the_export(late, function):
    """cupy passes its current stream to DLPack, and waits for ours with the array interface."""
    import cupy

    producer, consumer, found = side_stream(), side_stream(), read_target()
    exported = late.array(producer)
    with consumer:
        tensor = getattr(cupy, function)(exported)
    if function == "from_dlpack":
        assert not producer.done
    late.copy(tensor, found, consumer, cycles=0)
    expect_values(found, consumer)


@each_import
def test_tensor_imports_wait_for_the_stream_of_cupy(late, import_tensor):
    import cupy

    producer, consumer, found = side_stream(), side_stream(), read_target()
    source = cupy.zeros(ROWS, "int32")
    synchronize()
    late.copy(late.values, source, producer)
    with producer:
        column = import_tensor(source, stream=consumer, to="pylibcudf")
    assert column.data().ptr == source.data.ptr
    late.copy(as_cupy(column.data()), found, consumer, cycles=0)
    assert not producer.done
    expect_values(found, consumer)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
@each_import
def test_cupy_matrices_are_shared_only_in_fortran_order(import_tensor, dtype, order):
    cupy = pytest.importorskip("cupy")
    source = cupy.array(cupy.arange(12).reshape(4, 3), dtype, order=order)
    table = import_tensor(source, to="pylibcudf")
    found = cupy.from_dlpack(cab.to_arrow_device(table))
    assert found.get().tolist() == source.get().tolist()
    assert (found.data.ptr == source.data.ptr) == (order == "F")


@pytest.mark.parametrize(
    ("part", "import_tensor"),
    [
        (slice(None, None, -1), cab.from_cuda_array_interface),  # wrong in cupy 14's DLPack
        (slice(1, None, 3), cab.from_cuda_array_interface),
        (slice(1, None, 3), cab.from_dlpack),
    ],
)
def test_strided_cupy_arrays_are_copied(part, import_tensor):
    cupy = pytest.importorskip("cupy")
    source = cupy.arange(100, dtype="int16")[part]
    column = import_tensor(source, to="pylibcudf")
    assert pylibcudf_rows(column) == source.get().tolist()
    with pytest.raises(ValueError, match=r"copy=False: the tensor in .* has to be copied"):
        import_tensor(source, copy=False)


def test_numpy_arrays_are_uploaded():
    source = np.arange(10)
    column = cab.from_dlpack(source, to="pylibcudf")
    assert pylibcudf_rows(column) == list(range(10))
    with pytest.raises(ValueError, match=r"copy=False: the data is in CPU memory"):
        cab.from_dlpack(source, copy=False)


@each_import
def test_cupy_array_is_released_after_the_last_kernel(late, import_tensor):
    """The memory must not be reused while the slow copy runs."""
    import cupy

    stream, found = side_stream(), read_target()
    source = cupy.arange(ROWS, dtype="int32")
    synchronize()
    gone = weakref.ref(source)
    column = import_tensor(source, stream=stream, to="pylibcudf")
    late.copy(as_cupy(column.data()), found, stream)
    del source, column
    gc.collect()
    assert gone() is not None
    assert not stream.done
    stream.synchronize()
    assert wait_until(lambda: gone() is None)
    assert found.get().tolist() == list(range(ROWS))


LISTS = [pa.list_(pa.float32()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 3)]


@pytest.mark.parametrize("list_type", LISTS, ids=str)
def test_cupy_shares_the_elements_of_lists(list_type):
    cupy = pytest.importorskip("cupy")
    expected = np.arange(300, dtype="float32").reshape(100, 3)
    array = pa.array(expected.tolist(), list_type)
    exported = cab.to_arrow_device(cab.from_arrow_device(array, to="pylibcudf"))
    for found in (cupy.from_dlpack(exported), cupy.asarray(exported)):
        assert found.get().tolist() == expected.tolist()
        assert found.data.ptr == exported.children[0].buffers()[-1].address


@pytest.mark.parametrize("shape", [(100, 3), (10, 3, 4)], ids=str)
@each_import
def test_cupy_arrays_become_lists_over_their_memory(import_tensor, shape):
    cupy = pytest.importorskip("cupy")
    source = cupy.arange(np.prod(shape), dtype="int32").reshape(shape)
    column = import_tensor(source, to="pylibcudf", kind="column", copy=False)
    assert column.child(1).data().ptr == source.data.ptr
    assert pylibcudf_rows(column) == source.reshape(shape[0], -1).get().tolist()
    found = cupy.from_dlpack(cab.to_arrow_device(column))
    assert found.shape == shape
    assert found.data.ptr == source.data.ptr


@pytest.mark.parametrize("axes", [(0, 2, 1), (1, 0, 2), (2, 1, 0)], ids=str)
def test_cupy_arrays_of_other_orders_are_gathered_to_lists(axes):
    cupy = pytest.importorskip("cupy")
    source = cupy.arange(60, dtype="int16").reshape(3, 4, 5).transpose(axes)
    column = cab.from_cuda_array_interface(source, to="pylibcudf", kind="column")
    found = cupy.from_dlpack(cab.to_arrow_device(column))
    assert (found == source).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_a_table_are_interleaved(dtype):
    cupy = pytest.importorskip("cupy")
    arrays = [np.arange(100).astype(dtype) + i for i in range(3)]
    table = plc.Table([on_device(pa.array(array)) for array in arrays])
    found = cupy.from_dlpack(cab.to_arrow_device(table).to_tensor("C"))
    assert found.flags.c_contiguous
    assert found.get().tolist() == np.column_stack(arrays).tolist()


def test_bools_of_one_byte_are_shared_and_checked():
    cupy = pytest.importorskip("cupy")
    source = cupy.array([True, False, True])
    series = cab.from_dlpack(source)
    exported = cab.to_arrow_device(series, requested_schema=pa.field("", pa.bool8()), copy=False)
    assert exported.buffers()[-1].address == source.data.ptr
    assert cupy.from_dlpack(cab.to_arrow_device(series)).data.ptr == source.data.ptr
    imported = cab.from_arrow_device(exported, to="pylibcudf", copy=False)
    assert imported.data().ptr == source.data.ptr
    source.view("uint8")[1] = 7
    synchronize()
    imported = cab.from_arrow_device(exported, to="pylibcudf")
    assert imported.data().ptr != source.data.ptr
    assert pylibcudf_rows(imported) == [True, True, True]


def test_c_exchange_interface_waits_for_the_export(late):
    """The consumer works on the legacy default stream, without further synchronization."""
    import cupy

    api = dlpack.Exchange.of(cab.DeviceArray)
    producer, found = side_stream(), read_target()
    exported = late.array(producer)
    managed = api.managed(exported)
    tensor = managed.dl_tensor
    assert (tensor.device_type, tensor.device_id, managed.flags) == (2, 0, dlpack.READ_ONLY)
    assert tensor.data == api.view(exported).data == exported.buffers()[-1].address
    memory = cupy.cuda.UnownedMemory(tensor.data, 4 * ROWS, exported)
    source = cupy.ndarray(ROWS, "int32", cupy.cuda.MemoryPointer(memory, 0))
    found[:] = source
    assert found.get().tolist() == list(range(ROWS))
    again = api.object(ctypes.addressof(managed))
    assert again.device_type.name == "CUDA"
    assert again.buffers()[-1].address == exported.buffers()[-1].address
