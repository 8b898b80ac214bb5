# SPDX-License-Identifier: Apache-2.0
"""Test exports as tensors with NumPy, and compare the structs with the specifications."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import owners, samples
from testing.host import to_plc
from testing.owners import Source
from testing.peers import dlpack
from testing.peers.arrays import _get_name, column_from

NUMBERS = [
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float32",
    "float64",
]


def export(array, offset=0, size=None):
    """Export a host column over a slice of pyarrow's memory."""
    return bridge.to_arrow_device(to_plc(array.slice(offset, size)))


def table_of(arrays):
    return bridge.to_arrow_device(plc.Table([to_plc(array) for array in arrays]))


def address_of(exported, name="data"):
    return next(b.address for b in exported.buffers() if b.name == name)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("read", [np.from_dlpack, np.asarray], ids=["from_dlpack", "asarray"])
def test_export_of_numbers_shares_memory(dtype, read):
    expected = dlpack.values(100, dtype)
    exported = export(pa.array(expected))
    found = read(exported)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)
    assert found.ctypes.data == address_of(exported)
    assert not found.flags.writeable


@pytest.mark.parametrize("dtype", NUMBERS)
def test_memoryview_of_a_column_shares_memory(dtype):
    array = pa.array(dlpack.values(100, dtype))
    exported = export(array, 3, 50)
    with memoryview(exported) as view:
        assert view.readonly
        assert view.tolist() == array[3:53].to_pylist()
        assert np.asarray(view).ctypes.data == address_of(exported)
    assert pa.py_buffer(exported).address == address_of(exported)


def test_memoryview_outlives_its_array():
    exported = bridge.to_arrow_device(pa.record_batch({"a": [1, 2, 3]}))
    view = memoryview(exported["a"])
    exported.release()
    del exported
    gc.collect()
    assert view.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "array", [pa.array([1, None]), pa.array(["a"]), pa.array([1], pa.timestamp("s"))], ids=str
)
def test_memoryview_of_other_columns_is_an_error(array):
    with pytest.raises(BufferError, match=r"expected numbers|the number of nulls is 1"):
        memoryview(export(array))


def test_writable_buffer_of_a_column_is_an_error():
    get_buffer = ctypes.pythonapi.PyObject_GetBuffer
    writable = 1  # PyBUF_WRITABLE
    exported = export(pa.array([1, 2, 3]))
    for obj in (exported, exported.buffer("data")):
        view = (ctypes.c_void_p * 16)()  # at least as large as Py_buffer
        with pytest.raises(BufferError, match="read-only"):
            get_buffer(ctypes.py_object(obj), view, ctypes.c_int(writable))


@pytest.mark.parametrize(("offset", "size"), [(0, 0), (100, 0), (1, 3), (9, 60), (63, 37)])
def test_export_of_a_slice_shares_memory(offset, size):
    array = pa.array(np.arange(100, dtype="int16"))
    found = np.from_dlpack(export(array, offset, size))
    assert found.tolist() == list(range(offset, offset + size))
    if size:
        assert found.ctypes.data == array.buffers()[1].address + 2 * offset


@pytest.mark.parametrize("offset", [0, 3, 8, 33])
def test_slice_without_nulls_in_its_rows_is_exported(offset):
    """The struct keeps an offset inside a byte, and rows before the offset may be null."""
    array = pa.array([None, *range(99)], pa.int64())
    column = to_plc(array)
    part = plc.Column(
        column.type(), 50, column.data(), column.null_mask(), 0, offset + 1, column.children()
    )
    exported = bridge.to_arrow_device(part)
    assert np.from_dlpack(exported).tolist() == list(range(offset, offset + 50))


def test_export_counts_the_nulls_of_a_child_of_a_sliced_struct():
    """A child of a sliced struct may have nulls outside the slice."""
    base = pa.StructArray.from_arrays([pa.array([*range(99), None], pa.int32())], ["0"])
    without = bridge.to_arrow_device(samples.column_of(base, [(9, 40)])).children[0]
    assert without.null_count == 0
    assert np.from_dlpack(without)[-1] == 48
    nulls = bridge.to_arrow_device(samples.column_of(base, [(60, 40)])).children[0]
    with pytest.raises(
        BufferError, match="the number of nulls is 1: a tensor has no validity bitmap"
    ):
        np.from_dlpack(nulls)


