# SPDX-License-Identifier: Apache-2.0
"""Test imports of tensors of NumPy, of pyarrow, and of a producer that breaks the protocol."""

from __future__ import annotations

import gc
import os
import re
import weakref
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge.import_.tensors import producing_handle, request_capsule
from testing.peers import dlpack
from testing.peers.arrays import _get_name, _new_capsule, read
from testing.peers.dlpack import Interface, Producer

settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=5000)
settings.load_profile(os.getenv("HYPOTHESIS_PROFILE", "ci" if os.getenv("CI") else "default"))

NUMBERS = [
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float32",
    "float64",
]
DOORS = {
    "DLPack": lambda array, **how: bridge.from_dlpack(array, to="pylibcudf", **how),
    "old DLPack": lambda array, **how: bridge.from_dlpack(
        Producer(array, versioned=False), to="pylibcudf", **how
    ),
    "interface": lambda array, **how: bridge.from_cuda_array_interface(
        Interface(array), to="pylibcudf", **how
    ),
}
all_doors = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


def rows(obj):
    """Export a column or table to pyarrow and return its rows."""
    found = read(bridge.to_arrow_device(obj))
    if pa.types.is_struct(found.type):
        return [list(row.values()) for row in found.to_pylist()]
    return found.to_pylist()


@all_doors
@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_import_of_a_1d_tensor_shares_memory(door, dtype):
    array = dlpack.values(100, dtype)
    column = door(array)
    assert isinstance(column, plc.Column)
    assert column.data().ptr == array.ctypes.data
    found = read(bridge.to_arrow_device(column))
    assert found.type == pa.from_numpy_dtype(array.dtype)
    assert found.to_pylist() == array.tolist()


@all_doors
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["int16", "float64", "bool"])
def test_import_of_a_2d_tensor_shares_memory_only_in_fortran_order(door, order, dtype):
    array = np.array(dlpack.values(12, dtype).reshape(4, 3), order=order)
    table = door(array)
    assert isinstance(table, plc.Table)
    assert rows(table) == array.tolist()
    addresses = [column.data().ptr for column in table.columns()]
    shared = [array[:, i].ctypes.data for i in range(3)]
    assert (addresses == shared) == (order == "F")


@st.composite
def strided_arrays(draw):
    """Return slices of arrays, with positive and negative steps, and broadcasts of slices."""
    dtype = np.dtype(draw(st.sampled_from([*NUMBERS, "bool"])))
    shape = draw(st.lists(st.integers(0, 12), min_size=1, max_size=2))
    whole = dlpack.values(int(np.prod(shape)), dtype, draw(st.integers(0, 99))).reshape(shape)
    if draw(st.booleans()):
        whole = np.asfortranarray(whole)
    steps = st.sampled_from([1, 1, 2, 3, -1, -2])
    part = whole[tuple(slice(draw(st.integers(0, 3)), None, draw(steps)) for _ in shape)]
    if draw(st.booleans()):
        part = part.T
    if draw(st.integers(0, 4)) == 0 and part.ndim == 1:
        part = np.broadcast_to(part, (draw(st.integers(0, 3)), *part.shape))
    return part


@settings(parent=settings())
@given(strided_arrays(), st.sampled_from(sorted(DOORS)), st.sampled_from([None, True]))
def test_import_of_random_strides_matches_numpy(array, door, copy):
    result = DOORS[door](array, copy=copy)
    assert rows(result) == array.tolist()
    if isinstance(result, plc.Table):
        assert (result.num_rows(), result.num_columns()) == array.shape
    back = bridge.to_arrow_device(result)
    if array.dtype.kind != "b" and 0 not in array.shape[1:]:
        assert np.array_equal(np.from_dlpack(back), array)


