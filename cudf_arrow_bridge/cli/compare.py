# SPDX-License-Identifier: Apache-2.0
"""Compare what came back with what the file holds, using pyarrow alone."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

Equivalent = Callable[[pa.DataType, pa.DataType], bool]


def identical(left: pa.DataType, right: pa.DataType) -> bool:
    """Say whether two types are equal."""
    return bool(left == right)


def difference(expected: pa.Array, actual: pa.Array, equivalent: Equivalent = identical) -> str:
    """Say how two columns differ, or nothing.

    Floats are compared bit by bit: NaN equals itself, and 0.0 differs from -0.0.

    Parameters
    ----------
    expected : pyarrow.Array
        The column as pyarrow reads it from the file.
    actual : pyarrow.Array
        The column as it was imported.
    equivalent : callable, optional
        Whether a type that is not nested may have become another one. The values have to match
        after a safe cast. Called for dictionaries whose index types differ, too.

    Returns
    -------
    str
        One line, empty if nothing differs.
    """
    if len(expected) != len(actual):
        return f"{len(expected)} rows became {len(actual)}"
    if not same_type(expected.type, actual.type, equivalent):
        return f"{expected.type} became {actual.type}"
    try:
        if same_values(expected, actual):
            return ""
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        return f"{expected.type} became {actual.type}: {error}"
    row = first_difference(expected, actual)
    return f"row {row}: {format_scalar(expected[row])} became {format_scalar(actual[row])}"


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
    left, right = computable(left), computable(right)
    if len(left) != len(right) or not left.is_valid().equals(right.is_valid()):
        return False
    if left.null_count:
        left, right = left.drop_null(), right.drop_null()
    arrow_type = left.type
    if pa.types.is_struct(arrow_type):
        return all(same_values(left.field(i), right.field(i)) for i in range(arrow_type.num_fields))
    if pa.types.is_binary(arrow_type) and pa.types.is_list(right.type):
        # cuDF's lists of bytes.
        return bool(left.to_pylist() == [bytes(row) for row in right.to_pylist()])
    if all(map(has_lists, (arrow_type, right.type))):
        lengths = [pc.list_value_length(side).cast(pa.int64()) for side in (left, right)]
        return lengths[0].equals(lengths[1]) and same_values(left.flatten(), right.flatten())
    if pa.types.is_dictionary(arrow_type) or pa.types.is_dictionary(right.type):
        return same_values(_plain(left), _plain(right))
    if arrow_type != right.type:
        left = left.cast(right.type)
        arrow_type = left.type
    if pa.types.is_floating(arrow_type):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[arrow_type.bit_width]
        return bool(left.view(bits).equals(right.view(bits)))
    return bool(left.equals(right))


def has_lists(arrow_type: pa.DataType) -> bool:
    """Whether rows are lists of any length, wherever these stand."""
    return bool(
        pa.types.is_list(arrow_type)
        or pa.types.is_large_list(arrow_type)
        or pa.types.is_list_view(arrow_type)
        or pa.types.is_large_list_view(arrow_type)
    )


def computable(array: pa.Array) -> pa.Array:
    """Return an array of a type that pyarrow can filter and compare, with the same values."""
    if pa.types.is_run_end_encoded(array.type):
        return computable(pc.run_end_decode(array))
    if pa.types.is_string_view(array.type):
        return array.cast(pa.string())
    return array.cast(pa.binary()) if pa.types.is_binary_view(array.type) else array


def first_difference(left: pa.Array, right: pa.Array) -> int:
    """Find the first row in which two different arrays differ."""
    low, high = 0, len(left)
    while high - low > 1:
        middle = (low + high) // 2
        if same_values(left.slice(low, middle - low), right.slice(low, middle - low)):
            low = middle
        else:
            high = middle
    return low


def format_scalar(scalar: pa.Scalar, width: int = 40) -> str:
    """Write a value in a few characters."""
    try:
        text = repr(scalar.as_py())
    except (ValueError, OverflowError):
        # Nanoseconds and far-off years that Python's own types cannot hold.
        text = str(scalar)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def without_reader_losses(arrow_type: pa.DataType) -> pa.DataType:
    """Return the type that cuDF's Parquet reader makes of a column of this type.

    The reader decodes categories and drops time zones, before the frame reaches the bridge.
    """
    if pa.types.is_dictionary(arrow_type):
        return without_reader_losses(arrow_type.value_type)
    if pa.types.is_timestamp(arrow_type):
        return pa.timestamp(arrow_type.unit)
    if pa.types.is_list(arrow_type):
        return pa.list_(without_reader_losses(arrow_type.value_type))
    if pa.types.is_struct(arrow_type):
        return pa.struct(
            [arrow_type.field(i).with_type(without_reader_losses(arrow_type.field(i).type))
             for i in range(arrow_type.num_fields)]
        )  # fmt: skip
    return arrow_type


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _names(arrow_type: pa.StructType) -> list[str]:
    return [arrow_type.field(i).name for i in range(arrow_type.num_fields)]
