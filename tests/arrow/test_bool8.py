# SPDX-License-Identifier: Apache-2.0
"""Test bools of one byte: the extension type arrow.bool8, and bools as tensors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
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
    exported = cab.to_arrow_device(column, requested_schema=pa.field("", pa.bool8()), copy=False)
    assert exported.schema.type == pa.bool8()
    assert exported.to_arrow().to_pylist() == BOOLS[offset : offset + size].tolist()
    if size:
        assert address_of(exported) == column.data().ptr + offset


@pytest.mark.parametrize(
    ("array", "type_"),
    [(pa.array([True, None, False]), pa.bool8()), (pa.array([1, 0], pa.int8()), pa.int8())],
    ids=["nulls", "no bools"],
)
def test_requested_bool8_applies_to_bools(array, type_):
    exported = cab.to_arrow_device(to_plc(array), requested_schema=pa.field("", pa.bool8()))
    assert exported.schema.type == type_
    assert exported.to_arrow().to_pylist() == array.to_pylist()


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
@pytest.mark.parametrize("offset", [0, 5])
def test_import_of_bool8_shares_bytes_of_0_and_1(to, offset):
    array = bool8(BOOLS, mask=np.arange(100) % 7 == 0)[offset:]
    imported = cab.from_arrow_device(array, to=to, copy=False)
    if to == "pylibcudf":
        assert imported.type().id() == plc.TypeId.BOOL8
    else:
        assert imported.dtype == "bool"
    again = cab.to_arrow_device(imported, copy=False)
    assert again.schema.type == pa.bool8()
    assert again.to_arrow().to_pylist() == array.to_pylist()
    data = again.buffers()[-1]
    assert data.address + again._array.offset == array.storage.buffers()[1].address + offset


@pytest.mark.parametrize("byte", [2, -1, 127, -128])
def test_import_of_bool8_normalizes_other_bytes(byte):
    values = [0, 1, byte, 0]
    column = cab.from_arrow_device(bool8(values), to="pylibcudf")
    spans = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * 4).from_address(column.data().ptr))
    assert spans.tolist() == [0, 1, 1, 0]
    with pytest.raises(ValueError, match="byte of a bool"):
        cab.from_arrow_device(bool8(values), copy=False)
    # Bytes outside of a slice are not read.
    rows = cab.from_arrow_device(bool8(values)[:2], to="pylibcudf", copy=False)
    assert rows.size() == 2


def test_bool8_in_tables_and_lists():
    inner = bool8(BOOLS[:6])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 6], pa.int32()), inner)
    table = pa.table({"lists": lists, "flag": bool8([1, 3, 0])})
    exported = cab.to_arrow_device(cab.from_arrow_device(table)[1:])
    assert exported.schema.types == table.schema.types
    assert exported.to_pylist() == table[1:].to_pylist()


def test_tensor_of_bools_has_the_type_bool_of_dlpack():
    series = cab.from_dlpack(BOOLS)
    exported = cab.to_arrow_device(series)
    assert exported.schema.type == pa.bool_()
    struct = dlpack.struct_of(capsule := exported.__dlpack__(max_version=(1, 0), copy=False))
    assert (struct.dl_tensor.code, struct.dl_tensor.bits) == (dlpack.BOOL, 8)
    assert struct.dl_tensor.data == BOOLS.ctypes.data
    del capsule


def test_bools_of_arrow_are_copied_for_a_tensor():
    array = pa.array(BOOLS)
    assert np.array_equal(np.from_dlpack(cab.to_arrow_device(array)), BOOLS)
    table = cab.to_arrow_device(pa.table({"a": BOOLS, "b": ~BOOLS}))
    assert np.array_equal(np.from_dlpack(table), np.column_stack([BOOLS, ~BOOLS]))
    lists = cab.to_arrow_device(pa.FixedSizeListArray.from_arrays(array, 5))
    assert np.array_equal(np.from_dlpack(lists), BOOLS.reshape(20, 5))
