# SPDX-License-Identifier: Apache-2.0
"""Test that contradictory structs are rejected with their path and released exactly once."""

from __future__ import annotations

import ctypes

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.broken import BATCH, ORDERS, PATHS, check
from testing.peers.arrays import DeviceOnly, Producer, column_from, refused


def setting(path, **members):
    def edit(schema, array):
        for name, value in members.items():
            setattr(PATHS[path](array.array), name, value)

    return edit


NUMBERS = [
    pytest.param({"length": -1}, ValueError, "length of at least 0, got -1", id="negative length"),
    pytest.param({"offset": -1}, ValueError, "offset of at least 0, got -1", id="negative offset"),
    pytest.param(
        {"offset": 2**63 - 1}, ValueError, "address space", id="offset and length overflow"
    ),
    pytest.param({"offset": 2**60}, ValueError, "address space", id="offset beyond all addresses"),
    pytest.param({"null_count": -2}, ValueError, ", got -2", id="null count below -1"),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("members", "error", "word"), NUMBERS)
def test_array_members_out_of_range_are_rejected(path, members, error, word):
    check(setting(path, **members), error, path, word)


@pytest.mark.parametrize("length", [2**31 - 1, 2**31, 2**57])
def test_array_with_more_rows_than_a_column_holds_is_rejected(length):
    check(
        setting("(top level)", length=length), OverflowError, "(top level)", "stream", str(length)
    )


@pytest.mark.parametrize("path", ["orders[].id", "n"])
@pytest.mark.parametrize("length", [2**31 - 1, 2**57])
def test_extra_rows_of_children_do_not_count_toward_the_row_limit(path, length):
    producer = Producer(BATCH, setting(path, length=length, null_count=-1))
    assert pa.record_batch(DeviceOnly(cab.to_arrow_device(producer))).equals(BATCH)


@pytest.mark.parametrize("path", PATHS)
def test_null_count_above_the_length_is_rejected(path):
    def edit(schema, array):
        PATHS[path](array.array).null_count = PATHS[path](array.array).length + 1

    check(edit, ValueError, path, "null count")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("member", ["buffers", "children"])
@pytest.mark.parametrize("by", [-1, 1])
def test_wrong_number_of_buffers_or_children_is_rejected(path, member, by):
    def edit(schema, array):
        node = PATHS[path](array.array)
        setattr(node, f"n_{member}", getattr(node, f"n_{member}") + by)

    check(edit, ValueError, path, f"{member}, got ")


@pytest.mark.parametrize("path", PATHS)
def test_null_pointer_to_the_buffers_is_rejected(path):
    check(setting(path, buffers=None), ValueError, path, "buffers")


@pytest.mark.parametrize("path", ["(top level)", "orders", "orders[]"])
def test_null_pointer_to_the_children_is_rejected(path):
    check(setting(path, children=None), ValueError, path, "children")


@pytest.mark.parametrize(
    ("parent", "index", "path"),
    [("(top level)", 2, "n"), ("orders", 0, "orders[]"), ("orders[]", 1, "orders[].price")],
)
@pytest.mark.parametrize("how", ["missing", "released"])
def test_null_and_released_children_are_rejected(parent, index, path, how):
    def edit(schema, array):
        if how == "released":
            PATHS[path](array.array).release = None
        else:
            children = PATHS[parent](array.array).children
            children[index] = type(children[index])()

    check(
        edit,
        ValueError,
        path,
        "expected a child, got a null pointer" if how == "missing" else "got a released one",
    )


def without_buffer(path, index, **members):
    def edit(schema, array):
        node = PATHS[path](array.array)
        node.buffers[index] = None
        for name, value in members.items():
            setattr(node, name, value)

    return edit


@pytest.mark.parametrize("path", ["orders", "orders[].id", "orders[].price", "kind", "n"])
def test_missing_data_buffer_is_rejected(path):
    check(without_buffer(path, 1), ValueError, path, "buffer 1")


@pytest.mark.parametrize("path", PATHS)
def test_missing_validity_bitmap_with_nulls_is_rejected(path):
    check(without_buffer(path, 0, null_count=1), ValueError, path, "validity")


def test_missing_character_buffer_is_rejected():
    check(without_buffer("orders[].price", 2), ValueError, "orders[].price", "data buffer")


def test_child_shorter_than_its_struct_is_rejected():
    check(setting("n", length=39), ValueError, "n", "at least 40 rows", "got 39")
    check(setting("(top level)", offset=1), ValueError, "orders", "at least 41 rows", "got 40")


