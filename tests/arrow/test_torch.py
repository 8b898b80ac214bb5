# SPDX-License-Identifier: Apache-2.0
"""Columns and tensors of torch share host memory. Skipped without torch, as in CI."""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.host import to_plc
from testing.peers import dlpack

torch = pytest.importorskip("torch")

LISTS = {
    "list": pa.list_,
    "large_list": pa.large_list,
    "fixed_size_list": lambda value: pa.list_(value, 3),
}


def torch_type(dtype):
    return getattr(torch, np.dtype(dtype).name)


@pytest.mark.parametrize(("begin", "size"), [(0, 100), (33, 50), (100, 0)])
@pytest.mark.parametrize("dtype", dlpack.NUMBERS)
def test_columns_are_shared_in_both_directions(dtype, begin, size):
    expected = dlpack.values(100, dtype)
    array = pa.array(expected)
    exported = cab.to_arrow_device(to_plc(array.slice(begin, size)))
    tensor = torch.from_dlpack(exported)
    exported.release()
    del exported
    gc.collect()
    assert tensor.dtype == torch_type(dtype)
    assert tensor.tolist() == expected[begin : begin + size].tolist()
    back = cab.from_dlpack(tensor, to="pylibcudf", copy=False)
    assert back.size() == size
    if size:
        address = array.buffers()[1].address + begin * expected.itemsize
        assert tensor.data_ptr() == address
        assert back.data().ptr == address


@pytest.mark.parametrize("dtype", dlpack.NUMBERS)
@pytest.mark.parametrize("make_type", LISTS.values(), ids=LISTS)
def test_lists_of_one_length_are_shared_in_both_directions(make_type, dtype):
    expected = dlpack.values(300, dtype).reshape(100, 3)
    array = cab.to_arrow_device(
        pa.array(expected.tolist(), make_type(pa.from_numpy_dtype(dtype))).slice(33, 50)
    )
    address = array.children[0].buffers()[-1].address
    tensor = torch.from_dlpack(array)
    assert tensor.dtype == torch_type(dtype)
    assert tensor.tolist() == expected[33:83].tolist()
    assert tensor.stride() == (3, 1)
    rows = cab.from_dlpack(tensor, kind="column", to="pylibcudf", copy=False)
    assert rows.child(1).data().ptr == tensor.data_ptr()
    assert torch.from_dlpack(cab.to_arrow_device(rows)).tolist() == tensor.tolist()
    assert address <= tensor.data_ptr() < address + array.children[0].buffers()[-1].size


def test_tensors_of_three_dimensions_are_shared_in_both_directions():
    tensor = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    frame = cab.from_dlpack(tensor, kind="column", copy=False)
    exported = cab.to_arrow_device(frame)
    assert exported.schema.type == pa.fixed_shape_tensor(pa.float32(), [3, 4])
    found = torch.from_dlpack(exported)
    assert found.data_ptr() == tensor.data_ptr()
    assert torch.equal(found, tensor)


def test_bools_of_one_byte_are_shared_in_both_directions():
    tensor = torch.tensor([True, False, True])
    column = cab.from_dlpack(tensor, to="pylibcudf", copy=False)
    found = torch.from_dlpack(cab.to_arrow_device(column, requested_schema=pa.bool8()))
    assert found.dtype == torch.bool
    assert found.data_ptr() == tensor.data_ptr()
    assert found.tolist() == [True, False, True]


def test_tables_become_matrices_and_matrices_tables():
    matrix = torch.arange(6, dtype=torch.int64).reshape(2, 3)
    table = cab.from_dlpack(matrix, to="pylibcudf")
    assert [column.size() for column in table.columns()] == [2, 2, 2]
    exported = cab.to_arrow_device(table)
    assert torch.equal(torch.from_dlpack(exported), matrix)
    rows = torch.from_dlpack(exported.to_tensor("C"))
    assert torch.equal(rows, matrix)
    assert rows.is_contiguous()
    columns = cab.from_dlpack(matrix.T.contiguous().T, to="pylibcudf", copy=False)
    assert torch.equal(torch.from_dlpack(cab.to_arrow_device(columns)), matrix)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (pa.array([1, None]), "the number of nulls is 1"),
        (pa.array([[1, 2], [3]]), "the lists have 1 to 2 elements"),
        (pa.array(["a"]), "the Arrow type is 'string'"),
    ],
)
def test_columns_that_are_not_tensors_are_buffer_errors(array, message):
    with pytest.raises(BufferError, match=message):
        torch.from_dlpack(cab.to_arrow_device(array))


def test_transposed_tensors_are_copied_once():
    tensor = torch.arange(12, dtype=torch.int32).reshape(3, 4).T
    rows = cab.from_dlpack(tensor, kind="column", to="pylibcudf")
    assert torch.from_dlpack(cab.to_arrow_device(rows)).tolist() == tensor.tolist()
    with pytest.raises(ValueError, match="copy=False"):
        cab.from_dlpack(tensor, kind="column", copy=False)
