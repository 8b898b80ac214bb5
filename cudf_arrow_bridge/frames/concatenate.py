# SPDX-License-Identifier: Apache-2.0
"""Concatenation of columns in device memory, and the distinct values of dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import pylibcudf as plc

from ..arrow import dictionaries
from ..cuda.residency import has_gpu
from . import convert

_INT32 = plc.DataType(plc.TypeId.INT32)
#: Nulls are equal to each other, and so are NaNs.
_EQUAL = (plc.types.NullEquality.EQUAL, plc.types.NanEquality.ALL_EQUAL)


def concatenate_on_gpu(
    columns: Sequence[plc.Column], path: str, stream: Any, mr: Any
) -> plc.Column:
    """Concatenate columns of the same type in device memory in one pass.

    Raises
    ------
    ValueError
        If an index is out of the bounds of its dictionary. The error names `path`.
    """
    if columns[0].type().id() == plc.TypeId.DICTIONARY32:
        return _concatenate_dictionaries(columns, path, stream, mr)
    return plc.concatenate.concatenate(list(columns), stream, mr)


def _concatenate_dictionaries(
    columns: Sequence[plc.Column], path: str, stream: Any, mr: Any
) -> plc.Column:
    """Concatenate dictionary columns in device memory and keep the order of the values.

    libcudf's concatenation supports only 32-bit indices and returns the values in hash table order
    (dictionary/detail/concatenate.cu, 26.10), which breaks ordered categories. Columns that share a
    dictionary keep it. Otherwise the values are in the order of their first occurrence, as in
    cuDF's concatenation of categories.
    """
    for column in columns:
        convert.check_codes(column, path, stream)
    codes = [plc.unary.cast(convert.codes_of(column), _INT32, stream) for column in columns]
    dictionaries = [column.children()[1] for column in columns]
    values = dictionaries[0]
    if not all(_identity(other) == _identity(values) for other in dictionaries):
        values, new_codes = _distinct_values(dictionaries, stream, mr)
        # Each old code is an index into the new codes of its dictionary.
        codes = [
            convert.decode(old, new, stream) for old, new in zip(codes, new_codes, strict=True)
        ]
    all_codes = plc.concatenate.concatenate(codes, stream, mr)
    children = [all_codes.with_mask(None, 0), values]
    return convert.with_rows_of(all_codes, convert.DICTIONARY, None, children)


def distinct_values(values: plc.Column, stream: Any) -> tuple[plc.Column, plc.Column] | None:
    """Return the distinct values of a dictionary, and the position in them of each value.

    Return None if all values are distinct. Synchronizes the stream for device memory.
    """
    if values.size() < 2:
        return None
    if not has_gpu():
        found = dictionaries.distinct_values(convert.to_arrow(values))
        return found and tuple(map(convert.from_arrow, found))
    keep = plc.stream_compaction.DuplicateKeepOption.KEEP_ANY
    indices = plc.stream_compaction.distinct_indices(plc.Table([values]), keep, *_EQUAL, stream)
    if indices.size() == values.size():
        return None
    distinct, (positions,) = _distinct_values([values], stream, None)
    return distinct, positions


def _identity(column: plc.Column) -> tuple[Any, ...]:
    """Return a key that is equal for columns of the same type, rows and memory."""
    addresses = [span and span.ptr for span in (column.data(), column.null_mask())]
    children = [_identity(child) for child in column.children()]
    return column.type().id(), column.size(), column.offset(), *addresses, *children


def _distinct_values(
    dictionaries: Sequence[plc.Column], stream: Any, mr: Any
) -> tuple[plc.Column, list[plc.Column]]:
    """Return the distinct values, and the positions in them of the values of each dictionary.

    Dictionaries (b, a) and (a, c) give values (b, a, c) and positions (0, 1) and (1, 2).
    """
    all_values = plc.Table([plc.concatenate.concatenate(list(dictionaries), stream, mr)])
    keep = plc.stream_compaction.DuplicateKeepOption.KEEP_FIRST
    values = plc.stream_compaction.stable_distinct(all_values, [0], keep, *_EQUAL, stream, mr)
    left, right = plc.join.left_join(all_values, values, plc.types.NullEquality.EQUAL, stream, mr)
    zero = plc.Scalar.from_py(0, _INT32, stream)
    zeros = plc.Column.from_scalar(zero, all_values.num_rows(), stream)
    # The join returns row pairs in any order. The scatter sorts them by the left row.
    (positions,) = plc.copying.scatter(
        plc.Table([right]), left, plc.Table([zeros]), stream, mr
    ).columns()
    ends = accumulate((dictionary.size() for dictionary in dictionaries), initial=0)
    bounds = [bound for pair in pairwise(ends) for bound in pair]
    (column,) = values.columns()
    return column, plc.copying.slice(positions, bounds, stream)
