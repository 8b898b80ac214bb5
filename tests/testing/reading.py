# SPDX-License-Identifier: Apache-2.0
"""Columns in host memory, read in the same way as by libcudf's algorithms.

The functions return a column's rows if it obeys libcudf's invariants. Otherwise they return what
the algorithms would read. pyarrow converts the leaves to Python's values.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pylibcudf as plc

from testing.host import to_arrow
from testing.invariants import SIGNED, end_of, integers, nulls_of, sliced_field
from testing.samples import cut_column

T = plc.TypeId


def offsets_of(column):
    """Return the offsets of a list or string column, from the start of their buffer."""
    child = column.children()[0]
    return integers(child.data(), SIGNED[child.type().id()], child.size()).astype("int64")


def cut(column, begin, end):
    """Slice a column like `cudf::slice`, which counts nulls on a GPU."""

    def nulls_in(offset, size):
        first = column.offset() + offset
        return int(nulls_of(column, first, first + size).sum())

    return cut_column(column, [(begin, end - begin)], nulls_in)


def sliced_child(column):
    """Slice the child like `lists_column_view::get_sliced_child`."""
    offsets, child = column.children()
    if column.offset() > 0:
        ends = offsets_of(column)[[column.offset(), end_of(column)]]
        return cut(child, *map(int, ends))
    if column.size() < offsets.size() - 1:
        return cut(child, 0, int(offsets_of(column)[column.size()]))
    return child


def explode_map(column):
    """Return the row that `cudf::explode` repeats for each element of `sliced_child`."""
    if column.size() == 0:
        return np.empty(0, "int64")
    offsets = offsets_of(column)[column.offset() :]
    ends = (offsets - offsets[0])[1 : column.size() + 1] - 1
    return np.searchsorted(ends, np.arange(sliced_child(column).size()))


def characters(column):
    """Return the rows' characters, located like `strings::detail::get_first_and_last_offset`."""
    if column.size() == 0:
        return b""
    offsets = offsets_of(column)
    first = 0 if column.offset() == 0 else int(offsets[column.offset()])
    last = int(offsets[end_of(column)])
    return integers(column.data(), "uint8", last)[first:].tobytes()


def read(column, type_):
    """Return the rows of a column, assembled from the parts that libcudf's algorithms read.

    Elements and characters that belong to no row are returned as an additional row.
    """
    if pa.types.is_list(type_):
        return _read_lists(column, type_)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return _read_strings(column)
    if pa.types.is_struct(type_):
        return _read_structs(column, type_)
    return to_arrow(column, type_).to_pylist()


def _nulls(column):
    return nulls_of(column, column.offset(), end_of(column))


def _read_lists(column, type_):
    elements = read(sliced_child(column), type_.value_type)
    made = [[] for _ in range(column.size() + 1)]
    for element, row in zip(elements, explode_map(column), strict=True):
        made[row].append(element)
    *rows, left = made
    found = [
        None if null and not row else row for row, null in zip(rows, _nulls(column), strict=True)
    ]
    return [*found, left] if left else found


def _read_strings(column):
    if column.size() == 0:
        return []
    all_, offsets = characters(column), offsets_of(column)[column.offset() :]
    ends = np.cumsum(np.diff(offsets[: column.size() + 1]))
    begins = [0, *ends[:-1]]
    rows = [
        None if null else all_[a:b].decode(errors="replace")
        for a, b, null in zip(begins, ends, _nulls(column), strict=True)
    ]
    return rows if ends[-1] == len(all_) else [*rows, all_[ends[-1] :].decode(errors="replace")]


def _read_structs(column, type_):
    fields = [read(sliced_field(column, i), f.type) for i, f in enumerate(type_)]
    names = [f.name for f in type_]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]
    rows = rows or [{} for _ in range(column.size())]
    return [None if null else row for row, null in zip(rows, _nulls(column), strict=True)]
