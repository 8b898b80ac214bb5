# SPDX-License-Identifier: Apache-2.0
"""Test imports of tensors of NumPy, of pyarrow, and of a producer that breaks the protocol."""

from __future__ import annotations

import gc
import math
from types import SimpleNamespace

import cudf
import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.import_.tensors import request_capsule
from testing.peers import dlpack
from testing.peers.arrays import _get_name, _new_capsule, read
from testing.peers.dlpack import Handing, Interface, Producer
from testing.strategies import NOT_SLOW

DOORS = {
    "DLPack": lambda array, **how: cab.from_dlpack(array, to="pylibcudf", **how),
    "old DLPack": lambda array, **how: cab.from_dlpack(
        Producer(array, versioned=False), to="pylibcudf", **how
    ),
    "interface": lambda array, **how: cab.from_cuda_array_interface(
        Interface(array), to="pylibcudf", **how
    ),
}
all_doors = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
all_dtypes = pytest.mark.parametrize("dtype", [*dlpack.NUMBERS, "bool"])
VERSIONS = pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "old"])


def rows(obj):
    """Export a column or table to pyarrow and return its rows."""
    found = read(cab.to_arrow_device(obj))
    if pa.types.is_struct(found.type):
        return [list(row.values()) for row in found.to_pylist()]
    return found.to_pylist()


@all_doors
@all_dtypes
def test_import_of_contiguous_columns_shares_memory(door, dtype):
    values = dlpack.values(12, dtype)
    column = door(values)
    assert column.data().ptr == values.ctypes.data
    found = read(cab.to_arrow_device(column))
    assert found.type == pa.from_numpy_dtype(values.dtype)
    assert found.to_pylist() == values.tolist()
    for order in "CF":
        matrix = np.array(values.reshape(4, 3), order=order)
        table = door(matrix)
        assert isinstance(table, plc.Table)
        assert rows(table) == matrix.tolist()
        addresses = [column.data().ptr for column in table.columns()]
        assert (addresses == [matrix[:, i].ctypes.data for i in range(3)]) == (order == "F")


@all_doors
@all_dtypes
@pytest.mark.parametrize("shape", [(7, 3), (2, 3, 1, 2), (0, 3), (3, 0)], ids=str)
def test_import_as_a_column_makes_lists_over_the_memory(door, dtype, shape):
    array = dlpack.values(math.prod(shape), dtype).reshape(shape)
    column = door(array, kind="column", copy=False)
    if array.size:
        assert column.child(1).data().ptr == array.ctypes.data
    found = np.from_dlpack(cab.to_arrow_device(column))
    assert found.shape == shape
    assert np.array_equal(found, array)


MEMORY = np.arange(64.0)
BITS = np.arange(512) % 3 == 1


@st.composite
def strided_arrays(draw):
    """Draw a view of the middle of the memory, with steps of any sign, or overlapping elements."""
    dtype = np.dtype(draw(st.sampled_from([*dlpack.NUMBERS, "bool"])))
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=2)))
    steps = draw(st.none() | st.tuples(*(st.integers(-3, 3) for _ in shape)))
    strides = steps and tuple(step * dtype.itemsize for step in steps)
    return np.ndarray(shape, dtype, BITS if dtype.kind == "b" else MEMORY, 256, strides)


@NOT_SLOW
@given(strided_arrays(), st.sampled_from([*DOORS.values()]), st.sampled_from([None, "column"]))
def test_import_of_random_strides_matches_numpy(array, door, kind):
    found = door(array, kind=kind)
    if isinstance(found, plc.Table):
        assert (found.num_rows(), found.num_columns()) == array.shape
    assert rows(found) == array.tolist()
    copied = door(array, kind=kind, copy=True)
    assert rows(copied) == array.tolist()
    if array.size:
        assert address_of(copied) != address_of(door(array, kind=kind, copy=True))
        start = array.ctypes.data
        is_shared = address_of(found) == start
        assert address_of(copied) != start
        if is_shared:
            assert address_of(door(array, kind=kind, copy=False)) == start
        else:
            with pytest.raises(ValueError, match=r"^copy=False: .*CPU memory"):
                door(array, kind=kind, copy=False)


