# SPDX-License-Identifier: Apache-2.0
"""The data of the cases: record batches with any number of columns and rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa


def ints(num_rows: int) -> pa.Array:
    # Pages that are not accessed use no memory, so 1e8 rows are possible.
    return pa.array(np.zeros(num_rows, "int64"))


def _nullable_ints(num_rows: int) -> pa.Array:
    values = np.arange(num_rows)
    return pa.array(values, mask=values % 7 == 0)


def _strings(num_rows: int) -> pa.Array:
    return pa.array([f"string {i}" for i in range(num_rows)])


def _lists(num_rows: int) -> pa.Array:
    offsets = pa.array(np.arange(num_rows + 1, dtype="int32") * 2)
    return pa.ListArray.from_arrays(offsets, ints(2 * num_rows))


def _structs(num_rows: int) -> pa.Array:
    return pa.StructArray.from_arrays([ints(num_rows), _strings(num_rows)], ["number", "text"])


def _structs_of_lists(num_rows: int) -> pa.Array:
    offsets = pa.array(np.arange(num_rows + 1, dtype="int32"))
    lists = pa.ListArray.from_arrays(offsets, _structs(num_rows))
    return pa.StructArray.from_arrays([ints(num_rows), lists], ["number", "lists"])


def _dictionaries(num_rows: int) -> pa.Array:
    return _strings(num_rows).dictionary_encode()


#: The kinds of columns that need no conversion, each with a function that creates one.
COLUMN_TYPES: dict[str, Callable[[int], pa.Array]] = {
    "int64": ints,
    "int64 with nulls": _nullable_ints,
    "string": _strings,
    "list<int64>": _lists,
    "struct<int64, string>": _structs,
    "struct<int64, list<struct>>": _structs_of_lists,
    "dictionary<string>": _dictionaries,
}


def batch_of(make: Callable[[int], pa.Array], num_columns: int, num_rows: int) -> pa.RecordBatch:
    return pa.record_batch({f"column {i}": make(num_rows) for i in range(num_columns)})
