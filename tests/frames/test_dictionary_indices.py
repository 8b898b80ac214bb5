# SPDX-License-Identifier: Apache-2.0
"""Dictionary indices that are out of range, where a frame needs indices of another width."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab

VALUES = pa.array(["x", "y", "z"])
WIDER = [pa.int16(), pa.int32(), pa.int64(), pa.uint16(), pa.uint32(), pa.uint64()]


def unchecked(indices, values=VALUES, mask=None):
    """Return a dictionary array whose indices pyarrow has not validated."""
    validity = None if mask is None else pa.array(~mask).buffers()[1]
    return pa.DictionaryArray.from_buffers(
        pa.dictionary(indices.type, values.type),
        len(indices),
        [validity, indices.buffers()[1]],
        values,
    )


def batch(array):
    return pa.record_batch([array], ["c"])


def in_a_list(array):
    return batch(pa.ListArray.from_arrays([0, len(array)], array))


def two_batches(first, second):
    return pa.RecordBatchReader.from_batches(first.schema, [first, second])


def with_other_values(array):
    other = pa.DictionaryArray.from_arrays(array.indices[:1], pa.array(["w", "x"]))
    return two_batches(batch(array), batch(other))


WAYS_IN = {
    "frame": lambda array: cab.from_arrow_device(batch(array)),
    "list": lambda array: cab.from_arrow_device(in_a_list(array)),
    "frame of batches": lambda array: cab.from_arrow_device_stream(
        two_batches(batch(array[:1]), batch(array))
    ),
    "frame of batches with different values": lambda array: cab.from_arrow_device_stream(
        with_other_values(array)
    ),
}


@pytest.mark.unsound  # the pylibcudf columns of which the frame is made
@pytest.mark.parametrize("index_type", WIDER, ids=str)
@pytest.mark.parametrize("way_in", WAYS_IN)
def test_import_rejects_an_out_of_range_dictionary_index(way_in, index_type):
    # Truncated to 8 bits, each of these would be a valid index.
    wrong = [3, 256, 257, 2**index_type.bit_width // 2 - 256]
    if str(index_type).startswith("int"):
        wrong += [-1, -256]
    for index in wrong:
        array = unchecked(pa.array([0, index, 1], index_type))
        with pytest.raises(ValueError, match=rf"column 'c(\[\])?': .*(?<!\d){index}\b"):
            WAYS_IN[way_in](array)


@pytest.mark.parametrize("index", [3, 257, -1])
def test_export_of_concatenated_batches_rejects_an_out_of_range_index(index):
    array = unchecked(pa.array([0, index, 1], pa.int32()))
    with pytest.raises(ValueError, match=rf"column 'c': .*(?<!\d){index}\b"):
        cab.to_arrow_device(with_other_values(array))


@pytest.mark.parametrize("index_type", WIDER, ids=str)
@pytest.mark.parametrize("way_in", [*WAYS_IN, "export of batches"])
def test_dictionary_index_of_a_null_row_is_ignored(way_in, index_type):
    indices = np.array([0, 257, 2, 3, 200], index_type.to_pandas_dtype())
    mask = np.array([False, True, False, True, True])
    array = unchecked(pa.array(indices), mask=mask)
    result = WAYS_IN[way_in](array) if way_in in WAYS_IN else with_other_values(array)
    values = pa.record_batch(cab.to_arrow_device(result))["c"].to_pylist()
    if way_in == "list":
        (values,) = values
    before = {"frame of batches": ["x"]}.get(way_in, [])
    after = ["w"] if "different" in way_in or "export" in way_in else []
    assert values == [*before, "x", None, "z", None, None, *after]
