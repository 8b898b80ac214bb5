# SPDX-License-Identifier: Apache-2.0
"""Batches whose strings have more than 2 GiB in total are concatenated as large strings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge

PART = 400 << 20


@pytest.fixture(scope="module")
def strings():
    """Three strings of 400 MiB, of the characters 0, 1 and 2."""
    characters = np.repeat(np.frombuffer(b"012", "uint8"), PART)
    offsets = np.arange(4, dtype="int32") * PART
    return pa.StringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(characters))


def of_lists(strings):
    return pa.ListArray.from_arrays([0, 1, 3], strings)


def of_structs(strings):
    return pa.StructArray.from_arrays([strings], ["s"])


WAYS = {
    "frame": bridge.from_arrow_device_stream,
    "table": lambda batches: bridge.from_arrow_device_stream(batches, to="pylibcudf"),
    "array": lambda batches: batches,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("nest", "type_"),
    [
        (lambda strings: strings, pa.large_string()),
        (of_lists, pa.list_(pa.large_string())),
        (of_structs, pa.struct([("s", pa.large_string())])),
    ],
)
def test_strings_beyond_2_gib_are_concatenated_as_large_strings(strings, nest, type_, way):
    batch = pa.record_batch([nest(strings)], ["a"])
    batches = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])
    result = pa.record_batch(bridge.to_arrow_device(WAYS[way](batches)))["a"]
    assert result.type == type_
    result.validate(full=False)
    while not pa.types.is_large_string(result.type):
        result = result.flatten() if pa.types.is_list(result.type) else result.field(0)
    _, offsets, characters = result.buffers()
    assert np.frombuffer(offsets, "int64").tolist() == [PART * i for i in range(7)]
    found = np.frombuffer(characters, "uint8").reshape(6, PART)
    for row, character in zip(found, b"012012", strict=True):
        assert (row[0], row.min(), row.max()) == (character,) * 3


def test_lists_of_too_many_elements_are_an_error():
    size = 1 << 30
    elements = pa.Array.from_buffers(pa.int8(), size, [None, pa.py_buffer(np.zeros(size, "int8"))])
    batch = pa.record_batch([pa.ListArray.from_arrays([0, size], elements)], ["a"])
    batches = pa.RecordBatchReader.from_batches(batch.schema, [batch] * 2)
    with pytest.raises(OverflowError, match=r"column 'a'.*to_arrow_device_stream"):
        bridge.to_arrow_device(batches)
