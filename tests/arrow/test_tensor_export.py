# SPDX-License-Identifier: Apache-2.0
"""Test exports as tensors with NumPy, and compare the structs with the specifications."""

from __future__ import annotations

import ctypes
import gc
from functools import partial

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from testing import owners, samples
from testing.host import to_plc
from testing.peers import dlpack
from testing.peers.arrays import _get_name
from testing.peers.dlpack import Handing
from testing.strategies import NOT_SLOW

READERS = {
    "from_dlpack": np.from_dlpack,
    "asarray": np.asarray,
    "memoryview": lambda exported: np.asarray(memoryview(exported)),
}
LISTS = {
    "list": pa.list_,
    "large_list": pa.large_list,
    "fixed_size_list": lambda value: pa.list_(value, 3),
}
#: Rows of a column of 100 rows.
ROWS = [(0, 100), (0, 0), (100, 0), (3, 1), (33, 50)]


def export(array):
    """Export a host column over pyarrow's memory."""
    return cab.to_arrow_device(to_plc(array))


def table_of(arrays):
    return cab.to_arrow_device(plc.Table([to_plc(array) for array in arrays]))


def address_of(exported, name="data"):
    return next(b.address for b in exported.buffers() if b.name == name)


@pytest.mark.parametrize("dtype", dlpack.NUMBERS)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_column_of_numbers_is_shared(read, dtype):
    expected = dlpack.values(100, dtype)
    array = pa.array(expected)
    for begin, size in ROWS:
        found = read(export(array.slice(begin, size)))
        assert found.dtype == dtype
        assert np.array_equal(found, expected[begin : begin + size])
        if size:
            assert not found.flags.writeable
            assert found.ctypes.data == array.buffers()[1].address + begin * found.itemsize
    assert pa.py_buffer(export(array)).address == array.buffers()[1].address


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float64"])
@pytest.mark.parametrize("make_type", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_lists_of_one_length_share_their_elements(read, make_type, dtype):
    expected = dlpack.values(300, dtype).reshape(100, 3)
    array = pa.array(expected.tolist(), make_type(pa.from_numpy_dtype(dtype)))
    whole = cab.to_arrow_device(array)
    for begin, size in ROWS:
        rows = expected[begin : begin + size]
        for exported in (
            whole[begin : begin + size],
            cab.to_arrow_device(array.slice(begin, size)),
        ):
            found = read(exported)
            assert found.tolist() == rows.tolist()
            # Offsets do not tell the length of lists where there are none.
            if size:
                assert (found.dtype, found.shape) == (rows.dtype, rows.shape)
                assert found.strides == rows.strides
                assert not found.flags.writeable
    address = whole.children[0].buffers()[-1].address
    assert read(whole[33:]).ctypes.data == address + 33 * expected.strides[0]


@NOT_SLOW
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=8), st.sampled_from([pa.list_, pa.large_list])
)
def test_lists_are_a_tensor_if_their_lengths_are_equal(lengths, make_type):
    array = pa.array([list(range(length)) for length in lengths], make_type(pa.int16()))
    exported = cab.to_arrow_device(array)
    if len(set(lengths)) == 1:
        assert np.from_dlpack(exported).tolist() == array.to_pylist()
    else:
        expected = f"the lists have {min(lengths)} to {max(lengths)} elements"
        with pytest.raises(BufferError, match=expected):
            np.from_dlpack(exported)


def test_lengths_that_are_equal_modulo_2_to_the_32_are_not_equal():
    offsets = to_plc(pa.array([0, 2**30 + 1, -(2**31) + 2, -(2**30) + 3, 4], pa.int32()))
    children = [offsets, to_plc(pa.array([1, 2, 3, 4]))]
    lists = plc.Column(plc.DataType(plc.TypeId.LIST), 4, None, None, 0, 0, children)
    with pytest.raises(BufferError, match="a tensor needs lists of one length"):
        np.from_dlpack(cab.to_arrow_device(lists))


