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
    """Return an edit that sets members of the array with this path; `add_` adds to a member."""

    def edit(schema, array):
        node = PATHS[path](array.array)
        for name, value in members.items():
            if name.startswith("add_"):
                name = name.removeprefix("add_")
                value += getattr(node, name)
            setattr(node, name, value)

    return edit


def without_buffer(path, index, **members):
    def edit(schema, array):
        setting(path, **members)(schema, array)
        PATHS[path](array.array).buffers[index] = None

    return edit


MEMBERS = {
    "negative length": ({"length": -1}, "length of at least 0, got -1"),
    "negative offset": ({"offset": -1}, "offset of at least 0, got -1"),
    "offset and length overflow": ({"offset": 2**63 - 1}, "address space"),
    "offset beyond all addresses": ({"offset": 2**60}, "address space"),
    "null count below -1": ({"null_count": -2}, ", got -2"),
    "fewer buffers": ({"add_n_buffers": -1}, "buffers, got "),
    "more buffers": ({"add_n_buffers": 1}, "buffers, got "),
    "fewer children": ({"add_n_children": -1}, "children, got "),
    "more children": ({"add_n_children": 1}, "children, got "),
    "no array of buffers": ({"buffers": None}, "buffers"),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("members", "word"), MEMBERS.values(), ids=MEMBERS)
def test_array_members_out_of_range_are_rejected(path, members, word):
    check(setting(path, **members), ValueError, path, word)


@pytest.mark.parametrize("path", PATHS)
def test_null_counts_that_contradict_the_array_are_rejected(path):
    def more_nulls_than_rows(schema, array):
        node = PATHS[path](array.array)
        node.null_count = node.length + 1

    check(more_nulls_than_rows, ValueError, path, "null count")
    check(without_buffer(path, 0, null_count=1), ValueError, path, "validity")


@pytest.mark.parametrize("length", [2**31 - 1, 2**31, 2**57])
def test_array_with_more_rows_than_a_column_holds_is_rejected(length):
    edit = setting("(top level)", length=length)
    check(edit, OverflowError, "(top level)", "stream", str(length))


@pytest.mark.parametrize("path", ["orders[].id", "n"])
@pytest.mark.parametrize("length", [2**31 - 1, 2**57])
def test_extra_rows_of_children_do_not_count_toward_the_row_limit(path, length):
    producer = Producer(BATCH, setting(path, length=length, null_count=-1))
    assert pa.record_batch(DeviceOnly(cab.to_arrow_device(producer))).equals(BATCH)


@pytest.mark.parametrize("path", ["(top level)", "orders", "orders[]"])
def test_null_pointer_to_the_children_is_rejected(path):
    check(setting(path, children=None), ValueError, path, "children")


@pytest.mark.parametrize(
    ("parent", "index", "path"),
    [("(top level)", 2, "n"), ("orders", 0, "orders[]"), ("orders[]", 1, "orders[].price")],
)
def test_null_and_released_children_are_rejected(parent, index, path):
    def drop(schema, array):
        children = PATHS[parent](array.array).children
        children[index] = type(children[index])()

    check(drop, ValueError, path, "expected a child, got a null pointer")
    check(setting(path, release=None), ValueError, path, "got a released one")


@pytest.mark.parametrize("path", ["orders", "orders[].id", "orders[].price", "kind", "n"])
def test_missing_data_buffer_is_rejected(path):
    check(without_buffer(path, 1), ValueError, path, "buffer 1")


def test_missing_character_buffer_is_rejected():
    check(without_buffer("orders[].price", 2), ValueError, "orders[].price", "data buffer")


def test_child_shorter_than_its_struct_is_rejected():
    check(setting("n", length=39), ValueError, "n", "at least 40 rows", "got 39")
    check(setting("(top level)", offset=1), ValueError, "orders", "at least 41 rows", "got 40")


def test_missing_and_invalid_dictionaries_are_rejected():
    def add(schema, array):
        PATHS["n"](array.array).dictionary = PATHS["kind"](array.array).dictionary

    def shorten(schema, array):
        PATHS["kind"](array.array).dictionary.contents.length = -5

    check(setting("kind", dictionary=None), ValueError, "kind", "dictionary")
    check(add, ValueError, "n", "dictionary")
    check(shorten, ValueError, "kind", "length of at least 0, got -5")


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
        for path in ("orders[]", "orders[].id", "orders[].price"):
            setting(path, add_length=-1, null_count=-1)(schema, array)

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


DEVICES = {2: "CUDA device 0", 3: "pinned", 13: "managed", 10: "10", 0: "0", 99: "99", -1: "-1"}


@pytest.mark.parametrize(("device_type", "word"), DEVICES.items())
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
    for type_id, size, children, message in (
        (plc.TypeId.LIST, 3, [offsets, values], r"column '\(top level\)': .* 4 offsets, got 2"),
        (plc.TypeId.STRUCT, 3, [values], "column '0': .* at least 3 rows, .* got 2$"),
        (plc.TypeId.LIST, 0, [], "LIST"),
        (plc.TypeId.DICTIONARY32, 0, [], "DICTIONARY32"),
    ):
        column = plc.Column(plc.DataType(type_id), size, None, None, 0, 0, children)
        with pytest.raises(ValueError, match=message):
            cab.to_arrow_device(column)