REFUSED = {
    "strings": (pa.array(["a"]), "expected numbers for a tensor, got the Arrow type 'string':"),
    "timestamps": (
        pa.array([1], pa.timestamp("ns")),
        r"expected numbers for a tensor, got the Arrow type 'timestamp\[ns\]'",
    ),
    "durations": (
        pa.array([1], pa.duration("s")),
        r"expected numbers for a tensor, got the Arrow type 'duration\[s\]'",
    ),
    "decimals": (
        pa.array([1], pa.decimal128(9, 2)),
        "expected numbers for a tensor, got the Arrow type 'decimal128'",
    ),
    "lists of several lengths": (
        pa.array([[1], [2], [3, 4], [5]]),
        "list 2 has 2 elements and list 0 has 1: a tensor needs lists of one length",
    ),
    "null lists": (pa.array([[1], None]), "the number of nulls is 1: a tensor has no validity"),
    "nulls in lists": (
        pa.array([[1, 2], [None, 3]]),
        "the number of nulls is 1: a tensor has no validity bitmap",
    ),
    "lists of strings": (
        pa.array([["a"]]),
        "expected numbers for a tensor, got the Arrow type 'string':",
    ),
    "dictionaries": (
        pa.array([1, 1]).dictionary_encode(),
        "expected numbers for a tensor, got the Arrow type 'dictionary'",
    ),
    "no type": (pa.nulls(3), "expected numbers for a tensor, got the Arrow type 'null':"),
    "nulls": (pa.array([1, None]), "the number of nulls is 1: a tensor has no validity bitmap"),
    "nulls of a field": (
        pa.array([{"0": 1}, {"0": None}]),
        "column '0': the number of nulls is 1: a tensor has no",
    ),
    "several types": (
        pa.array([{"0": 1, "1": 1.0}]),
        "column '1': expected int64, the type of the first column, got float64",
    ),
    "text in a table": (
        pa.array([{"0": 1, "1": "x"}]),
        "column '1': expected numbers for a tensor, got the Arrow type 'string'",
    ),
    "null rows": (
        pa.array([{"0": 1}, None]),
        "the number of nulls is 1: a tensor has no validity bitmap",
    ),
    "no columns": (pa.array([{}]), "a table without columns is not a tensor"),
}


@pytest.mark.parametrize(("array", "message"), REFUSED.values(), ids=REFUSED)
def test_export_of_data_that_is_not_a_tensor_raises_the_reason(array, message):
    exported = export(array)
    with pytest.raises(BufferError, match=message):
        exported.__dlpack__()
    with pytest.raises(BufferError, match=message):
        np.asarray(exported)
    assert len(exported) == len(array)


def matrix(order, shape=(4, 3), dtype="float64"):
    return np.array(dlpack.values(shape[0] * shape[1], dtype).reshape(shape), order=order)


def test_round_trip_of_a_matrix_shares_memory():
    expected = matrix("F")
    table = bridge.from_dlpack(expected, to="pylibcudf")
    found = np.from_dlpack(bridge.to_arrow_device(table))
    assert np.array_equal(found, expected)
    assert found.ctypes.data == expected.ctypes.data
    assert found.strides == expected.strides


def test_export_copies_separate_columns_into_one_tensor():
    arrays = [pa.array(np.arange(5) + 10 * i) for i in range(3)]
    exported = table_of(arrays)
    capsule = exported.__dlpack__(max_version=(1, 0))
    assert dlpack.struct_of(capsule).flags == dlpack.IS_COPIED
    found = np.from_dlpack(exported)
    assert found.T.tolist() == [array.to_pylist() for array in arrays]
    assert found.flags.f_contiguous
    assert found.flags.writeable
    with pytest.raises(BufferError, match="copy"):
        exported.__dlpack__(copy=False)


