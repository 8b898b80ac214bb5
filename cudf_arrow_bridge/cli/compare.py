# SPDX-License-Identifier: Apache-2.0
"""Comparison of the values of a round trip with those of the file, using only pyarrow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from operator import eq

import pyarrow as pa

from cudf_arrow_bridge.arrow.schemas import empty, fields_of, with_fields
from cudf_arrow_bridge.arrow.types import support_of
from cudf_arrow_bridge.ipc.equality import same_values

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
    if pa.types.is_dictionary(left):
        return (
            (left.index_type == right.index_type or equivalent(left, right))
            and left.ordered == right.ordered
            and same_type(left.value_type, right.value_type, equivalent)
        )
    if pa.types.is_struct(left) and left.names != right.names:
        return False
    theirs = fields_of(right)
    return with_fields(left, theirs) == right and all(
        same_type(a.type, b.type, equivalent) for a, b in zip(fields_of(left), theirs, strict=True)
    )


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