def address_of(imported):
    """Return the address of the first value of a table, of a column or of lists."""
    column = imported.columns()[0] if isinstance(imported, plc.Table) else imported
    return (column.child(1) if column.type().id() == plc.TypeId.LIST else column).data().ptr


@pytest.mark.parametrize(
    ("array", "kind", "reason"),
    [
        (np.arange(10)[::2], None, "do not follow one another"),
        (np.arange(6).reshape(3, 2), None, "do not follow one another"),
        (
            np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
            "column",
            r"not in row-major \(C\) order",
        ),
        (np.arange(48).reshape(2, 3, 4, 2)[..., 1], "column", r"not in row-major \(C\) order"),
        (np.arange(3, dtype="float16"), None, "no floats of 16 bits"),
        (np.frombuffer(bytearray(range(41)), "int64", 5, 1), None, "the buffer is not aligned"),
    ],
    ids=["strided", "row-major", "transposed", "every second", "float16", "misaligned"],
)
def test_import_copies_or_raises_the_reason(array, kind, reason):
    producer = Producer(array)
    found = cab.to_arrow_device(cab.from_dlpack(producer, kind=kind))
    assert producer.deleted == 1
    assert np.array_equal(np.from_dlpack(found), array)
    with pytest.raises(ValueError, match=f"^copy=False: .*{reason}.*; copy=None"):
        cab.from_dlpack(Producer(array), kind=kind, copy=False)


def test_import_of_half_floats_makes_floats():
    halves = np.arange(6, dtype="float16")
    assert cab.from_dlpack(halves, to="pylibcudf").type().id() == plc.TypeId.FLOAT32
    lists = cab.to_arrow_device(cab.from_dlpack(halves.reshape(2, 3), kind="column"))
    assert np.from_dlpack(lists).dtype == "float32"


def test_import_to_cudf_numbers_the_columns_and_keeps_the_types():
    array = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    for frame in (cab.from_dlpack(array), cab.from_cuda_array_interface(Interface(array))):
        assert isinstance(frame, cudf.DataFrame)
        assert list(frame.columns) == [0, 1]
        assert np.array_equal(np.from_dlpack(cab.to_arrow_device(frame)), array)
    series = cab.from_dlpack(array[:, 1])
    assert isinstance(series, cudf.Series)
    assert (series.name, series.dtype) == (None, np.dtype("float64"))
    bools = dlpack.values(12, "bool").reshape(2, 3, 2)
    assert cab.from_dlpack(bools.ravel()).dtype == np.dtype("bool")
    lists = cab.to_arrow_device(cab.from_dlpack(bools, kind="column"))
    assert lists.schema.type == pa.fixed_shape_tensor(pa.bool_(), [3, 2])
    lists = cab.to_arrow_device(cab.from_dlpack(bools[0], kind="column"))
    assert lists.schema.type == pa.list_(pa.bool_(), 2)
    assert lists.to_arrow().to_pylist() == bools[0].tolist()


def test_kind_of_the_result_follows_the_option_and_the_dimensions():
    assert isinstance(cab.from_dlpack(np.ones((2, 2)), kind="table", to="pylibcudf"), plc.Table)
    column = cab.from_dlpack(np.ones(2), kind="column", to="pylibcudf")
    assert column.type().id() == plc.TypeId.FLOAT64
    with pytest.raises(ValueError, match=r"^kind='table': "):
        cab.from_dlpack(np.ones(2), kind="table")


@pytest.mark.parametrize(("copy", "expected"), [(None, {}), (True, {}), (False, {"copy": False})])
def test_producer_receives_max_version_and_only_a_forbidden_copy(copy, expected):
    producer = Producer(np.arange(3))
    cab.from_dlpack(producer, copy=copy)
    assert producer.asked == {"max_version": (1, 3), **expected}