@all_doors
def test_copy_option_controls_sharing(door):
    array = np.arange(10)
    assert door(array, copy=True).data().ptr != array.ctypes.data
    assert door(array, copy=False).data().ptr == array.ctypes.data
    assert rows(door(array[::-1])) == array[::-1].tolist()
    with pytest.raises(
        ValueError,
        match=r"copy=False: expected a tensor.* got one in CPU memory that has to be copied",
    ):
        door(array[::-1], copy=False)
    with pytest.raises(
        ValueError,
        match=r"copy=False: expected a tensor.* got one in CPU memory that has to be copied",
    ):
        door(array.reshape(5, 2), copy=False)


def test_import_copies_misaligned_memory():
    array = np.frombuffer(bytearray(8 * 5 + 1), "int64", offset=1, count=5)
    assert rows(bridge.from_dlpack(Producer(array), to="pylibcudf")) == [0] * 5


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.arange(10)[::2], "do not follow one another"),
        (np.arange(6).reshape(3, 2), "do not follow one another"),
        (np.arange(3, dtype="float16"), "no floats of 16 bits"),
        (np.frombuffer(bytearray(8 * 5 + 1), "int64", 5, 1), "not aligned to the 8 bytes"),
    ],
    ids=["strided", "row-major", "float16", "misaligned"],
)
def test_error_of_copy_false_has_the_reason(array, reason):
    with pytest.raises(
        ValueError, match=f"^copy=False: expected .*, since .*{reason}.*; copy=None"
    ):
        bridge.from_dlpack(Producer(array), to="pylibcudf", copy=False)


def test_import_of_a_sliced_pyarrow_array_shares_memory():
    array = pa.array([1, 2, 3], pa.uint16()).slice(1)
    column = bridge.from_dlpack(array, to="pylibcudf")
    assert rows(column) == [2, 3]
    assert column.data().ptr == array.buffers()[1].address + 2


def test_import_to_cudf_numbers_the_columns():
    import cudf

    array = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    frame = bridge.from_dlpack(array)
    assert isinstance(frame, cudf.DataFrame)
    assert list(frame.columns) == [0, 1]
    assert np.array_equal(np.from_dlpack(bridge.to_arrow_device(frame)), array)
    series = bridge.from_dlpack(array[:, 1])
    assert isinstance(series, cudf.Series)
    assert (series.name, series.dtype) == (None, np.dtype("float64"))
    assert bridge.from_dlpack(np.array([True])).dtype == np.dtype("bool")
    assert bridge.from_cuda_array_interface(Interface(array)).shape == (3, 2)


def test_exported_buffer_is_imported():
    exported = bridge.to_arrow_device(pa.array(["ab", "c"]))
    column = bridge.from_dlpack(exported.buffer("offsets"), to="pylibcudf")
    assert rows(column) == [0, 2, 3]


def test_producer_receives_max_version_and_copy():
    new = Producer(np.arange(3))
    bridge.from_dlpack(new)
    assert new.asked == {"max_version": (1, 3)}
    never = Producer(np.arange(3))
    bridge.from_dlpack(never, copy=False)
    assert never.asked == {"max_version": (1, 3), "copy": False}


@pytest.mark.parametrize(("handle", "asked"), [(0, 1), (1, 1), (2, 1), (0x7F00, 0x7F00)])
def test_producer_of_gpu_memory_receives_no_per_thread_stream(handle, asked):
    """Torch refuses stream 2. Each per-thread stream waits for the legacy default stream."""

    class OnGpu(Producer):
        def __dlpack_device__(self):
            return bridge.DeviceType.CUDA, 0

    producer = OnGpu(np.arange(3))
    request_capsule(producer, SimpleNamespace(handle=handle), None)
    assert producer.asked["stream"] == asked


