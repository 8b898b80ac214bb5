# SPDX-License-Identifier: Apache-2.0
"""The checker of exports, which runs with every test, finds a violation of each invariant."""

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
BATCH = pa.record_batch({"a": NUMBERS})

AFTER_BYTE = np.array([0, 0b101], "uint8")
FROM_ONE = np.array([1, 2, 2, 3], "int32")
DESCENDING = np.array([0, 2, 1, 3], "int32")
BEYOND_KEYS = np.array([0, 9, 2], "int32")


def set_buffer(struct, index, address):
    struct.array.buffers[index] = address


def move_buffer(struct, index, num_bytes):
    struct.array.buffers[index] += num_bytes


def set_in_child(struct, name, value):
    setattr(struct.array.children[0].contents, name, value)


#: For each invariant, an array and a change of its exported `ArrowDeviceArray`.
PLANTED = {
    "host_memory_is_plain": (NUMBERS, lambda struct: setattr(struct, "device_id", 0)),
    "batch_is_plain": (BATCH, lambda struct: setattr(struct.array, "offset", 1)),
    "mask_is_on_word": (NUMBERS, lambda struct: set_buffer(struct, 0, AFTER_BYTE.ctypes.data + 1)),
    "data_is_aligned": (NUMBERS, lambda struct: move_buffer(struct, 1, 2)),
    "null_count_is_exact": (NUMBERS, lambda struct: setattr(struct.array, "null_count", -1)),
    "offsets_are_there": (TEXTS, lambda struct: set_buffer(struct, 1, None)),
    "first_offset_is_zero": (TEXTS, lambda struct: set_buffer(struct, 1, FROM_ONE.ctypes.data)),
    "offsets_ascend": (TEXTS, lambda struct: set_buffer(struct, 1, DESCENDING.ctypes.data)),
    "offsets_stay_within": (LISTS, lambda struct: set_in_child(struct, "length", 2)),
    "field_begins_with_struct": (STRUCTS, lambda struct: set_in_child(struct, "offset", 1)),
    "indices_are_within_keys": (WORDS, lambda s: set_buffer(s, 1, BEYOND_KEYS.ctypes.data)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_violation_is_found(name):
    source, change = PLANTED[name]
    is_table = isinstance(source, pa.RecordBatch)
    exported = cab.to_arrow_device(source if is_table else column_from(source))
    _, capsule = exported.__arrow_c_device_array__()
    struct = struct_of(capsule)
    type_ = pa.struct(source.schema) if is_table else source.type
    assert not find_violations(struct, type_, is_table=is_table)
    change(struct)
    found = find_violations(struct, type_, is_table=is_table)
    assert found
    assert all(f": {name}: " in sentence for sentence in found)