def test_export_of_a_sliced_struct_has_the_rows_of_the_slice():
    whole = pa.StructArray.from_arrays(
        [pa.array(np.arange(50, dtype="uint8") + i) for i in (0, 100)],
        ["0", "1"],
        mask=pa.array([True] + [False] * 49),
    )
    found = np.from_dlpack(export(whole, 11, 20))
    assert found.T.tolist() == [list(range(11, 31)), list(range(111, 131))]


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (3, 1)])
def test_export_of_small_tables_has_their_shape_and_values(shape):
    arrays = [pa.array(np.arange(shape[0]) + i) for i in range(shape[1])]
    found = np.from_dlpack(table_of(arrays))
    assert found.shape == shape
    assert found.T.tolist() == [array.to_pylist() for array in arrays]


@pytest.mark.parametrize("make", [lambda: export(pa.array([1, 2])), lambda: table_of(
    [pa.array([1, 2]), pa.array([3, 4])]
)], ids=["column", "table"])  # fmt: skip
def test_requested_copy_is_writable_and_independent(make):
    exported = make()
    capsule = exported.__dlpack__(copy=True, max_version=(1, 2))
    struct = dlpack.struct_of(capsule)
    assert struct.flags == dlpack.IS_COPIED
    assert struct.dl_tensor.data not in {b.address for b in exported.buffers()}
    found = np.from_dlpack(exported, copy=True)
    found[...] = -1
    assert (np.from_dlpack(exported) > 0).all()


VERSIONS = {
    "none": (None, b"dltensor"),
    "0.8": ((0, 8), b"dltensor"),
    "1.0": ((1, 0), b"dltensor_versioned"),
    "1.3": ((1, 3), b"dltensor_versioned"),
    "2.0": ((2, 0), b"dltensor_versioned"),
}


@pytest.mark.parametrize(("version", "name"), VERSIONS.values(), ids=VERSIONS)
def test_struct_of_each_dlpack_version_matches_the_specification(version, name):
    exported = export(pa.array(np.arange(7, dtype="uint16")))
    capsule = exported.__dlpack__(max_version=version)
    assert _get_name(capsule) == name
    struct = dlpack.struct_of(capsule)
    tensor = struct.dl_tensor
    assert (tensor.device_type, tensor.device_id) == dlpack.CPU
    assert (tensor.code, tensor.bits, tensor.lanes) == (dlpack.UINT, 16, 1)
    assert (tensor.ndim, tensor.shape[0], tensor.strides[0]) == (1, 7, 1)
    assert tensor.data + tensor.byte_offset == address_of(exported)
    if name == b"dltensor_versioned":
        assert (struct.major, struct.minor, struct.flags) == (1, 3, dlpack.READ_ONLY)


def test_tensor_without_elements_has_a_null_pointer():
    capsule = export(pa.array([], pa.int8())).__dlpack__()
    tensor = dlpack.struct_of(capsule).dl_tensor
    assert tensor.data is None
    assert tensor.shape[0] == 0


def test_device_of_host_memory_is_the_cpu():
    exported = export(pa.array([1]))
    assert exported.__dlpack_device__() == dlpack.CPU
    assert np.from_dlpack(exported, device="cpu").tolist() == [1]
    assert exported.__dlpack__(dl_device=(bridge.DeviceType.CPU, 0))
    for place in [(2, 0), (1, 1), (13, 0)]:
        with pytest.raises(BufferError, match="dl_device"):
            exported.__dlpack__(dl_device=place)


@pytest.mark.parametrize("of_buffer", [False, True])
def test_copies_of_device_memory_on_the_host_are_marked_as_copies(of_buffer, monkeypatch):
    exported = export(pa.array([1, 2]))
    exported = exported.buffer("data") if of_buffer else exported
    device = bridge.DeviceType.CUDA, 0
    monkeypatch.setattr(type(exported), "__dlpack_device__", lambda array: device)
    capsule = exported.__dlpack__(dl_device=(1, 0), max_version=(1, 3))
    assert dlpack.struct_of(capsule).flags == dlpack.IS_COPIED
    with pytest.raises(BufferError, match="copy=False: expected host memory, got memory of CUDA"):
        exported.__dlpack__(dl_device=(1, 0), max_version=(1, 3), copy=False)


@pytest.mark.parametrize("stream", [-1, 0, 1, 2])
def test_export_of_host_memory_rejects_a_stream(stream):
    with pytest.raises(ValueError, match=f"stream: expected None for host memory, got {stream}$"):
        export(pa.array([1])).__dlpack__(stream=stream)


