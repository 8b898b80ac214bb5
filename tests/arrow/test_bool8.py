# SPDX-License-Identifier: Apache-2.0
"""Test bools of one byte: the extension type arrow.bool8, and bools as tensors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing.host import to_plc
from testing.peers import dlpack

BOOLS = dlpack.values(100, "bool")


def bool8(values, mask=None):
    """Return a bool8 array of bytes."""
    storage = pa.array(np.asarray(values, "int8"), mask=mask)
    return pa.ExtensionArray.from_storage(pa.bool8(), storage)


def address_of(exported):
    return exported.buffers()[-1].address


@pytest.mark.parametrize(("offset", "size"), [(0, 100), (3, 50), (100, 0)])
def test_requested_bool8_shares_the_bytes_of_libcudf(offset, size):
    column = plc.Column(
        plc.DataType(plc.TypeId.BOOL8), size, to_plc(pa.array(BOOLS.view("uint8"))).data(),
        None, 0, offset, [],
    )  # fmt: skip
    exported = bridge.to_arrow_device(column, requested_schema=pa.field("", pa.bool8()), copy=False)
    assert exported.schema.type == pa.bool8()
    assert exported.to_arrow().to_pylist() == BOOLS[offset : offset + size].tolist()
    if size:
        assert address_of(exported) == column.data().ptr + offset


def test_requested_bool8_keeps_nulls():
    array = pa.array([True, None, False])
    exported = bridge.to_arrow_device(
        bridge.from_arrow_device(array), requested_schema=pa.field("", pa.bool8())
    )
    assert exported.to_arrow().to_pylist() == [True, None, False]


def test_request_of_bool8_for_other_columns_has_no_effect():
    exported = bridge.to_arrow_device(
        to_plc(pa.array([1, 0], pa.int8())), requested_schema=pa.field("", pa.bool8())
    )
    assert exported.schema.type == pa.int8()


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
@pytest.mark.parametrize("offset", [0, 5])
def test_import_of_bool8_shares_bytes_of_0_and_1(to, offset):
    array = bool8(BOOLS, mask=np.arange(100) % 7 == 0)[offset:]
    imported = bridge.from_arrow_device(array, to=to, copy=False)
    if to == "pylibcudf":
        assert imported.type().id() == plc.TypeId.BOOL8
    else:
        assert imported.dtype == "bool"
    again = bridge.to_arrow_device(imported, copy=False)
    assert again.schema.type == pa.bool8()
    assert again.to_arrow().to_pylist() == array.to_pylist()
    data = again.buffers()[-1]
    assert data.address + again._array.offset == array.storage.buffers()[1].address + offset


@pytest.mark.parametrize("byte", [2, -1, 127, -128])
def test_import_of_bool8_normalizes_other_bytes(byte):
    values = [0, 1, byte, 0]
    column = bridge.from_arrow_device(bool8(values), to="pylibcudf")
    spans = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * 4).from_address(column.data().ptr))
    assert spans.tolist() == [0, 1, 1, 0]
    with pytest.raises(ValueError, match="a byte of a bool is neither 0 nor 1"):
        bridge.from_arrow_device(bool8(values), copy=False)
    # Bytes outside of a slice are not read.
    rows = bridge.from_arrow_device(bool8(values)[:2], to="pylibcudf", copy=False)
    assert rows.size() == 2


def test_bool8_in_lists_and_structs():
    inner = bool8(BOOLS[:6])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 6], pa.int32()), inner)
    array = pa.StructArray.from_arrays([lists, bool8([1, 3, 0])], ["lists", "flag"])
    frame = bridge.from_arrow_device(array)
    exported = bridge.to_arrow_device(frame)
    assert exported.schema.type == array.type
    assert exported.to_arrow().to_pylist() == array.to_pylist()


def test_slices_of_a_frame_leave_as_bool8():
    frame = bridge.from_arrow_device(pa.table({"a": bool8([1, 0, 1])}))
    exported = bridge.to_arrow_device(frame[1:])
    assert exported.schema.field("a").type == pa.bool8()
    assert exported.to_arrow()["a"].to_pylist() == [False, True]


@pytest.mark.parametrize("read", [np.from_dlpack, np.asarray])
def test_bools_of_a_frame_are_a_tensor_over_their_bytes(read):
    frame = bridge.from_arrow_device(pa.table({"a": BOOLS}))
    column = bridge.from_arrow_device(frame, to="pylibcudf").columns()[0]
    found = read(bridge.to_arrow_device(frame["a"]))
    assert found.dtype == bool
    assert np.array_equal(found, BOOLS)
    assert found.ctypes.data == column.data().ptr


def test_tensor_of_bools_has_the_type_bool_of_dlpack():
    series = bridge.from_dlpack(BOOLS)
    exported = bridge.to_arrow_device(series)
    assert exported.schema.type == pa.bool_()
    struct = dlpack.struct_of(capsule := exported.__dlpack__(max_version=(1, 0), copy=False))
    assert (struct.dl_tensor.code, struct.dl_tensor.bits) == (dlpack.BOOL, 8)
    assert struct.dl_tensor.data == BOOLS.ctypes.data
    del capsule


def test_bools_of_arrow_are_copied_for_a_tensor():
    exported = bridge.to_arrow_device(pa.array(BOOLS.tolist()))
    assert np.array_equal(np.from_dlpack(exported), BOOLS)
    table = bridge.to_arrow_device(pa.table({"a": BOOLS, "b": ~BOOLS}))
    assert np.array_equal(np.from_dlpack(table), np.column_stack([BOOLS, ~BOOLS]))


def test_lists_of_bools_are_a_tensor():
    expected = BOOLS.reshape(20, 5)
    array = pa.array(expected.tolist(), pa.list_(pa.bool_(), 5))
    found = np.from_dlpack(bridge.to_arrow_device(array))
    assert found.dtype == bool
    assert np.array_equal(found, expected)
