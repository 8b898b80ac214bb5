# SPDX-License-Identifier: Apache-2.0
"""Comparison of the values of arrays in host memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def same_values(left: pa.Array, right: pa.Array) -> bool:
    """Return whether two arrays of the same or equivalent types have the same values and nulls.

    Floats are compared bit by bit: NaN equals itself, and 0.0 differs from -0.0.
    """
    left, right = decoded(left), decoded(right)
    if not left.is_valid().equals(right.is_valid()):
        return False
    if pa.types.is_large_list(left.type) and pa.types.is_large_list(right.type):
        lengths = pc.list_value_length(left)
        return lengths.equals(pc.list_value_length(right)) and same_values(
            left.flatten(), right.flatten()
        )
    if pa.types.is_struct(left.type):
        # The nulls of structs become nulls of their fields.
        return all(map(same_values, left.flatten(), right.flatten()))
    if left.null_count:
        left, right = left.drop_null(), right.drop_null()
    if pa.types.is_large_list(right.type):
        # cuDF's lists of bytes.
        return bool(left.to_pylist() == [bytes(row) for row in right.to_pylist()])
    if left.type != right.type:
        if pa.types.is_time(left.type):
            # pyarrow casts 64-bit integers to durations, but not times.
            left = left.cast(f"int{left.type.bit_width}").cast(pa.int64())
        left = left.cast(right.type)
    if pa.types.is_floating(left.type):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[left.type.bit_width]
        left, right = left.view(bits), right.view(bits)
    return bool(left.equals(right))


def decoded(array: pa.Array) -> pa.Array:
    """Return an array of a type that pyarrow can filter and compare, with the same values.

    All lists and maps become large lists.
    """
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    if pa.types.is_run_end_encoded(array.type):
        # pyarrow's own function supports only some types of values.
        rows = np.arange(array.offset, array.offset + len(array))
        runs = np.searchsorted(array.run_ends, rows, side="right")
        return decoded(array.values).take(pa.array(runs))
    if pa.types.is_dictionary(array.type):
        return decoded(array.dictionary).take(array.indices)
    if pa.types.is_map(array.type):
        # pyarrow cannot flatten maps, and casts and views those of null and run-end encoded
        # values to invalid lists.
        entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
        type_, buffers = pa.list_(entries.type), array.buffers()[:2]
        array = pa.Array.from_buffers(
            type_, len(array), buffers, offset=array.offset, children=[entries]
        )
    if isinstance(array, pa.lib.BaseListArray):
        lengths = pc.list_value_length(array).fill_null(0)
        offsets = pa.array(np.append(0, np.cumsum(lengths, dtype=np.int64)))
        values = decoded(array.flatten())
        return pa.LargeListArray.from_arrays(offsets, values, mask=array.is_null())
    if pa.types.is_struct(array.type) and array.type.num_fields:
        fields = [decoded(array.field(i)) for i in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(fields, array.type.names, mask=array.is_null())
    if pa.types.is_string_view(array.type):
        return array.cast(pa.string())
    return array.cast(pa.binary()) if pa.types.is_binary_view(array.type) else array