class Old(Producer):
    """A producer that accepts only the keyword `stream`."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__(stream=stream)


def test_producer_without_dlpack_1_keywords_is_imported():
    old = Old(np.arange(3), versioned=False)
    assert rows(bridge.from_dlpack(old, to="pylibcudf")) == [0, 1, 2]
    assert old.asked == {"stream": None}


def test_producer_behind_a_wrapper_is_asked_again_without_the_new_keywords():
    old = Old(np.arange(3), versioned=False)
    wrapper = SimpleNamespace(
        __dlpack__=lambda **arguments: old.__dlpack__(**arguments),
        __dlpack_device__=old.__dlpack_device__,
    )
    assert rows(bridge.from_dlpack(wrapper, to="pylibcudf")) == [0, 1, 2]


@pytest.mark.parametrize("copy", [None, False])
def test_producer_that_fails_is_called_once(copy):
    calls = []

    class Failing(Producer):
        def __dlpack__(self, **arguments):
            calls.append(arguments)
            raise TypeError("cannot copy a keyword")

    with pytest.raises(TypeError, match="cannot copy a keyword"):
        bridge.from_dlpack(Failing(np.arange(3)), copy=copy)
    assert len(calls) == 1


def test_import_waits_for_the_default_streams_of_all_threads():
    """The interface does not say which thread's default stream 2 is."""
    found = [producing_handle({"stream": stream}) for stream in (None, 1, 2, 0x7F00)]
    assert found == [None, 1, 1, 0x7F00]


def test_capsule_without_a_producer_is_imported():
    assert rows(bridge.from_dlpack(Producer(np.arange(3)).capsule(), to="pylibcudf")) == [0, 1, 2]


VERSIONS = pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "old"])


@VERSIONS
def test_deleter_runs_once_after_the_last_reference(versioned):
    producer = Producer(np.asfortranarray(np.arange(6).reshape(3, 2)), versioned=versioned)
    capsule = producer.capsule()
    table = bridge.from_dlpack(capsule, to="pylibcudf")
    assert _get_name(capsule) == (b"used_dltensor_versioned" if versioned else b"used_dltensor")
    first = table.columns()[0]
    exported = bridge.to_arrow_device(first)
    del table, first, capsule
    gc.collect()
    assert producer.deleted == 0
    exported.release()
    assert producer.deleted == 1


@pytest.mark.parametrize("copy", [None, True])
def test_deleter_runs_at_once_after_a_copy(copy):
    producer = Producer(np.arange(6).reshape(3, 2))
    table = bridge.from_dlpack(producer, to="pylibcudf", copy=copy)
    assert producer.deleted == 1
    assert rows(table) == [[0, 1], [2, 3], [4, 5]]


@VERSIONS
def test_tensor_without_a_deleter_is_imported(versioned):
    def edit(struct):
        struct.deleter = None

    producer = Producer(np.arange(3), edit, versioned)
    assert rows(bridge.from_dlpack(producer, to="pylibcudf")) == [0, 1, 2]


def test_tensor_of_an_unknown_version_is_rejected_and_deleted():
    """A consumer may read only the deleter of a struct of an unknown version."""

    def edit(struct):
        struct.major, struct.dl_tensor.ndim = 2, -1

    producer = Producer(np.arange(3), edit)
    with pytest.raises(ValueError, match=r"expected a tensor of DLPack 1\.x, got 2\.0"):
        bridge.from_dlpack(producer)
    gc.collect()
    assert producer.deleted == 1


def tensor(**members):
    def edit(struct):
        for name, value in members.items():
            setattr(struct.dl_tensor, name, value)

    return edit


def extents(*shape):
    def edit(struct):
        for i, extent in enumerate(shape):
            struct.dl_tensor.shape[i] = extent

    return edit


def strides(*steps):
    def edit(struct):
        for i, step in enumerate(steps):
            struct.dl_tensor.strides[i] = step

    return edit


