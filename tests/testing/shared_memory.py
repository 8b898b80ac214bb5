# SPDX-License-Identifier: Apache-2.0
"""Addresses of the memory of arrays, columns and exports, to check which of it is shared."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc


def memory_of_arrow(array):
    """Return the ranges of addresses that a pyarrow array owns, including its dictionary's."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return [(b.address, b.address + max(b.size, 1)) for b in buffers_of_arrow(array)]


def buffers_of_arrow(array):
    """Return all buffers that are not empty, including those of dictionaries at any depth."""
    own = [b for b in array.buffers() if b is not None and b.size]
    return own + [b for below in dictionaries_of(array) for b in buffers_of_arrow(below)]


def dictionaries_of(array):
    below = children_of(array)
    if pa.types.is_dictionary(array.type) or pa.types.is_run_end_encoded(array.type):
        return below
    return [one for child in below for one in dictionaries_of(child)]


def children_of(array):
    """Return the children of an array, its dictionary or the values of its runs."""
    if pa.types.is_dictionary(array.type):
        return [array.dictionary]
    if pa.types.is_run_end_encoded(array.type):
        return [array.values]
    if pa.types.is_struct(array.type):
        return [array.field(i) for i in range(array.type.num_fields)]
    if pa.types.is_map(array.type):
        return [array.keys, array.items]
    if hasattr(array, "values") and array.type.num_fields == 1:
        return [array.values]
    return []


def stored_inside(array, source):
    """Return whether every buffer of a pyarrow array lies in memory that another array owns."""
    owned = memory_of_arrow(source)
    return all(
        any(start <= b.address and b.address + b.size <= end for start, end in owned)
        for b in buffers_of_arrow(array)
    )


def memory_of_cudf(source):
    """Return the ranges of addresses of a pylibcudf column, or of all columns of a cuDF frame."""
    if hasattr(source, "null_mask"):
        spans = list(_spans(source))
    else:
        columns = [column for _, column in source._column_labels_and_values]
        spans = [span for column in columns for span in _spans(column.plc_column)]
        for column in columns:
            if hasattr(column.dtype, "categories"):
                spans += _spans(column.dtype.categories._column.plc_column)
    return [(span.ptr, span.ptr + span.size) for span in spans]


def _spans(column):
    for span in (column.data(), column.null_mask()):
        if span is not None and span.ptr and span.size:
            yield span
    for child in column.children():
        yield from _spans(child)


def parts_of_column(column):
    """Return the addresses of a column's buffers, except at levels without rows."""
    found = []
    if column.size():
        mask = column.null_mask() if column.null_count() else None
        found = [span.ptr for span in (column.data(), mask) if span is not None and span.size]
    elif column.type().id() == plc.TypeId.STRING:
        return []  # the one offset only gives the width of offsets
    return found + [part for child in column.children() for part in parts_of_column(child)]


def parts_of_arrow(exported):
    """Return the addresses of an export's buffers, except at levels without rows."""
    return list(_parts(exported._array))


def _parts(array):
    for _, address, size, _ in array.buffers():
        if array.length and address and size:
            yield address
    for child in array.children:
        yield from _parts(child)
    if array.dictionary is not None:
        yield from _parts(array.dictionary)