def test_missing_and_unexpected_dictionaries_are_rejected():
    def drop(schema, array):
        PATHS["kind"](array.array).dictionary = None

    def add(schema, array):
        PATHS["n"](array.array).dictionary = PATHS["kind"](array.array).dictionary

    check(drop, ValueError, "kind", "dictionary")
    check(add, ValueError, "n", "dictionary")


def test_error_in_a_dictionary_names_the_column():
    def edit(schema, array):
        PATHS["kind"](array.array).dictionary.contents.length = -5

    check(edit, ValueError, "kind", "length of at least 0, got -5")


@pytest.mark.parametrize("path", ["orders", "orders[].price"])
@pytest.mark.parametrize(("row", "value"), [(0, -1), (-1, -1), (0, 2**30)])
def test_invalid_first_and_last_offsets_are_rejected(path, row, value):
    """An import on the CPU checks the first and the last offset."""
    orders = copied(ORDERS)
    batch = pa.record_batch([orders], ["orders"])

    def edit(schema, array):
        node = PATHS[path](array.array)
        index = node.offset + (node.length if row == -1 else 0)
        ctypes.c_int32.from_address(node.buffers[1] + index * 4).value = value

    producer = Producer(batch, edit)
    assert f"'{path}'" in refused(ValueError, producer, kind=None)
    assert producer.releases == 1


def copied(array):
    """Return a copy of the array in writable memory that no other test reads."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("0", array.type)])) as writer:
        writer.write(pa.record_batch([array], ["0"]))
    memory = pa.py_buffer(bytearray(sink.getvalue().to_pybytes()))
    return pa.ipc.open_stream(memory).read_next_batch().column(0)


def test_list_offsets_beyond_the_elements_are_rejected():
    def edit(schema, array):
        length = PATHS["orders[]"](array.array).length
        for path in ("orders[]", "orders[].id", "orders[].price"):
            PATHS[path](array.array).length = length - 1
            PATHS[path](array.array).null_count = -1

    check(edit, ValueError, "orders", "list elements")


@pytest.mark.parametrize("type_", [t for t in samples.TYPES if t.num_buffers], ids=str)
def test_array_without_rows_needs_no_buffers(type_):
    """The array has an offset but null pointers; the import does not read the buffers."""

    def edit(schema, array):
        node = array.array
        node.length, node.offset, node.null_count = 0, 5, -1
        for i in range(1, node.n_buffers):
            node.buffers[i] = None

    column = column_from(Producer(samples.values(type_, 40, "some"), edit))
    assert (column.size(), column.offset(), column.null_count()) == (0, 0, 0)


DEVICES = [
    pytest.param(2, "CUDA device 0", id="CUDA"),
    pytest.param(3, "pinned", id="CUDA host"),
    pytest.param(13, "managed", id="CUDA managed"),
    pytest.param(10, "10", id="ROCm"),
    pytest.param(0, "0", id="no device"),
    pytest.param(99, "99", id="unknown"),
    pytest.param(-1, "-1", id="negative"),
]


@pytest.mark.parametrize(("device_type", "word"), DEVICES)
@pytest.mark.parametrize("kind", ["table", "column"])
def test_memory_of_an_unavailable_device_is_rejected(device_type, word, kind):
    if cab.has_gpu() and device_type in (2, 3, 13):
        pytest.skip("pyarrow's memory is not GPU memory")

    def edit(schema, array):
        array.device_type, array.device_id = device_type, 0

    producer = Producer(BATCH, edit)
    assert word in refused(ValueError, producer, kind=kind)
    assert (producer.releases, producer.schema_releases) == (1, 1)


def test_export_of_contradictory_pylibcudf_columns_is_rejected():
    offsets, values = (column_from(pa.array([0, 1], pa.int32())) for _ in range(2))
    short = plc.Column(plc.DataType(plc.TypeId.LIST), 3, None, None, 0, 0, [offsets, values])
    with pytest.raises(ValueError, match=r"column '\(top level\)': expected 4 offsets, got 2"):
        cab.to_arrow_device(short)
    short = plc.Column(plc.DataType(plc.TypeId.STRUCT), 3, None, None, 0, 0, [values])
    with pytest.raises(
        ValueError, match=r"column '0': expected at least 3 rows, as many as the struct.* got 2$"
    ):
        cab.to_arrow_device(short)
    for type_id in (plc.TypeId.LIST, plc.TypeId.DICTIONARY32):
        with pytest.raises(ValueError, match=type_id.name):
            cab.to_arrow_device(plc.Column(plc.DataType(type_id), 0, None, None, 0, 0, []))


@pytest.mark.parametrize("obj", [pytest.param(object(), id="object"), None, 3, [1, 2]], ids=repr)
def test_export_of_objects_without_data_is_rejected(obj):
    with pytest.raises(TypeError, match=type(obj).__name__):
        cab.to_arrow_device(obj)
