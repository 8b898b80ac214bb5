# SPDX-License-Identifier: Apache-2.0
"""The checker of exports finds planted violations; other tests check that sound arrays pass."""

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.arrays import column_from, struct_of
from testing.peers.exports import find_violations

NUMBERS = pa.array([1, None, 3], pa.int32())
TEXTS = pa.array(["ab", None, "c"])
LISTS = pa.array([[1, 2], None, [3]], pa.list_(pa.int32()))
STRUCTS = pa.array([{"a": 1}, {"a": 2}], pa.struct({"a": pa.int32()}))
WORDS = pa.array(["x", None, "y"]).dictionary_encode()
BATCH = pa.record_batch({"a": NUMBERS, "b": TEXTS})


def found_in(source, edit):
    """Export an array or a record batch, edit its ``ArrowDeviceArray``, and check that."""
    is_table = isinstance(source, pa.RecordBatch)
    exported = cab.to_arrow_device(source if is_table else column_from(source))
    _, capsule = exported.__arrow_c_device_array__()
    struct = struct_of(capsule)
    kept = edit(struct)
    type_ = pa.struct(source.schema) if is_table else source.type
    found = find_violations(struct, type_, is_table=is_table)
    del capsule, kept
    return found


def change(*path, **members):
    """Set members of the array, or of the child with this path."""

    def edit(struct):
        array = struct.array
        for index in path:
            array = array.children[index].contents
        for name, value in members.items():
            setattr(array, name, value)

    return edit


def move(index, by):
    """Move the address of a buffer by some bytes; None drops it."""

    def edit(struct):
        address = struct.array.buffers[index]
        struct.array.buffers[index] = None if by is None else address + by

    return edit


def replace(index, values, kind="int32", offset=0):
    """Replace a buffer by values that start at an offset, in bytes, in other memory."""

    def edit(struct):
        data = np.array(values, kind).tobytes()
        memory = np.frombuffer(bytes(offset) + data, "uint8")
        struct.array.buffers[index] = memory.ctypes.data + offset
        return memory

    return edit


PLANTED = {
    "host_memory_is_plain": [(NUMBERS, lambda struct: setattr(struct, "device_id", 0))],
    "batch_is_plain": [(BATCH, change(offset=1)), (BATCH, change(null_count=-1))],
    "mask_is_on_word": [(NUMBERS, replace(0, [0b101], "uint8", offset=1))],
    "data_is_aligned": [(NUMBERS, move(1, 2)), (TEXTS, move(1, 2)), (WORDS, move(1, 1))],
    "null_count_is_exact": [
        (NUMBERS, change(null_count=-1)),
        (NUMBERS, change(null_count=2)),
        (NUMBERS, move(0, None)),
        (LISTS, change(0, null_count=-1)),
        (BATCH, change(1, null_count=0)),
        (pa.nulls(3), change(null_count=0)),
    ],
    "offsets_are_there": [(TEXTS, move(1, None)), (LISTS, move(1, None))],
    "first_offset_is_zero": [(TEXTS, replace(1, [1, 2, 2, 3]))],
    "offsets_ascend": [(TEXTS, replace(1, [0, 2, 1, 3])), (LISTS, replace(1, [0, 2, 2, 1]))],
    "offsets_stay_within": [(LISTS, change(0, length=2))],
    "field_begins_with_struct": [(STRUCTS, change(0, offset=1)), (STRUCTS, change(0, length=1))],
    "indices_are_within_keys": [(WORDS, replace(1, [0, 9, 2])), (WORDS, replace(1, [0, 9, -1]))],
}


@pytest.mark.parametrize(
    ("name", "source", "edit"), [(name, *plant) for name in PLANTED for plant in PLANTED[name]]
)
def test_planted_violations_are_found(name, source, edit):
    found = found_in(source, edit)
    assert found
    assert all(f": {name}: " in sentence for sentence in found)


@pytest.mark.parametrize("make", [cab.to_arrow_device, cab.to_arrow_device_stream])
def test_every_export_calls_the_checker(make, monkeypatch):
    """The fixture in ``conftest.py`` relies on this."""
    from testing.peers import exports

    checked = []
    monkeypatch.setattr(exports, "find_violations", lambda *args, **_: checked.append(args) or [])
    result = make(column_from(NUMBERS))
    batches = list(result) if make is cab.to_arrow_device_stream else [result]
    assert len(checked) >= len(batches) == 1