def test_host_memory_has_no_cuda_array_interface():
    exported = export(pa.array([1]))
    assert not hasattr(exported, "__cuda_array_interface__")
    assert not hasattr(exported.buffer("data"), "__cuda_array_interface__")


def test_numpy_converts_the_dtype_of_an_export():
    exported = export(pa.array([1, 2]))
    assert np.asarray(exported, "float32").dtype == "float32"
    assert np.array(exported).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        np.asarray(exported, "float32", copy=False)


@pytest.mark.parametrize("spent", [True, False], ids=["consumed", "unused"])
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_tensor_keeps_the_source_alive(version, spent):
    plain = to_plc(pa.array([1, 2, 3]))
    column = Source(plain.type(), plain.size(), plain.data(), None, 0, 0, [])
    gone = weakref.ref(column)
    exported = bridge.to_arrow_device(column)
    kept = exported.__dlpack__(max_version=version)
    if spent:
        capsule = kept
        kept = np.from_dlpack(Taken(capsule))
        del capsule
    exported.release()
    del plain, column, exported
    gc.collect()
    assert gone() is not None
    if spent:
        assert kept.tolist() == [1, 2, 3]
    del kept
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_tensor_of_a_consumer_that_restores_the_name_is_freed(version):
    """The name of the capsule is then another string with the same letters."""
    column, gone = owners.watched(pa.array([1, 2, 3]))
    capsule = bridge.to_arrow_device(column).__dlpack__(max_version=version)
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


class Taken:
    """A producer that returns the given capsule."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack_device__(self):
        return dlpack.CPU

    def __dlpack__(self, **arguments):
        return self._capsule


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


BUFFERS = {
    "strings": (pa.array(["ab", None, "c"]), {
        "validity": ("uint8", [5]),
        "offsets": ("int32", [0, 2, 2, 3]),
        "data": ("uint8", [97, 98, 99]),
    }),
    "large strings": (pa.array(["ab"], pa.large_string()), {"offsets": ("int64", [0, 2])}),
    "lists": (pa.array([[1, 2], [3]]), {
        "offsets": ("int32", [0, 2, 3]),
        "[].data": ("int64", [1, 2, 3]),
    }),
    "structs": (pa.array([{"0": 1}, {"0": None}]), {"0.validity": ("uint8", [1])}),
    "bools": (pa.array([True, False, True]), {"data": ("uint8", [5])}),
    "timestamps": (pa.array([7, None], pa.timestamp("us")), {"validity": ("uint8", [1])}),
    "dates": (pa.array([7, 8], pa.date32()), {"data": ("int32", [7, 8])}),
    "durations": (pa.array([7], pa.duration("ms")), {"data": ("int64", [7])}),
    "dictionaries": (
        pa.array(["a", "b", "a"]).dictionary_encode(),
        {"data": ("int32", [0, 1, 0]), "dictionary.data": ("uint8", [97, 98])},
    ),
    "decimals": (pa.array([3], pa.decimal64(5, 0)), {"data": ("int64", [3])}),
    "absent masks": (pa.array([1]), {"validity": ("uint8", [])}),
    "extensions": (
        pa.ExtensionArray.from_storage(pa.opaque(pa.int8(), "w", "us"), pa.array([4], pa.int8())),
        {"data": ("int8", [4])},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("array", "expected"), BUFFERS.values(), ids=BUFFERS)
def test_export_of_single_buffers_shares_memory(array, expected):
    exported = export(array)
    for name, (dtype, elements) in expected.items():
        buffer = exported.buffer(name)
        found = np.from_dlpack(buffer)
        assert found.dtype == dtype
        assert found.tolist() == elements
        assert np.asarray(buffer).tolist() == elements
        assert name in repr(buffer)
        if elements:
            assert found.ctypes.data == address_of(exported, name)


def test_export_of_unsupported_buffers_raises():
    exported = export(pa.array([1], pa.decimal128(9, 2)))
    with pytest.raises(
        BufferError,
        match=r"expected elements of at most 64 bits for.* got the Arrow type 'decimal128'$",
    ):
        np.from_dlpack(exported.buffer("data"))
    with pytest.raises(BufferError, match="copy=True"):
        exported.buffer("validity").__dlpack__(copy=True)


def test_missing_and_duplicate_buffer_names_raise():
    exported = export(pa.array([{"0": "a"}]))
    with pytest.raises(
        KeyError,
        match=r"expected one buffer named 'data', got 0 among \['validity', .*, '0\.data'\]",
    ):
        exported.buffer("data")
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(
        KeyError,
        match=r"expected one buffer named 'x\.data', got 2 among \['validity', .*, 'x\.data'\]",
    ):
        bridge.to_arrow_device(twice).buffer("x.data")


def test_buffer_outlives_its_array():
    exported = export(pa.array(["ab", "c"]))
    offsets = exported.buffer("offsets")
    exported.release()
    del exported
    gc.collect()
    assert np.from_dlpack(offsets).tolist() == [0, 2, 3]


def test_children_of_frames_are_exported_as_tensors():
    frame = bridge.from_arrow_device(pa.record_batch({"a": [1, 2], "b": ["x", "y"]}))
    exported = bridge.to_arrow_device(frame)
    assert np.from_dlpack(exported.children[0]).tolist() == [1, 2]
    column = column_from(exported)
    assert np.asarray(bridge.to_arrow_device(column.children()[0])).tolist() == [1, 2]


def test_array_method_with_copy_false_rejects_a_required_copy():
    table = bridge.to_arrow_device(plc.Table([column_from(pa.array([1, 2])) for _ in range(2)]))
    assert np.asarray(table).tolist() == [[1, 1], [2, 2]]
    with pytest.raises(
        ValueError,
        match=r"copy=False: expected columns at equal.* got columns that have to be copied$",
    ):
        table.__array__(copy=False)
    column = bridge.to_arrow_device(column_from(pa.array([1, 2])))
    assert column.__array__(copy=False).tolist() == [1, 2]


def test_repr_of_a_buffer_that_is_not_a_tensor_contains_its_type():
    decimals = bridge.to_arrow_device(column_from(pa.array([1, 2], pa.decimal128(30))))
    assert "decimal128" in repr(decimals.buffer("data"))
    strings = column_from(pa.array(["a", "b"]))
    views = bridge.to_arrow_device(strings, requested_schema=pa.field("", pa.string_view()))
    assert "view" in repr(views.buffer("views"))


#: JAX warns of all later forks of its process.
JAX = """
import gc
import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import cudf_arrow_bridge as cab