@pytest.mark.parametrize(("handle", "expected"), [(0, 1), (1, 1), (2, 1), (0x7F00, 0x7F00)])
def test_producer_of_gpu_memory_receives_no_per_thread_stream(handle, expected):
    """Torch refuses stream 2. Each per-thread stream waits for the legacy default stream."""

    class OnGpu(Producer):
        def __dlpack_device__(self):
            return cab.DeviceType.CUDA, 0

    producer = OnGpu(np.arange(3))
    request_capsule(producer, SimpleNamespace(handle=handle), None)
    assert producer.asked["stream"] == expected


class Old(Producer):
    """A producer that accepts only the keyword `stream`."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__(stream=stream)


@pytest.mark.parametrize("wrapped", [False, True])
def test_producer_without_the_keywords_of_dlpack_1_is_called_again(wrapped):
    source = old = Old(np.arange(3), versioned=False)
    if wrapped:
        source = SimpleNamespace(
            __dlpack__=lambda **arguments: old.__dlpack__(**arguments),
            __dlpack_device__=old.__dlpack_device__,
        )
    assert rows(cab.from_dlpack(source, to="pylibcudf")) == [0, 1, 2]
    assert old.asked == {"stream": None}


@pytest.mark.parametrize("copy", [None, False])
def test_producer_that_fails_is_called_once(copy):
    calls = []

    class Failing(Producer):
        def __dlpack__(self, **arguments):
            calls.append(arguments)
            raise TypeError("cannot copy a keyword")

    with pytest.raises(TypeError, match="cannot copy a keyword"):
        cab.from_dlpack(Failing(np.arange(3)), copy=copy)
    assert len(calls) == 1


@VERSIONS
@pytest.mark.parametrize("kind", ["table", "column"])
def test_deleter_runs_once_after_the_last_reference(versioned, kind):
    order = "F" if kind == "table" else "C"
    producer = Producer(np.array(np.arange(6).reshape(3, 2), order=order), versioned=versioned)
    capsule = producer.capsule()
    imported = cab.from_dlpack(capsule, to="pylibcudf", kind=kind)
    assert _get_name(capsule) == (b"used_dltensor_versioned" if versioned else b"used_dltensor")
    for obj in (capsule, Handing(capsule)):
        with pytest.raises(ValueError, match="consumed"):
            cab.from_dlpack(obj)
    part = imported.columns()[0] if kind == "table" else imported
    exported = cab.to_arrow_device(part)
    del imported, part, capsule, obj
    gc.collect()
    assert producer.deleted == 0
    exported.release()
    assert producer.deleted == 1


@VERSIONS
def test_tensor_without_a_deleter_is_imported(versioned):
    def edit(struct):
        struct.deleter = None

    producer = Producer(np.arange(3), edit, versioned)
    assert rows(cab.from_dlpack(producer, to="pylibcudf")) == [0, 1, 2]


def test_tensor_of_an_unknown_version_is_rejected_and_deleted():
    """A consumer may read only the deleter of a struct of an unknown version."""

    def edit(struct):
        struct.major, struct.dl_tensor.ndim = 2, -1

    producer = Producer(np.arange(3), edit)
    with pytest.raises(ValueError, match=r"DLPack.*2\.0"):
        cab.from_dlpack(producer)
    gc.collect()
    assert producer.deleted == 1


def tensor(**members):
    """Return an edit of a struct; elements of `shape` and `strides` are written in place."""

    def edit(struct):
        for name, value in members.items():
            if isinstance(value, tuple):
                for i, extent in enumerate(value):
                    getattr(struct.dl_tensor, name)[i] = extent
            else:
                setattr(struct.dl_tensor, name, value)

    return edit


HOSTILE = [
    (tensor(ndim=0), ValueError, "expected a tensor of 1 to 64 dimensions, got 0$"),
    (tensor(ndim=65), ValueError, "expected a tensor of 1 to 64 dimensions, got 65$"),
    (tensor(ndim=-1), ValueError, "expected a tensor of 1 to 64 dimensions, got -1$"),
    (tensor(ndim=3), ValueError, r"1 dimension \(a column\) or 2 \(a table\), got 3: import it"),
    (tensor(shape=None), ValueError, "the tensor has no shape"),
    (tensor(shape=(-1,)), ValueError, "a shape with at least 0 elements, got -1"),
    (tensor(shape=(3, -5)), ValueError, "a shape with at least 0 elements, got -5"),
    (tensor(shape=(2**31 - 1,)), OverflowError, "at most 2147483646 rows, got 2147483647"),
    (tensor(shape=(2**63 - 1,) * 2), (OverflowError, ValueError), "got 9223372036854775807"),
    (
        tensor(strides=(2**62,) * 2),
        ValueError,
        "address space: 3 at a distance of 4611686018427387904$",
    ),
    (tensor(strides=(-(2**63), 1)), ValueError, "3 at a distance of -9223372036854775808$"),
    # Bytes, whose positions reach farther than those of wider elements.
    *(
        (tensor(bits=8, shape=shape, strides=(1, step)), ValueError, f"at a distance of {step}$")
        for shape, step in (((2, 2), 2**63 - 1), ((3, 3), 2**62 + 2**61))
    ),
    (tensor(data=None), ValueError, "the data pointer of the tensor is null$"),
    (tensor(lanes=4), TypeError, "expected a DLPack type of 1 lane, got 4"),
    (tensor(lanes=0), TypeError, "expected a DLPack type of 1 lane, got 0"),
    (tensor(code=99), TypeError, "got code 99 and 64 bits$"),
    *(
        (tensor(code=code, bits=bits), TypeError, f"expected a DLPack type of .*, got {name}$")
        for name, code, bits in dlpack.UNSUPPORTED
    ),
    (tensor(device_type=10), ValueError, "device type 10"),
    (tensor(device_type=0), ValueError, "device type 0"),
    (tensor(device_type=2, device_id=7), ValueError, "CUDA device"),
]


@VERSIONS
@pytest.mark.parametrize(("edit", "error", "message"), HOSTILE)
def test_hostile_tensors_are_rejected_and_deleted_once(edit, error, message, versioned):
    producer = Producer(np.arange(6).reshape(3, 2), edit, versioned)
    with pytest.raises(error, match=message):
        cab.from_dlpack(producer.capsule(), to="pylibcudf")
    # The capsule deletes a tensor that was not consumed; the import deletes one that was consumed.
    gc.collect()
    assert producer.deleted == 1


def test_missing_strides_mean_row_major():
    producer = Producer(np.arange(6).reshape(3, 2), tensor(strides=None), versioned=False)
    assert rows(cab.from_dlpack(producer, to="pylibcudf")) == [[0, 1], [2, 3], [4, 5]]


def test_byte_offset_is_added_to_the_data_pointer():
    producer = Producer(np.arange(6), tensor(byte_offset=16, shape=(4,)))
    assert rows(cab.from_dlpack(producer, to="pylibcudf")) == [2, 3, 4, 5]


@pytest.mark.parametrize("name", [b"dltensor_versioned2", None, "no capsule"])
def test_objects_other_than_dlpack_capsules_are_rejected(name):
    memory = np.zeros(100, "uint8")
    handed = name if name == "no capsule" else _new_capsule(memory.ctypes.data, name, None)
    with pytest.raises(ValueError, match="expected"):
        cab.from_dlpack(Handing(handed))


def test_objects_without_a_tensor_protocol_are_rejected():
    with pytest.raises(TypeError, match=r"list lacks __dlpack__"):
        cab.from_dlpack([1, 2])
    with pytest.raises(TypeError, match=r"ndarray has no dict as its __cuda_array_interface__$"):
        cab.from_cuda_array_interface(np.arange(3))