@pytest.mark.parametrize("order", [None, [0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_tensors_of_a_fixed_shape_have_its_dimensions(order):
    tensor_type = pa.fixed_shape_tensor(pa.int32(), [2, 3, 4], permutation=order)
    # pyarrow 26's own to_numpy_ndarray has wrong strides for permutations of three dimensions.
    stored = np.arange(5 * 24, dtype="int32").reshape(5, 2, 3, 4)
    storage = pa.array(stored.reshape(5, 24).tolist(), pa.list_(pa.int32(), 24))
    array = pa.ExtensionArray.from_storage(tensor_type, storage)
    expected = stored.transpose(0, *(1 + i for i in order or range(3)))
    exported = cab.to_arrow_device(array)
    found = np.from_dlpack(exported)
    assert np.array_equal(found, expected)
    assert found.strides == expected.strides
    assert found.ctypes.data == exported.children[0].buffers()[-1].address
    through_frame = cab.to_arrow_device(cab.from_arrow_device(array))
    assert through_frame.schema.type == tensor_type
    assert np.array_equal(np.from_dlpack(through_frame), expected)


@pytest.mark.parametrize("offset", [0, 3, 8, 33])
def test_slice_without_nulls_in_its_rows_is_exported(offset):
    """The struct keeps an offset inside a byte, and rows before the offset may be null."""
    column = to_plc(pa.array([None, *range(99)], pa.int64()))
    part = plc.Column(
        column.type(), 50, column.data(), column.null_mask(), 0, offset + 1, column.children()
    )
    found = np.from_dlpack(cab.to_arrow_device(part))
    assert found.tolist() == list(range(offset, offset + 50))


def test_export_counts_the_nulls_of_a_child_of_a_sliced_struct():
    """A child of a sliced struct may have nulls outside the slice."""
    base = pa.StructArray.from_arrays([pa.array([*range(99), None], pa.int32())], ["0"])
    without = cab.to_arrow_device(samples.column_of(base, [(9, 40)])).children[0]
    assert without.null_count == 0
    assert np.from_dlpack(without)[-1] == 48
    nulls = cab.to_arrow_device(samples.column_of(base, [(60, 40)])).children[0]
    with pytest.raises(BufferError, match="nulls"):
        np.from_dlpack(nulls)


NULLS = "the number of nulls is 1: a tensor has no validity bitmap"
NO_NUMBERS = r"a tensor needs numbers, and the Arrow type is"
REFUSED = [
    (pa.array([1, None]), NULLS),
    (pa.array(["a"]), f"{NO_NUMBERS} 'string'"),
    (pa.array([1], pa.timestamp("ns")), rf"{NO_NUMBERS} 'timestamp\[ns\]'"),
    (pa.array([1], pa.decimal128(9, 2)), f"{NO_NUMBERS} 'decimal128'"),
    (pa.array([1, 1]).dictionary_encode(), f"{NO_NUMBERS} 'dictionary'"),
    (pa.array([True]).dictionary_encode(), f"{NO_NUMBERS} 'dictionary'"),
    (pa.nulls(3), f"{NO_NUMBERS} 'null'"),
    (pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())), f"{NO_NUMBERS} 'map'"),
    (pa.array([[[1], [2]], [[3], [4, 5]]]), "the lists have 1 to 2 elements: a tensor"),
    (pa.array([[1], None]), NULLS),
    (pa.array([[1, 2], [None, 3]]), NULLS),
    (pa.array([{"0": 1}, {"0": None}]), f"column '0': {NULLS}"),
    (pa.array([{"0": 1}, None]), NULLS),
    (pa.array([{"0": 1, "1": 1.0}]), "column '1': expected int64, the type of the first column"),
    (pa.array([{"0": 1, "1": "x"}]), f"column '1': {NO_NUMBERS} 'string'"),
    (pa.array([{}]), "a table without columns is not a tensor"),
]


@pytest.mark.parametrize(("array", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_export_of_data_that_is_not_a_tensor_raises_the_reason(array, message):
    exported = cab.to_arrow_device(array)
    without_copy = partial(cab.DeviceArray.__dlpack__, copy=False)
    for use in (cab.DeviceArray.__dlpack__, without_copy, np.asarray, memoryview):
        with pytest.raises(BufferError, match=message):
            use(exported)


def test_writable_buffer_is_an_error():
    get_buffer = ctypes.pythonapi.PyObject_GetBuffer
    writable = 1  # PyBUF_WRITABLE
    exported = export(pa.array([1, 2, 3]))
    for obj in (exported, exported.buffer("data")):
        view = (ctypes.c_void_p * 16)()  # at least as large as Py_buffer
        with pytest.raises(BufferError, match="read-only"):
            get_buffer(ctypes.py_object(obj), view, ctypes.c_int(writable))


@pytest.mark.parametrize("shape", [(5, 3), (0, 2), (1, 2), (3, 1)])
def test_separate_columns_are_copied_into_one_tensor(shape):
    arrays = [pa.array(np.arange(shape[0]) + 10 * i) for i in range(shape[1])]
    exported = table_of(arrays)
    found = np.from_dlpack(exported)
    assert found.shape == shape
    assert found.T.tolist() == [array.to_pylist() for array in arrays]
    assert found.flags.f_contiguous
    if shape == (5, 3):
        assert found.flags.writeable
        capsule = exported.__dlpack__(max_version=(1, 0))
        assert dlpack.struct_of(capsule).flags == dlpack.IS_COPIED
        with pytest.raises(BufferError, match="copy"):
            exported.__dlpack__(copy=False)
        with pytest.raises(ValueError, match=r"^copy=False: .*columns"):
            exported.__array__(copy=False)


@pytest.mark.parametrize("dtype", ["int8", "float64", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_to_tensor_makes_one_matrix_of_a_table(order, dtype):
    columns = [dlpack.values(50, dtype, seed) for seed in range(3)]
    table = cab.to_arrow_device(pa.table(columns, names=["a", "b", "c"]))
    matrix = table.to_tensor(order)
    found = np.from_dlpack(matrix)
    assert found.dtype == dtype
    assert np.array_equal(found, np.column_stack(columns))
    assert found.flags[f"{order}_CONTIGUOUS"]
    # The matrix is shared from then on.
    assert np.from_dlpack(matrix).ctypes.data == found.ctypes.data
    with pytest.raises(BufferError, match="copy=False"):
        table.to_tensor(order, copy=False)


def test_to_tensor_keeps_names_and_shares_columns():
    values = np.asfortranarray(np.arange(6).reshape(3, 2))
    frame = cab.from_dlpack(values)
    frame.columns = ["x", "y"]
    matrix = cab.to_arrow_device(frame).to_tensor("F", copy=False)
    assert matrix.schema.names == ["x", "y"]
    assert np.from_dlpack(matrix).ctypes.data == values.ctypes.data
    rows = cab.to_arrow_device(pa.table({"x": [1, 2, 3]})).to_tensor("C", copy=False)
    assert np.from_dlpack(rows).tolist() == [[1], [2], [3]]
    column = export(pa.array([1, 2, 3]))
    assert np.from_dlpack(column.to_tensor()).ctypes.data == address_of(column)
    with pytest.raises(ValueError, match=r"^order: .*'A'"):
        column.to_tensor("A")


COPIED = {
    "column": lambda: export(pa.array([1, 2])),
    "table": lambda: table_of([pa.array([1, 2]), pa.array([3, 4])]),
    "lists": lambda: cab.to_arrow_device(pa.array([[1, 2], [3, 4]])),
}


@pytest.mark.parametrize("make", COPIED.values(), ids=COPIED)
def test_requested_copy_is_writable_and_independent(make):
    exported = make()
    struct = dlpack.struct_of(capsule := exported.__dlpack__(copy=True, max_version=(1, 2)))
    assert struct.flags == dlpack.IS_COPIED
    assert struct.dl_tensor.data not in {b.address for b in exported.buffers()}
    found = np.from_dlpack(exported, copy=True)
    found[...] = -1
    assert (np.from_dlpack(exported) > 0).all()
    del capsule


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (2, 0)])
def test_struct_of_each_dlpack_version_matches_the_specification(version):
    exported = export(pa.array(np.arange(7, dtype="uint16")))
    capsule = exported.__dlpack__(max_version=version)
    is_versioned = version is not None and version >= (1, 0)
    assert _get_name(capsule) == (b"dltensor_versioned" if is_versioned else b"dltensor")
    struct = dlpack.struct_of(capsule)
    tensor = struct.dl_tensor
    assert (tensor.device_type, tensor.device_id) == dlpack.CPU
    assert (tensor.code, tensor.bits, tensor.lanes) == (dlpack.UINT, 16, 1)
    assert (tensor.ndim, tensor.shape[0], tensor.strides[0]) == (1, 7, 1)
    assert tensor.data + tensor.byte_offset == address_of(exported)
    if is_versioned:
        assert (struct.major, struct.minor, struct.flags) == (1, 3, dlpack.READ_ONLY)


def test_tensor_without_elements_has_a_null_pointer():
    tensor = dlpack.struct_of(capsule := export(pa.array([], pa.int8())).__dlpack__()).dl_tensor
    assert (tensor.data, tensor.shape[0]) == (None, 0)
    del capsule


def test_device_of_host_memory_is_the_cpu():
    exported = export(pa.array([1]))
    assert exported.__dlpack_device__() == dlpack.CPU
    assert np.from_dlpack(exported, device="cpu").tolist() == [1]
    for place in [(2, 0), (1, 1), (13, 0)]:
        with pytest.raises(BufferError, match="dl_device"):
            exported.__dlpack__(dl_device=place)
    for stream in (-1, 0, 1):
        with pytest.raises(ValueError, match=f"stream: expected None for host .* got {stream}$"):
            exported.__dlpack__(stream=stream)
    assert not hasattr(exported, "__cuda_array_interface__")
    assert not hasattr(exported.buffer("data"), "__cuda_array_interface__")


@pytest.mark.parametrize("of_buffer", [False, True])
def test_copies_of_device_memory_on_the_host_are_marked_as_copies(of_buffer, monkeypatch):
    exported = export(pa.array([1, 2]))
    exported = exported.buffer("data") if of_buffer else exported
    device = cab.DeviceType.CUDA, 0
    monkeypatch.setattr(type(exported), "__dlpack_device__", lambda array: device)
    capsule = exported.__dlpack__(dl_device=(1, 0), max_version=(1, 3))
    assert dlpack.struct_of(capsule).flags == dlpack.IS_COPIED
    with pytest.raises(BufferError, match=r"^copy=False: .*CUDA"):
        exported.__dlpack__(dl_device=(1, 0), max_version=(1, 3), copy=False)


def test_numpy_converts_the_dtype_of_an_export():
    exported = export(pa.array([1, 2]))
    assert np.asarray(exported, "float32").dtype == "float32"
    assert np.array(exported).flags.writeable
    assert exported.__array__(copy=False).tolist() == [1, 2]
    with pytest.raises(ValueError, match="copy"):
        np.asarray(exported, "float32", copy=False)


HOLDERS = {
    "memoryview": memoryview,
    "buffer": lambda exported: exported.buffer("data"),
    "old capsule": lambda exported: exported.__dlpack__(),
    "capsule": lambda exported: exported.__dlpack__(max_version=(1, 0)),
    "old tensor": lambda exported: np.from_dlpack(Handing(exported.__dlpack__())),
    "tensor": np.from_dlpack,
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_tensor_keeps_the_source_alive(hold):
    column, gone = owners.watched(pa.array([1, 2, 3]))
    exported = cab.to_arrow_device(column)
    held = hold(exported)
    exported.release()
    del column, exported
    gc.collect()
    assert gone() is not None
    if hasattr(held, "tolist"):
        assert held.tolist() == [1, 2, 3]
    elif hasattr(held, "__dlpack__"):
        assert np.from_dlpack(held).tolist() == [1, 2, 3]
    del held
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_tensor_of_a_consumer_that_restores_the_name_is_freed(version):
    """The name of the capsule is then another string with the same letters."""
    column, gone = owners.watched(pa.array([1, 2, 3]))
    capsule = cab.to_arrow_device(column).__dlpack__(max_version=version)
    del column
    name = ctypes.create_string_buffer(_get_name(capsule))
    set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(
        ("PyCapsule_SetName", ctypes.pythonapi)
    )
    set_name(capsule, ctypes.addressof(name))
    gc.collect()
    assert gone() is not None
    del capsule
    gc.collect()
    assert gone() is None


USES = {
    "__dlpack__": lambda array: array.__dlpack__(),
    "__dlpack_device__": lambda array: array.__dlpack_device__(),
    "__array__": np.asarray,
    "__cuda_array_interface__": lambda array: array.__cuda_array_interface__,
    "buffer": lambda array: array.buffer("data"),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_tensor_protocols_of_a_released_array_raise(use):
    exported = export(pa.array([1]))
    exported.release()
    with pytest.raises(ValueError, match="released"):
        use(exported)
