# SPDX-License-Identifier: Apache-2.0
"""Test columns of lists of one length as tensors, and tensors as such columns."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as bridge
from testing.peers import dlpack
from testing.peers.dlpack import Interface, Producer

LISTS = {
    "list": pa.list_,
    "large_list": pa.large_list,
    "fixed_size_list": lambda value: pa.list_(value, 3),
}
DTYPES = ["int8", "uint16", "int32", "int64", "float32", "float64"]


def table_of(arrays):
    names = [str(i) for i in range(len(arrays))]
    return bridge.to_arrow_device(pa.table(arrays, names=names))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make_type", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("read", [np.from_dlpack, np.asarray, lambda a: np.asarray(memoryview(a))])
def test_lists_of_one_length_share_their_elements(make_type, dtype, read):
    expected = dlpack.values(300, dtype).reshape(100, 3)
    values = pa.array(expected.ravel())
    array = pa.array(expected.tolist(), make_type(values.type))
    exported = bridge.to_arrow_device(array)
    found = read(exported)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)
    assert found.strides == expected.strides
    assert found.ctypes.data == exported.children[0].buffers()[-1].address
    assert not found.flags.writeable


@pytest.mark.parametrize("make_type", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize(("offset", "size"), [(0, 100), (0, 0), (100, 0), (3, 1), (33, 50)])
def test_slices_of_lists_have_their_rows(make_type, offset, size):
    expected = np.arange(300, dtype="int32").reshape(100, 3)
    array = pa.array(expected.tolist(), make_type(pa.int32()))
    found = np.from_dlpack(bridge.to_arrow_device(array.slice(offset, size)))
    sliced = expected[offset : offset + size]
    assert found.tolist() == sliced.tolist()
    # Offsets do not tell the length of lists where there are none.
    assert found.shape == sliced.shape or size == 0
    sliced_array = bridge.to_arrow_device(array)[offset : offset + size]
    assert np.from_dlpack(sliced_array).tolist() == sliced.tolist()


def test_nested_lists_have_a_dimension_for_each_level():
    expected = np.arange(120, dtype="float32").reshape(5, 4, 3, 2)
    inner = pa.list_(pa.list_(pa.float32(), 2))
    exported = bridge.to_arrow_device(pa.array(expected.tolist(), pa.large_list(inner)))
    found = np.from_dlpack(exported)
    assert np.array_equal(found, expected)
    assert found.strides == expected.strides
    exported = bridge.to_arrow_device(pa.array([[[1], [2]], [[3], [4, 5]]]))
    with pytest.raises(BufferError, match="list 3 has 2 elements and list 0 has 1"):
        np.from_dlpack(exported)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=8), st.sampled_from([pa.list_, pa.large_list])
)
def test_lists_are_a_tensor_if_their_lengths_are_equal(lengths, make_type):
    array = pa.array([list(range(length)) for length in lengths], make_type(pa.int16()))
    exported = bridge.to_arrow_device(array)
    if len(set(lengths)) == 1:
        assert np.from_dlpack(exported).tolist() == array.to_pylist()
    else:
        wrong = next(i for i, length in enumerate(lengths) if length != lengths[0])
        with pytest.raises(BufferError, match=f"list {wrong} has {lengths[wrong]} elements"):
            np.from_dlpack(exported)


def test_maps_are_not_tensors():
    array = pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8()))
    with pytest.raises(
        BufferError, match="expected numbers for a tensor, got the Arrow type 'map'"
    ):
        np.from_dlpack(bridge.to_arrow_device(array))


@pytest.mark.parametrize("order", [None, [0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_tensors_of_a_fixed_shape_have_its_dimensions(order):
    tensor_type = pa.fixed_shape_tensor(pa.int32(), [2, 3, 4], permutation=order)
    storage = pa.array(
        np.arange(5 * 24, dtype="int32").reshape(5, 24).tolist(), pa.list_(pa.int32(), 24)
    )
    array = pa.ExtensionArray.from_storage(tensor_type, storage)
    # pyarrow 26's own to_numpy_ndarray has wrong strides for permutations of three dimensions.
    expected = np.arange(5 * 24, dtype="int32").reshape(5, 2, 3, 4)
    expected = expected.transpose(0, *(1 + i for i in order or range(3)))
    exported = bridge.to_arrow_device(array)
    found = np.from_dlpack(exported)
    assert np.array_equal(found, expected)
    assert found.strides == expected.strides
    assert found.ctypes.data == exported.children[0].buffers()[-1].address
    through_frame = bridge.to_arrow_device(bridge.from_arrow_device(array))
    assert through_frame.schema.type == tensor_type
    assert np.array_equal(np.from_dlpack(through_frame), expected)


def test_lists_of_a_frame_are_tensors():
    expected = np.arange(12, dtype="float32").reshape(4, 3)
    rows = pa.array(expected.tolist(), pa.list_(pa.float32()))
    frame = bridge.from_arrow_device(pa.table({"id": [1, 2, 3, 4], "embedding": rows}))
    exported = bridge.to_arrow_device(frame["embedding"])
    assert exported.schema.type == rows.type
    assert np.array_equal(np.from_dlpack(exported), expected)
    with pytest.raises(BufferError, match="column 'embedding': expected numbers"):
        np.from_dlpack(bridge.to_arrow_device(frame))


def test_requested_copy_of_lists_is_writable_and_independent():
    exported = bridge.to_arrow_device(pa.array([[1, 2], [3, 4]]))
    found = np.from_dlpack(exported, copy=True)
    found[...] = -1
    assert np.from_dlpack(exported).tolist() == [[1, 2], [3, 4]]


DOORS = {
    "DLPack": bridge.from_dlpack,
    "old DLPack": lambda array, **how: bridge.from_dlpack(Producer(array, versioned=False), **how),
    "interface": lambda array, **how: bridge.from_cuda_array_interface(Interface(array), **how),
}
all_doors = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


@all_doors
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("shape", [(7, 3), (2, 3, 4), (2, 3, 1, 2), (0, 3), (3, 0)], ids=str)
def test_tensor_becomes_lists_over_its_memory(door, dtype, shape):
    array = dlpack.values(math.prod(shape), dtype).reshape(shape)
    column = door(array, to="pylibcudf", kind="column", copy=False)
    assert column.type().id() == plc.TypeId.LIST
    if array.size:
        assert column.child(1).data().ptr == array.ctypes.data
    found = np.from_dlpack(bridge.to_arrow_device(column))
    assert found.shape == shape
    assert np.array_equal(found, array)
    frame = bridge.to_arrow_device(door(array, kind="column"))
    element = pa.from_numpy_dtype(array.dtype)
    expected = (
        pa.list_(element, shape[1])
        if len(shape) == 2
        else pa.fixed_shape_tensor(element, shape[1:])
    )
    assert frame.schema.type == expected
    if len(shape) == 2:
        assert frame.to_arrow().to_pylist() == array.tolist()


@all_doors
def test_tensor_of_another_order_is_copied_to_lists(door):
    base = np.arange(120, dtype="int32").reshape(4, 5, 6)
    views = [
        base.transpose(1, 0, 2),
        base[::-1],
        base[:, ::2],
        np.asfortranarray(base),
        base[..., :5],
    ]
    views += [np.broadcast_to(np.arange(3, dtype="int32"), (4, 3)), base[0].T]
    for view in views:
        column = door(view, to="pylibcudf", kind="column")
        assert np.array_equal(np.from_dlpack(bridge.to_arrow_device(column)), view)
        with pytest.raises(ValueError, match=r"not in row-major \(C\) order"):
            door(view, to="pylibcudf", kind="column", copy=False)


def test_halves_are_widened_in_lists():
    array = np.arange(6, dtype="float16").reshape(2, 3)
    found = np.from_dlpack(bridge.to_arrow_device(bridge.from_dlpack(array, kind="column")))
    assert found.dtype == "float32"
    assert np.array_equal(found, array)


def test_lists_keep_their_tensor_alive():
    array = np.arange(6).reshape(2, 3)
    source = Producer(array)
    series = bridge.from_dlpack(source, kind="column")
    exported = np.from_dlpack(bridge.to_arrow_device(series))
    alive = weakref.ref(array)
    del array, series
    gc.collect()
    assert source.deleted == 0
    assert alive() is not None
    assert exported.tolist() == [[0, 1, 2], [3, 4, 5]]
    del exported
    gc.collect()
    assert source.deleted == 1


def test_kind_of_a_tensor():
    assert isinstance(bridge.from_dlpack(np.ones((2, 2)), kind="table", to="pylibcudf"), plc.Table)
    column = bridge.from_dlpack(np.ones(2), kind="column", to="pylibcudf")
    assert column.type().id() == plc.TypeId.FLOAT64
    with pytest.raises(ValueError, match="kind='table': the tensor has one dimension"):
        bridge.from_dlpack(np.ones(2), kind="table")
    with pytest.raises(ValueError, match="kind: expected"):
        bridge.from_dlpack(np.ones(2), kind="matrix")


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_to_tensor_makes_one_matrix_of_a_table(order, dtype):
    columns = [dlpack.values(50, dtype, seed) for seed in range(3)]
    table = table_of([pa.array(column) for column in columns])
    matrix = table.to_tensor(order)
    found = np.from_dlpack(matrix)
    assert found.dtype == dtype
    assert np.array_equal(found, np.column_stack(columns))
    assert found.flags[f"{order}_CONTIGUOUS"]
    # The matrix is shared from then on.
    assert np.from_dlpack(matrix).ctypes.data == found.ctypes.data
    with pytest.raises(BufferError, match="copy=False"):
        table.to_tensor(order, copy=False)


def test_to_tensor_keeps_the_names_of_a_table_and_shares_adjacent_columns():
    values = np.asfortranarray(np.arange(6).reshape(3, 2))
    frame = bridge.from_dlpack(values)
    frame.columns = ["x", "y"]
    table = bridge.to_arrow_device(frame)
    matrix = table.to_tensor("F", copy=False)
    assert matrix.schema.names == ["x", "y"]
    assert np.from_dlpack(matrix).ctypes.data == values.ctypes.data
    rows = bridge.to_arrow_device(pa.table({"x": [1, 2, 3]})).to_tensor("C", copy=False)
    assert np.from_dlpack(rows).tolist() == [[1], [2], [3]]


def test_to_tensor_of_a_column_is_the_column():
    exported = bridge.to_arrow_device(pa.array([1, 2, 3]))
    found = np.from_dlpack(exported.to_tensor())
    assert found.ctypes.data == exported.buffers()[-1].address
    with pytest.raises(ValueError, match="order: expected 'C' or 'F', got 'A'"):
        exported.to_tensor("A")