def address_of(exported):
    return np.from_dlpack(exported).ctypes.data

def rows(obj):
    return cab.to_arrow_device(obj).to_arrow().to_pylist()

whole = pa.array(range(100), pa.int32())
shared = []
for begin in range(33):
    exported = cab.to_arrow_device(whole.slice(begin, 50))
    found = jnp.from_dlpack(exported)
    assert found.tolist() == whole.slice(begin, 50).to_pylist()
    shared.append(found.unsafe_buffer_pointer() == address_of(exported))
assert shared == [begin * 4 % 64 == 0 for begin in range(33)]

exported = cab.to_arrow_device(whole)
found = jnp.from_dlpack(exported)
exported.release()
del exported
gc.collect()
assert found.tolist() == whole.to_pylist()

exported = cab.to_arrow_device(pa.array([2**31, 1]))
assert jnp.from_dlpack(exported).tolist() == [-(2**31), 1]
jax.config.update("jax_enable_x64", True)
found = jnp.from_dlpack(exported)
assert found.tolist() == [2**31, 1]
assert found.unsafe_buffer_pointer() == address_of(exported)

for tensor in (jnp.arange(100), jnp.array([True, False])):
    column = cab.from_dlpack(tensor, to="pylibcudf", copy=False)
    assert column.data().ptr == tensor.unsafe_buffer_pointer()
    expected = tensor.tolist()
    del tensor
    gc.collect()
    assert rows(column) == expected
assert rows(cab.from_dlpack(jnp.array([0.5, 2], "float16"), to="pylibcudf")) == [0.5, 2]
matrix = cab.from_dlpack(jnp.arange(6).reshape(3, 2), to="pylibcudf")
assert [rows(column) for column in matrix.columns()] == [[0, 2, 4], [1, 3, 5]]
"""


@pytest.mark.skipif(find_spec("jax") is None, reason="the extra consumers is not installed")
def test_jax_shares_memory_that_is_aligned_to_64_bytes():
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", JAX],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
