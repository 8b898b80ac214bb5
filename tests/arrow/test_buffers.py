# SPDX-License-Identifier: Apache-2.0
"""Test single buffers of arrays as tensors and as memory of the buffer protocol."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.host import to_plc
from testing.peers.arrays import column_from

#: An array, the names of its buffers, and the dtypes and elements of some of them.
BUFFERS = {
    "strings": (pa.array(["ab", None, "c"]), "validity offsets data", {
        "validity": ("uint8", [5]),
        "offsets": ("int32", [0, 2, 2, 3]),
        "data": ("uint8", [97, 98, 99]),
    }),
    "large strings": (pa.array(["ab"], pa.large_string()), "validity offsets data", {
        "offsets": ("int64", [0, 2]),
    }),
    "lists": (pa.array([[1, 2], [3]]), "validity offsets [].validity [].data", {
        "offsets": ("int32", [0, 2, 3]),
        "[].data": ("int64", [1, 2, 3]),
    }),
    "structs": (
        pa.array([{"0": 1, "1": ["x"]}, {"0": None, "1": []}]),
        "validity 0.validity 0.data 1.validity 1.offsets 1.[].validity 1.[].offsets 1.[].data",
        {"0.validity": ("uint8", [1])},
    ),
    "bools": (pa.array([True, False, True]), "validity data", {"data": ("uint8", [5])}),
    "timestamps": (pa.array([7, 8], pa.timestamp("us")), "validity data", {
        "data": ("int64", [7, 8]),
        "validity": ("uint8", []),
    }),
    "dates": (pa.array([7, 8], pa.date32()), "validity data", {"data": ("int32", [7, 8])}),
    "decimals": (pa.array([3], pa.decimal64(5, 0)), "validity data", {"data": ("int64", [3])}),
    "dictionaries": (
        pa.array(["a", "b", "a"]).dictionary_encode(),
        "validity data dictionary.validity dictionary.offsets dictionary.data",
        {"data": ("int32", [0, 1, 0]), "dictionary.data": ("uint8", [97, 98])},
    ),
    "extensions": (
        pa.ExtensionArray.from_storage(pa.opaque(pa.int8(), "w", "us"), pa.array([4], pa.int8())),
        "validity data",
        {"data": ("int8", [4])},
    ),
}  # fmt: skip


def export(array):
    """Export a host column over pyarrow's memory."""
    return cab.to_arrow_device(to_plc(array))


@pytest.mark.parametrize(("array", "names", "expected"), BUFFERS.values(), ids=BUFFERS)
def test_single_buffers_share_memory(array, names, expected):
    exported = export(array)
    infos = {info.name: info for info in exported.buffers()}
    assert [*infos] == names.split()
    for name, (dtype, elements) in expected.items():
        buffer = exported.buffer(name)
        found = np.from_dlpack(buffer)
        assert found.dtype == dtype
        assert found.tolist() == np.asarray(buffer).tolist() == elements
        assert repr(buffer) == f"<buffer {name!r}: {len(elements)} elements {found.dtype.str!r}>"
        if elements:
            assert found.ctypes.data == infos[name].address
            memory = pa.py_buffer(buffer)
            assert (memory.address, memory.size) == (infos[name].address, infos[name].size)
            with memoryview(buffer) as view:
                assert (view.format, view.readonly) == (found.dtype.char, True)
                assert view.tolist() == elements


def test_buffers_that_are_no_tensors_raise():
    buffer = export(pa.array([1], pa.decimal128(9, 2))).buffer("data")
    for read in (np.from_dlpack, memoryview):
        with pytest.raises(BufferError, match=r"'decimal128'$"):
            read(buffer)
    assert "decimal128" in repr(buffer)
    with pytest.raises(BufferError, match="copy=True"):
        export(pa.array([1])).buffer("data").__dlpack__(copy=True)
    strings = column_from(pa.array(["a", "b"]))
    views = cab.to_arrow_device(strings, requested_schema=pa.field("", pa.string_view()))
    assert "view" in repr(views.buffer("views"))


@pytest.mark.parametrize("names", [["x", "y"], ["data", "data"]])
def test_missing_and_duplicate_buffer_names_raise(names):
    exported = cab.to_arrow_device(pa.StructArray.from_arrays([pa.array([1])] * 2, names))
    name, count = ("data", "no") if names == ["x", "y"] else ("data.data", 2)
    with pytest.raises(KeyError, match=rf"{count} buffers are named '{name}'; .* \['valid"):
        exported.buffer(name)