HOSTILE = {
    "no dimensions": (
        tensor(ndim=0),
        ValueError,
        "expected a tensor of 1 to 64 dimensions, got 0$",
    ),
    "three dimensions": (
        tensor(ndim=3),
        ValueError,
        r"expected a tensor of 1 dimension \(a column\) or 2 \(a table\), got 3: import it with",
    ),
    "negative dimensions": (
        tensor(ndim=-1),
        ValueError,
        "expected a tensor of 1 to 64 dimensions, got -1$",
    ),
    "many dimensions": (
        tensor(ndim=2**31 - 1),
        ValueError,
        "expected a tensor of 1 to 64 dimensions, got 2147483647$",
    ),
    "no shape": (tensor(shape=None), ValueError, "the tensor has no shape"),
    "negative rows": (extents(-1), ValueError, "expected a shape with at least 0 elements, got -1"),
    "negative columns": (
        extents(3, -5),
        ValueError,
        "expected a shape with at least 0 elements, got -5",
    ),
    "many rows": (
        extents(2**31 - 1),
        OverflowError,
        "expected a tensor of at most 2147483646 rows, got 2147483647",
    ),
    "very many rows": (
        extents(2**63 - 1, 2**63 - 1),
        (OverflowError, ValueError),
        r"expected a tensor of at most.* got 9223372036854775807",
    ),
    "overflowing strides": (
        strides(2**62, 2**62),
        ValueError,
        r"expected elements within an.* got 3 at a distance of 4611686018427387904$",
    ),
    "the lowest stride": (
        strides(-(2**63), 1),
        ValueError,
        r"expected elements within an.* got 3 at a distance of -9223372036854775808$",
    ),
    "no memory": (
        tensor(data=None),
        ValueError,
        r"expected memory for a tensor with elements, got a null pointer$",
    ),
    "lanes": (tensor(lanes=4), TypeError, "expected a DLPack type of 1 lane, got 4"),
    "no lanes": (tensor(lanes=0), TypeError, "expected a DLPack type of 1 lane, got 0"),
    **{
        name: (
            tensor(code=code, bits=bits),
            TypeError,
            f"expected a DLPack type of .*, got {name}$",
        )
        for name, code, bits in dlpack.UNSUPPORTED
    },
    "an unknown code": (tensor(code=99), TypeError, "got code 99 and 64 bits$"),
    "ROCm": (tensor(device_type=10), ValueError, "device type 10"),
    "no device": (tensor(device_type=0), ValueError, "device type 0"),
    "CUDA": (tensor(device_type=2, device_id=7), ValueError, "CUDA device"),
}


