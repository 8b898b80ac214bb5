# SPDX-License-Identifier: Apache-2.0
"""Structs that contradict themselves are refused, by path; each is released once all the same."""

from __future__ import annotations

import ctypes

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import samples
from testing.broken import BATCH, ORDERS, PATHS, check
from testing.peers.arrays import DeviceOnly, Producer, column_from, refused


def setting(path, **members):
    def edit(schema, array):
        for name, value in members.items():
            setattr(PATHS[path](array.array), name, value)

    return edit


NUMBERS = [
    pytest.param({"length": -1}, ValueError, "length -1", id="negative length"),
    pytest.param({"offset": -1}, ValueError, "offset -1", id="negative offset"),
    pytest.param({"offset": 2**63 - 1}, ValueError, "overflow", id="offset and length overflow"),
    pytest.param({"offset": 2**60}, ValueError, "overflow", id="offset beyond all addresses"),
    pytest.param({"null_count": -2}, ValueError, "null count -2", id="null count below -1"),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("members", "error", "word"), NUMBERS)
def test_numbers_out_of_range(path, members, error, word):
    check(setting(path, **members), error, path, word)


@pytest.mark.parametrize("length", [2**31 - 1, 2**31, 2**57])
def test_more_rows_than_cudf_can_count(length):
    check(
        setting("(top level)", length=length), OverflowError, "(top level)", "stream", str(length)
    )


@pytest.mark.parametrize("path", ["orders[].id", "n"])
@pytest.mark.parametrize("length", [2**31 - 1, 2**57])
def test_rows_that_nobody_asked_for_are_not_counted(path, length):
    producer = Producer(BATCH, setting(path, length=length, null_count=-1))
    assert pa.record_batch(DeviceOnly(bridge.to_arrow_device(producer))).equals(BATCH)


@pytest.mark.parametrize("path", PATHS)
def test_more_nulls_than_rows(path):
    def edit(schema, array):
        PATHS[path](array.array).null_count = PATHS[path](array.array).length + 1

    check(edit, ValueError, path, "null count")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("member", ["buffers", "children"])
@pytest.mark.parametrize("by", [-1, 1])
def test_wrong_numbers_of_buffers_and_children(path, member, by):
    def edit(schema, array):
        node = PATHS[path](array.array)
        setattr(node, f"n_{member}", getattr(node, f"n_{member}") + by)

    check(edit, ValueError, path, f"{member} found")


@pytest.mark.parametrize("path", PATHS)
def test_missing_arrays_of_buffers(path):
    check(setting(path, buffers=None), ValueError, path, "buffers")


@pytest.mark.parametrize("path", ["(top level)", "orders", "orders[]"])
def test_missing_arrays_of_children(path):
    check(setting(path, children=None), ValueError, path, "children")


@pytest.mark.parametrize(
    ("parent", "index", "path"),
    [("(top level)", 2, "n"), ("orders", 0, "orders[]"), ("orders[]", 1, "orders[].price")],
)
@pytest.mark.parametrize("how", ["missing", "released"])
def test_missing_and_released_children(parent, index, path, how):
    def edit(schema, array):
        if how == "released":
            PATHS[path](array.array).release = None
        else:
            children = PATHS[parent](array.array).children
            children[index] = type(children[index])()

    check(edit, ValueError, path, "null child" if how == "missing" else "released")


def without_buffer(path, index, **members):
    def edit(schema, array):
        node = PATHS[path](array.array)
        node.buffers[index] = None
        for name, value in members.items():
            setattr(node, name, value)

    return edit


@pytest.mark.parametrize("path", ["orders", "orders[].id", "orders[].price", "kind", "n"])
def test_missing_data(path):
    check(without_buffer(path, 1), ValueError, path, "buffer 1")


@pytest.mark.parametrize("path", PATHS)
def test_missing_validity(path):
    check(without_buffer(path, 0, null_count=1), ValueError, path, "validity")


def test_missing_characters():
    check(without_buffer("orders[].price", 2), ValueError, "orders[].price", "data buffer")


def test_children_shorter_than_their_struct():
    check(setting("n", length=39), ValueError, "n", "39 rows", "40")
    check(setting("(top level)", offset=1), ValueError, "orders", "40 rows", "41")


def test_dictionaries_missing_and_unexpected():
    def drop(schema, array):
        PATHS["kind"](array.array).dictionary = None

    def add(schema, array):
        PATHS["n"](array.array).dictionary = PATHS["kind"](array.array).dictionary

    check(drop, ValueError, "kind", "dictionary")
    check(add, ValueError, "n", "dictionary")


def test_errors_below_a_dictionary():
    def edit(schema, array):
        PATHS["kind"](array.array).dictionary.contents.length = -5

    check(edit, ValueError, "kind", "length -5")


@pytest.mark.parametrize("path", ["orders", "orders[].price"])
@pytest.mark.parametrize(("row", "value"), [(0, -1), (-1, -1), (0, 2**30)])
def test_offsets_that_make_no_sense(path, row, value):
    """The first and the last offset, which an import on the CPU looks at."""
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
    """An array whose memory nobody else reads."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("0", array.type)])) as writer:
        writer.write(pa.record_batch([array], ["0"]))
    memory = pa.py_buffer(bytearray(sink.getvalue().to_pybytes()))
    return pa.ipc.open_stream(memory).read_next_batch().column(0)


def test_list_offsets_beyond_the_elements():
    def edit(schema, array):
        length = PATHS["orders[]"](array.array).length
        for path in ("orders[]", "orders[].id", "orders[].price"):
            PATHS[path](array.array).length = length - 1
            PATHS[path](array.array).null_count = -1

    check(edit, ValueError, "orders", "list elements")


@pytest.mark.parametrize("type_", [t for t in samples.TYPES if t.num_buffers], ids=str)
def test_no_rows_need_no_buffers(type_):
    """An offset into nothing: none of the pointers is followed."""

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
def test_memory_that_cannot_be_read_here(device_type, word, kind):
    if bridge.has_gpu() and device_type in (2, 3, 13):
        pytest.skip("a GPU is there, and pyarrow's memory is not its")

    def edit(schema, array):
        array.device_type, array.device_id = device_type, 0

    producer = Producer(BATCH, edit)
    assert word in refused(ValueError, producer, kind=kind)
    assert (producer.releases, producer.schema_releases) == (1, 1)


def test_columns_that_cannot_leave():
    offsets, values = (column_from(pa.array([0, 1], pa.int32())) for _ in range(2))
    short = plc.Column(plc.DataType(plc.TypeId.LIST), 3, None, None, 0, 0, [offsets, values])
    with pytest.raises(ValueError, match="2 offsets found, 4 expected"):
        bridge.to_arrow_device(short)
    short = plc.Column(plc.DataType(plc.TypeId.STRUCT), 3, None, None, 0, 0, [values])
    with pytest.raises(ValueError, match="2 rows found, at least 3 expected"):
        bridge.to_arrow_device(short)
    for type_id in (plc.TypeId.LIST, plc.TypeId.DICTIONARY32):
        with pytest.raises(ValueError, match=type_id.name):
            bridge.to_arrow_device(plc.Column(plc.DataType(type_id), 0, None, None, 0, 0, []))


@pytest.mark.parametrize("obj", [pytest.param(object(), id="object"), None, 3, [1, 2]], ids=repr)
def test_objects_that_hold_no_data(obj):
    with pytest.raises(TypeError, match=type(obj).__name__):
        bridge.to_arrow_device(obj)
