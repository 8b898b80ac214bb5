# SPDX-License-Identifier: Apache-2.0
"""Comparison of the values of a round trip with those of the file, using only pyarrow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from operator import eq

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_arrow_bridge.arrow.schemas import empty
from cudf_arrow_bridge.arrow.types import support_of

#: The classes of lists. Maps are compared as lists, because pyarrow cannot flatten maps.
LISTS = (
    pa.ListArray,
    pa.LargeListArray,
    pa.ListViewArray,
    pa.LargeListViewArray,
    pa.FixedSizeListArray,
)

Equivalent = Callable[[pa.DataType, pa.DataType], bool]


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Concatenate the chunks of a table, because an export is a single Arrow array."""
    if not table.num_rows:
        return empty(table.schema)  # pyarrow does not combine zero chunks of every type.
    columns = []
    for name, column in zip(table.schema.names, table.columns, strict=True):
        try:
            columns.append(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())
        except pa.ArrowException as error:
            raise ValueError(
                f"column {name!r} does not fit into one Arrow array ({error}); take part of it"
                " with --rows"
            ) from None
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def difference(expected: pa.Array, actual: pa.Array) -> str:
    """Return the difference of two columns on one line, or an empty string.

    Floats are compared bit by bit: NaN equals itself, and 0.0 differs from -0.0. The values of
    types that cuDF converts must match after a safe cast; see `may_become`.
    """
    if len(expected) != len(actual):
        return f"{len(expected)} rows became {len(actual)}"
    if not same_type(expected.type, actual.type, may_become):
        return f"{expected.type} became {actual.type}"
    try:
        if not len(expected) or same_values(expected, actual):
            return ""
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        return f"{expected.type} became {actual.type}: {error}"
    row = first_difference(expected, actual)
    return f"row {row}: {format_scalar(expected[row])} became {format_scalar(actual[row])}"


def same_type(left: pa.DataType, right: pa.DataType, equivalent: Equivalent = eq) -> bool:
    """Return whether two types are the same except for nullability and the names of list items.

    `equivalent` compares types of different ids, and dictionaries with different index types.
    """
    if left.id != right.id:
        return equivalent(left, right)
    if pa.types.is_struct(left):
        return left.names == right.names and all(
            same_type(a.type, b.type, equivalent) for a, b in zip(left, right, strict=True)
        )
    if pa.types.is_dictionary(left):
        return (
            (left.index_type == right.index_type or equivalent(left, right))
            and left.ordered == right.ordered
            and same_type(left.value_type, right.value_type, equivalent)
        )
    if pa.types.is_fixed_size_list(left) and left.list_size != right.list_size:
        return False
    if isinstance(left, (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.MapType)):
        return same_type(left.field(0).type, right.field(0).type, equivalent)
    return bool(left == right)


def may_become(left: pa.DataType, right: pa.DataType) -> bool:
    """Return whether cuDF may convert the first type to the second.

    It may if the type table has the same cuDF type for both. The indices of a dictionary may become
    narrower, and a dictionary in lists and structs is decoded. A null column becomes strings.
    """
    if pa.types.is_null(left):
        return bool(pa.types.is_string(right))
    if pa.types.is_dictionary(left):
        if pa.types.is_dictionary(right):
            return bool(right.index_type.bit_width <= left.index_type.bit_width)
        return same_type(left.value_type, right, may_become)
    before, after = support_of(left), support_of(right)
    return bool(before.support != "unsupported" and before.cudf_type == after.cudf_type)


def same_values(left: pa.Array, right: pa.Array) -> bool:
    """Return whether two arrays of the same or equivalent types have the same values and nulls."""
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
        # pyarrow casts and views maps of null and run-end encoded values to invalid lists.
        entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
        type_, buffers = pa.list_(entries.type), array.buffers()[:2]
        array = pa.Array.from_buffers(
            type_, len(array), buffers, offset=array.offset, children=[entries]
        )
    if type(array) in LISTS:
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


def first_difference(left: pa.Array, right: pa.Array) -> int:
    """Find the first row in which two different arrays differ."""
    return bisect_left(
        range(len(left)), True, key=lambda row: not same_values(left[: row + 1], right[: row + 1])
    )


def format_scalar(scalar: pa.Scalar, width: int = 40) -> str:
    """Return a value in a few characters."""
    try:
        text = repr(scalar.as_py())
    except (ValueError, OverflowError):
        # Nanoseconds and years that Python's types cannot represent.
        text = str(scalar)
    return text if len(text) <= width else f"{text[: width - 1]}…"