@VERSIONS
@pytest.mark.parametrize(("edit", "error", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_tensors_are_rejected_and_deleted_once(edit, error, message, versioned):
    producer = Producer(np.arange(6).reshape(3, 2), edit, versioned)
    with pytest.raises(error, match=message):
        bridge.from_dlpack(producer.capsule(), to="pylibcudf")
    # The capsule deletes a tensor that was not consumed; the import deletes one that was consumed.
    gc.collect()
    assert producer.deleted == 1


def test_missing_strides_mean_row_major():
    producer = Producer(np.arange(6).reshape(3, 2), tensor(strides=None), versioned=False)
    assert rows(bridge.from_dlpack(producer, to="pylibcudf")) == [[0, 1], [2, 3], [4, 5]]


def test_byte_offset_is_added_to_the_data_pointer():
    def edit(struct):
        struct.dl_tensor.byte_offset, struct.dl_tensor.shape[0] = 16, 4

    producer = Producer(np.arange(6), edit)
    assert rows(bridge.from_dlpack(producer, to="pylibcudf")) == [2, 3, 4, 5]


@pytest.mark.parametrize("step", [1, 2])
def test_import_widens_half_floats(step):
    array = np.arange(6, dtype="float16")[::step]
    producer = Producer(array)
    column = bridge.from_dlpack(producer, to="pylibcudf")
    assert column.type().id() == plc.TypeId.FLOAT32
    assert rows(column) == array.tolist()
    assert producer.deleted == 1
    with pytest.raises(
        ValueError,
        match=r"copy=False: expected a tensor.* got one in CPU memory that has to be copied",
    ):
        bridge.from_dlpack(array, copy=False)


def test_consumed_capsule_is_rejected():
    producer = Producer(np.arange(3))
    capsule = producer.capsule()
    kept = bridge.from_dlpack(capsule, to="pylibcudf")
    for obj in (capsule, Handing(capsule)):
        with pytest.raises(
            ValueError, match="expected an unused DLPack capsule, got a consumed one"
        ):
            bridge.from_dlpack(obj)
    assert producer.deleted == 0
    del kept
    gc.collect()
    assert producer.deleted == 1


class Handing:
    """A producer that returns the given object."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack_device__(self):
        return dlpack.CPU

    def __dlpack__(self, **arguments):
        return self._capsule


@pytest.mark.parametrize("name", [b"dltensor_versioned2", b"tensor", None])
def test_objects_other_than_dlpack_capsules_are_rejected(name):
    memory = np.zeros(100, "uint8")
    with pytest.raises(ValueError, match="expected"):
        bridge.from_dlpack(Handing(_new_capsule(memory.ctypes.data, name, None)))
    with pytest.raises(ValueError, match="expected"):
        bridge.from_dlpack(Handing("no capsule"))


def test_objects_without_a_tensor_protocol_are_rejected():
    with pytest.raises(
        TypeError, match=r"expected an object with __dlpack__ and.* got one of type list$"
    ):
        bridge.from_dlpack([1, 2])
    with pytest.raises(
        TypeError,
        match=r"expected an object with __cuda_array_interface__, got one of type ndarray$",
    ):
        bridge.from_cuda_array_interface(np.arange(3))


def test_unknown_target_is_rejected_before_the_producer_is_called():
    producer = Producer(np.arange(3))
    with pytest.raises(
        ValueError, match=r"to: expected 'cudf', 'cudf\.pandas' or 'pylibcudf', got 'numpy'$"
    ):
        bridge.from_dlpack(producer, to="numpy")
    with pytest.raises(
        ValueError, match=r"to: expected 'cudf', 'cudf\.pandas' or 'pylibcudf', got 'numpy'$"
    ):
        bridge.from_cuda_array_interface(Interface(np.arange(3)), to="numpy")
    assert producer.asked is None


INTERFACES = {
    "a mask": ({"mask": np.ones(4)}, TypeError, "mask"),
    "big-endian": ({"typestr": ">i8"}, TypeError, "little-endian"),
    "text": ({"typestr": "<U2"}, TypeError, "numbers or bools"),
    "complex": ({"typestr": "<c16"}, TypeError, "numbers or bools"),
    "no size": ({"typestr": "<i"}, TypeError, "numbers or bools"),
    "a size of 0": ({"typestr": "<i0"}, TypeError, "numbers or bools"),
    "digits of another script": ({"typestr": "<f\u0662"}, TypeError, "numbers or bools"),
    "odd sizes": ({"typestr": "<i3"}, TypeError, "24 bits"),
    "strides of parts of elements": ({"strides": (12,)}, ValueError, "multiples of 8"),
    "a size of more than 64 bits": (
        {"typestr": f"<i{2**61 + 1}"},
        TypeError,
        "numbers or bools",
    ),
    "stream 0": ({"stream": 0}, ValueError, "expected a stream of at least 1, got 0"),
    "a negative stream": ({"stream": -1}, ValueError, "expected a stream of at least 1, got -1"),
    "a number that is no integer": ({"shape": (3.7,)}, TypeError, "float"),
    "a text as the shape": ({"shape": "12"}, TypeError, "expected a tuple of shape, got '12'"),
    "a text as the strides": ({"strides": "8"}, TypeError, "expected a tuple of strides, got '8'"),
    "many dimensions": ({"shape": (1,) * 100_000}, ValueError, "or 2 .* got 100000"),
    "no memory": (
        {"data": (0, False)},
        ValueError,
        r"expected memory for a tensor with elements, got a null pointer$",
    ),
    "few strides": (
        {"strides": ()},
        ValueError,
        "expected 1 strides, one for each dimension, got 0",
    ),
    "no dimensions": (
        {"shape": ()},
        ValueError,
        r"expected a tensor of 1 dimension \(a column\) or 2 \(a table\), got 0$",
    ),
    "negative": ({"shape": (-4,)}, ValueError, "expected a shape with at least 0 elements, got -4"),
}


@pytest.mark.parametrize(("edits", "error", "message"), INTERFACES.values(), ids=INTERFACES)
def test_hostile_interfaces_are_rejected_and_their_object_is_freed(edits, error, message):
    obj = Interface(np.arange(4), **edits)
    gone = weakref.ref(obj)
    with pytest.raises(error, match=message):
        bridge.from_cuda_array_interface(obj)
    del obj
    gc.collect()
    assert gone() is None


def test_imported_interface_keeps_its_object_alive():
    obj = Interface(np.arange(4))
    gone = weakref.ref(obj)
    column = bridge.from_cuda_array_interface(obj, to="pylibcudf")
    del obj
    gc.collect()
    assert gone() is not None
    assert rows(column) == [0, 1, 2, 3]
    del column
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("key", ["typestr", "shape", "data"])
def test_interface_without_a_required_key_is_rejected(key):
    interface = {"typestr": "<i8", "shape": (0,), "data": (0, False), "version": 3}
    del interface[key]
    obj = SimpleNamespace(__cuda_array_interface__=interface)
    with pytest.raises(ValueError, match=f"the key '{key}' is missing"):
        bridge.from_cuda_array_interface(obj)


MEMORY = np.arange(64.0)
NUMBERS_OUT_OF_RANGE = st.sampled_from([-1, 2**31, 2**63, 2**64, -(2**70)])
WRONG = st.none() | NUMBERS_OUT_OF_RANGE | st.floats() | st.text(max_size=3) | st.binary(max_size=3)
WRONG_ENTRIES = {
    "shape": WRONG | st.tuples(WRONG) | st.tuples(WRONG, st.just(2)),
    "strides": WRONG.filter(bool) | st.tuples(WRONG) | st.just((8, 8, 8)),
    "typestr": (WRONG | st.from_regex(r"[<>|][iufbcV]\d{0,20}", fullmatch=True)).filter(
        lambda typestr: not re.fullmatch(r"[<|=]?[iufb]0*[1248]", str(typestr))
    ),
    "data": st.sampled_from([(), ("x", False), (0.5, False), (2**64, False), (-1, False)]),
    "stream": st.sampled_from([0, -1, "x", 0.5, 2**64]),
    "mask": st.just(MEMORY),
}


@st.composite
def described(draw):
    """Draw a view of the middle of the memory, and its CUDA array interface."""
    dtype = np.dtype(draw(st.sampled_from(["<f8", "<i4", "<u2", "|i1"])))
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=2)))
    steps = st.none() | st.tuples(*(st.integers(-3, 3) for _ in shape))
    strides = draw(steps)
    strides = strides if strides is None else tuple(step * dtype.itemsize for step in strides)
    array = np.ndarray(shape, dtype, MEMORY, 256, strides)
    interface = {"version": 3, "typestr": dtype.str, "shape": shape, "strides": strides}
    return array, interface | {"data": (MEMORY.ctypes.data + 256, False)}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(described())
def test_random_cuda_array_interfaces_give_the_elements_of_numpy(description):
    array, interface = description
    found = bridge.from_cuda_array_interface(
        SimpleNamespace(__cuda_array_interface__=interface), to="pylibcudf"
    )
    assert rows(found) == array.tolist()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(described(), st.sampled_from([*WRONG_ENTRIES]), st.data())
def test_wrong_entries_of_cuda_array_interfaces_are_errors(description, key, data):
    _, interface = description
    wrong = interface | {key: data.draw(WRONG_ENTRIES[key])}
    with pytest.raises((TypeError, ValueError, OverflowError, IndexError)):
        bridge.from_cuda_array_interface(
            SimpleNamespace(__cuda_array_interface__=wrong), to="pylibcudf"
        )
