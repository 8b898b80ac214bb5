# SPDX-License-Identifier: Apache-2.0
"""Dictionary columns on the GPU, joined with the order of their values kept.

libcudf's own concatenation takes 32-bit indices alone and leaves the values in the order of a hash
table (dictionary/detail/concatenate.cu, 26.10), which ordered categories cannot have.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pylibcudf as plc

from ..cuda.residency import Place
from ..frames import convert

__all__ = ["join_dictionaries"]

_INT32 = plc.DataType(plc.TypeId.INT32)


def join_dictionaries(parts: Sequence[plc.Column], stream: Any, mr: Any) -> plc.Column:
    """Concatenate dictionary columns in device memory.

    Parameters
    ----------
    parts
        DICTIONARY32 columns. Where they share one dictionary, so does the result; else its values
        stand in the order of their first occurrence, as cuDF joins categories.
    stream, mr
        As pylibcudf takes them.
    """
    place = Place(False, stream)
    codes = [_codes(part, stream) for part in parts]
    dictionaries = [part.children()[1] for part in parts]
    values = dictionaries[0]
    if not all(_identity(other) == _identity(values) for other in dictionaries):
        values, positions = _distinct(dictionaries, stream, mr)
        codes = [
            convert.decode(part, mapped, place)
            for part, mapped in zip(codes, positions, strict=True)
        ]
    joined = plc.concatenate.concatenate(codes, stream, mr)
    return plc.Column(
        plc.DataType(plc.TypeId.DICTIONARY32),
        joined.size(),
        None,
        joined.null_mask(),
        joined.null_count(),
        0,
        [joined.with_mask(None, 0), values],
    )


def _codes(part: plc.Column, stream: Any) -> plc.Column:
    """Return the indices with the dictionary column's own mask and rows, all of one type."""
    indices = part.children()[0]
    codes = plc.Column(
        indices.type(),
        part.size(),
        indices.data(),
        part.null_mask(),
        part.null_count(),
        part.offset(),
        [],
    )
    return plc.unary.cast(codes, _INT32, stream)


def _identity(column: plc.Column) -> tuple[Any, ...]:
    """Return what two columns over the very same memory have in common."""
    memory = [span and span.ptr for span in (column.data(), column.null_mask())]
    below = [_identity(child) for child in column.children()]
    return column.type().id(), column.size(), column.offset(), *memory, *below


def _distinct(
    dictionaries: Sequence[plc.Column], stream: Any, mr: Any
) -> tuple[plc.Column, list[plc.Column]]:
    """Return the distinct values, and for each dictionary where its values stand among them."""
    everything = plc.Table([plc.concatenate.concatenate(list(dictionaries), stream, mr)])
    values = plc.stream_compaction.stable_distinct(
        everything,
        [0],
        plc.stream_compaction.DuplicateKeepOption.KEEP_FIRST,
        plc.types.NullEquality.EQUAL,
        plc.types.NanEquality.ALL_EQUAL,
        stream,
        mr,
    )
    left, right = plc.join.left_join(everything, values, plc.types.NullEquality.EQUAL, stream, mr)
    zero = plc.Scalar.from_py(0, _INT32, stream)
    blank = plc.Column.from_scalar(zero, everything.num_rows(), stream)
    # A join tells pairs in any order.
    (positions,) = plc.copying.scatter(
        plc.Table([right]), left, plc.Table([blank]), stream, mr
    ).columns()
    ends = [0]
    for dictionary in dictionaries:
        ends.append(ends[-1] + dictionary.size())
    bounds = [bound for pair in pairwise(ends) for bound in pair]
    (column,) = values.columns()
    return column, plc.copying.slice(positions, bounds, stream)
