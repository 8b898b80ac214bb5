# SPDX-License-Identifier: Apache-2.0
"""Contradictory structs are rejected with their path and released exactly once.

`csrc/tests/validate` tests each contradiction.
"""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.broken import BATCH, PATHS, check, child
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


MEMBERS = {
    "negative length": ({"length": -1}, "the length is negative: -1"),
    "negative offset": ({"offset": -1}, "the offset is negative: -1"),
    "offset and length overflow": ({"offset": 2**63 - 1}, "address space"),
    "null count below -1": ({"null_count": -2}, ", got -2"),
    "more buffers": ({"add_n_buffers": 1}, "buffers, got "),
    "fewer children": ({"add_n_children": -1}, "children, got "),
    "no array of buffers": ({"buffers": None}, "buffers"),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("members", "word"), MEMBERS.values(), ids=MEMBERS)
def test_array_members_out_of_range_are_rejected(path, members, word):
    check(setting(path, **members), ValueError, path, word)


@pytest.mark.parametrize("length", [2**31 - 1, 2**31, 2**57])
def test_array_with_more_rows_than_a_column_holds_is_rejected(length):
    edit = setting("(top level)", length=length)
    check(edit, OverflowError, "(top level)", "stream", str(length))


@pytest.mark.parametrize("path", ["orders[].id", "n"])
@pytest.mark.parametrize("length", [2**31 - 1, 2**57])
def test_extra_rows_of_children_do_not_count_toward_the_row_limit(path, length):
    producer = Producer(BATCH, setting(path, length=length, null_count=-1))
    assert pa.record_batch(DeviceOnly(cab.to_arrow_device(producer))).equals(BATCH)


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
        (plc.TypeId.LIST, 0, [], "children, got 0"),
        (plc.TypeId.DICTIONARY32, 0, [], "children, got 0"),
    ):
        column = plc.Column(plc.DataType(type_id), size, None, None, 0, 0, children)
        with pytest.raises(ValueError, match=message):
            cab.to_arrow_device(column)


FORMATS = [b"", b"?", b"d:", b"d:5", b"tsx:", b"+w", b"+", b"ll", None]


@pytest.mark.parametrize("found", FORMATS, ids=repr)
def test_unknown_formats_are_rejected(found):
    def edit(schema, array):
        child(schema, 2).format = found

    check(edit, ValueError, "n")


COLUMNS = {
    pa.int32(): [1],
    pa.list_(pa.int32()): [[1]],
    pa.map_(pa.string(), pa.int32()): [[("key", 1)]],
    pa.dictionary(pa.int32(), pa.string()): ["x"],
}


@pytest.mark.parametrize("flags", [0, 1, 4, 6, 8, -1, 1 << 62], ids=hex)
@pytest.mark.parametrize("type_", COLUMNS, ids=str)
def test_flags_that_a_type_does_not_have_are_ignored_as_in_pyarrow(type_, flags):
    batch = pa.record_batch({"a": pa.array(COLUMNS[type_], type_)})

    def edited():
        return Producer(batch, lambda schema, array: set_flags(child(schema, 0)))

    def set_flags(field):
        field.flags = flags

    expected = pa.record_batch(edited())
    assert pa.record_batch(cab.to_arrow_device(edited())).schema == expected.schema
    frame = cab.from_arrow_device(edited())
    assert pa.record_batch(cab.to_arrow_device(frame)).schema.field("a") == expected.field("a")
    stream = cab.to_arrow_device_stream([edited(), DeviceOnly(expected), edited()])
    assert pa.table(stream).schema == expected.schema
