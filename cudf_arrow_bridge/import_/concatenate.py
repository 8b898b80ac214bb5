# SPDX-License-Identifier: Apache-2.0
"""Many arrays of one schema as one: joined by libcudf on the GPU, by pyarrow without one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pylibcudf as plc

from .._core.schema import Schema
from ..arrow.options import ExportOptions, Kind
from ..arrow.parts import export, parts_of_column
from ..arrow.schemas import empty
from ..arrow.sources import open_source
from ..cuda.residency import Place, has_gpu
from ..frames import convert
from .importer import Brought, Importer

__all__ = ["MAX_ROWS", "concatenate"]

#: What `cudf::size_type` counts to.
MAX_ROWS = (1 << 31) - 1

_INT32 = plc.DataType(plc.TypeId.INT32)


def concatenate(
    arrays: Sequence[object], schema: Schema, kind: Kind, importer: Importer
) -> Brought:
    """Import the arrays in capsules as the columns of one table, or as one column.

    A single array is adopted as it is; no array at all makes no rows of the schema. Each column is
    joined in one pass.

    Raises
    ------
    OverflowError
        If what they hold together does not fit into one column.
    """
    bring = importer.bringer(schema, kind)
    brought = [bring(array) for array in arrays or [open_source(empty(schema)).array_capsule]]
    if len(brought) == 1:
        return brought[0]
    join = _join_on_gpu if has_gpu() else _join_on_host
    together = zip(*(columns for columns, _ in brought), strict=True)
    columns = [join(parts, importer) for parts in together]
    return columns, sum(num_rows for _, num_rows in brought)


def _join_on_gpu(parts: Sequence[plc.Column], importer: Importer) -> plc.Column:
    if parts[0].type().id() == plc.TypeId.DICTIONARY32:
        return _join_dictionaries(parts, importer.streams.use, importer.mr)
    return plc.concatenate.concatenate(list(parts), importer.streams.use, importer.mr)


def _join_on_host(parts: Sequence[plc.Column], importer: Importer) -> plc.Column:
    how = ExportOptions(importer.streams.use)
    arrays = [pa.array(export(parts_of_column(part), how)) for part in parts]
    try:
        joined = pa.concat_arrays(arrays)
    except pa.ArrowInvalid as error:
        raise OverflowError(f"{error}: import the stream with concat=False") from error
    (column,), _ = importer.bring(open_source(joined), "column")
    return column


def _join_dictionaries(parts: Sequence[plc.Column], stream: Any, mr: Any) -> plc.Column:
    """Concatenate dictionary columns in device memory, with the order of their values kept.

    libcudf's own concatenation takes 32-bit indices alone and leaves the values in the order of a
    hash table (dictionary/detail/concatenate.cu, 26.10), which ordered categories cannot have.
    Where all share one dictionary, so does the result; else its values stand in the order of their
    first occurrence, as cuDF joins categories.
    """
    place = Place(False, stream)
    codes = [plc.unary.cast(convert.codes_of(part), _INT32, stream) for part in parts]
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
