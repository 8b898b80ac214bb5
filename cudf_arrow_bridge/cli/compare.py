# SPDX-License-Identifier: Apache-2.0
"""Compare what came back with what the file holds, using pyarrow alone."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

Equivalent = Callable[[pa.DataType, pa.DataType], bool]


def identical(left: pa.DataType, right: pa.DataType) -> bool:
    """Take no type for another."""
    return bool(left == right)


def difference(expected: pa.Array, found: pa.Array, equivalent: Equivalent = identical) -> str:
    """Say how two columns differ, or nothing.

    Floats are compared bit by bit: NaN equals itself, and 0.0 differs from -0.0.

    Parameters
    ----------
    expected : pyarrow.Array
        The column as pyarrow reads it from the file.
    found : pyarrow.Array
        The column as it came across.
    equivalent : callable, optional
        Whether the first of two types that are not nested may have become the second. The values
        have to match after a safe cast. Dictionaries are asked about if their index types differ.

    Returns
    -------
    str
        One line, empty if nothing differs.
    """
    if len(expected) != len(found):
        return f"{len(expected)} rows became {len(found)}"
    if not same_type(expected.type, found.type, equivalent):
        return f"{expected.type} became {found.type}"
    try:
        if same_values(expected, found):
            return ""
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        return f"{expected.type} became {found.type}: {error}"
    row = first_difference(expected, found)
    return f"row {row}: {shown(expected[row])} became {shown(found[row])}"


def same_type(left: pa.DataType, right: pa.DataType, equivalent: Equivalent = identical) -> bool:
    """Whether two types are the same but for nullability and the names of list items."""
    if left.id != right.id:
        return equivalent(left, right)
    if pa.types.is_struct(left):
        return _names(left) == _names(right) and all(
            same_type(left.field(i).type, right.field(i).type, equivalent)
            for i in range(left.num_fields)
        )
    if pa.types.is_dictionary(left):
        return (
            (left.index_type == right.index_type or equivalent(left, right))
            and left.ordered == right.ordered
            and same_type(left.value_type, right.value_type, equivalent)
        )
    if pa.types.is_list(left) or pa.types.is_large_list(left):
        return same_type(left.value_type, right.value_type, equivalent)
    return identical(left, right)


def same_values(left: pa.Array, right: pa.Array) -> bool:
    """Whether two arrays of the same or equivalent types hold the same values and nulls."""
    if len(left) != len(right) or not left.is_valid().equals(right.is_valid()):
        return False
    if left.null_count:
        left, right = left.drop_null(), right.drop_null()
    kind = left.type
    if pa.types.is_struct(kind):
        return all(same_values(left.field(i), right.field(i)) for i in range(kind.num_fields))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = pc.list_value_length(left).equals(pc.list_value_length(right))
        return lengths and same_values(left.flatten(), right.flatten())
    if pa.types.is_dictionary(kind) or pa.types.is_dictionary(right.type):
        return same_values(_plain(left), _plain(right))
    if kind != right.type:
        left = left.cast(right.type)
        kind = left.type
    if pa.types.is_floating(kind):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]
        return bool(left.view(bits).equals(right.view(bits)))
    return bool(left.equals(right))


def first_difference(left: pa.Array, right: pa.Array) -> int:
    """Find the first row that differs, of arrays that do."""
    low, high = 0, len(left)
    while high - low > 1:
        middle = (low + high) // 2
        if same_values(left.slice(low, middle - low), right.slice(low, middle - low)):
            low = middle
        else:
            high = middle
    return low


def shown(scalar: pa.Scalar, width: int = 40) -> str:
    """Write a value in a few characters."""
    try:
        text = repr(scalar.as_py())
    except (ValueError, OverflowError):
        # Nanoseconds and far-off years that Python's own types cannot hold.
        text = str(scalar)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def stored_inside(found: pa.Array, source: pa.Array) -> bool:
    """Whether every buffer of `found` lies in memory that `source` owns."""
    owned = [(b.address, b.address + b.size) for b in buffers(source)]
    return all(
        any(start <= b.address and b.address + b.size <= end for start, end in owned)
        for b in buffers(found)
    )


def buffers(array: pa.Array) -> list[pa.Buffer]:
    """All buffers that hold something, the dictionary's included."""
    own = [b for b in array.buffers() if b is not None and b.size]
    if pa.types.is_dictionary(array.type):
        own += buffers(array.dictionary)
    return own


def without_reader_losses(kind: pa.DataType) -> pa.DataType:
    """Tell what cuDF's own Parquet reader makes of a column of this type.

    That reader turns categories into plain values and drops time zones; both are lost before
    the frame reaches the bridge.
    """
    if pa.types.is_dictionary(kind):
        return without_reader_losses(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit)
    if pa.types.is_list(kind):
        return pa.list_(without_reader_losses(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct(
            [kind.field(i).with_type(without_reader_losses(kind.field(i).type))
             for i in range(kind.num_fields)]
        )  # fmt: skip
    return kind


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _names(kind: pa.StructType) -> list[str]:
    return [kind.field(i).name for i in range(kind.num_fields)]
