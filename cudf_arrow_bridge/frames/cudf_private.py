# SPDX-License-Identifier: Apache-2.0
"""Every use this package makes of cuDF's private interface, and nothing else.

Each function has a test in ``tests/frames/test_cudf_private.py``, so that a cuDF release that moves
one of them says which.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import cudf
import numpy as np
import pandas as pd
import pylibcudf as plc
from cudf.core._internals.timezones import get_compatible_timezone
from cudf.core.buffer import Buffer, SpillableBuffer, SpillLock
from cudf.core.buffer.spill_manager import get_global_manager
from cudf.core.buffer.spillable_buffer import SpillableBufferOwner
from cudf.core.column import ColumnBase
from cudf.core.column_accessor import ColumnAccessor
from cudf.utils.dtypes import DEFAULT_STRING_DTYPE

from .._core.columns import HeldSpan, Span, main_span, rebuild_all

__all__ = [
    "DEFAULT_STRING_DTYPE",
    "ColumnBase",
    "category_values",
    "codes_dtype",
    "columns_of",
    "compatible_timezone",
    "make_column",
    "make_frame",
    "make_index",
    "make_series",
    "note_on_column",
    "note_on_memory",
    "noted_on_memory",
    "notes_of",
    "sharer",
]


class _Producer:
    """Stands for the side that handed memory over and may still read it."""


_PRODUCER = _Producer()


def columns_of(obj: Any) -> Sequence[ColumnBase]:
    """Return the cuDF columns of a DataFrame, Series, Index or MultiIndex."""
    columns: Sequence[ColumnBase] = obj._columns
    return columns


def sharer() -> Callable[[Any], Any]:
    """Return a function that takes hold of memory for one export, such that it stays as it is.

    cuDF writes in place while only one ``Buffer`` refers to the memory. One more reference makes
    the writer move away, and the memory an export hands out stays as it was.

    Memory that cuDF may spill is locked, and brought back if it has been spilled, before its
    address is read. What the function returns holds the lock, one for all that it takes hold of:
    the memory may be spilled again when the last of the export is gone.
    """
    lock = SpillLock()

    def share(span: Any) -> Any:
        if not isinstance(span, Buffer):
            return span
        owner = span.owner
        if isinstance(owner, SpillableBufferOwner):
            owner.spill_lock(lock)
        held = HeldSpan(span.ptr, span.size, owner, lock)
        owner._slices.add(held)
        return held

    return share


def make_column(column: plc.Column, dtype: Any) -> ColumnBase:
    """Wrap a pylibcudf column whose memory may be shared with whoever produced it.

    Arrow's memory is immutable, and a producer may still read it: cuDF sees one more reference to
    each buffer and therefore copies before its first write.

    Spilling would free no memory of a producer's, so none is offered for it. What cuDF makes of the
    column is cuDF's own again, deep copies included.
    """
    if get_global_manager() is not None:
        column = rebuild_all(column, _never_spilled)
    made = ColumnBase.create(column, dtype)
    _add_producer(made.plc_column)
    return made


def _never_spilled(span: Any) -> Any:
    """Wrap memory that is not cuDF's own as cuDF wants it while it spills."""
    if not isinstance(span, Span):
        return span
    # The spill manager takes no notice of an owner of nothing.
    owner = SpillableBufferOwner(ptr=span.ptr, size=0, owner=span)
    owner._finalize_init({"type": "gpu"})
    owner._size = span.size
    # Pickling would spill it as well.
    owner._cudf_arrow_bridge_lock = lock = SpillLock()
    owner.spill_lock(lock)
    return SpillableBuffer(owner=owner)


def _add_producer(column: plc.Column) -> None:
    for buffer in (column.data(), column.null_mask()):
        if buffer is not None:
            buffer.owner._slices.add(_PRODUCER)
    for child in column.children():
        _add_producer(child)


def make_frame(
    columns: Sequence[ColumnBase],
    labels: pd.Index,
    index: cudf.Index,
    attrs: dict[Any, Any] | None = None,
) -> cudf.DataFrame:
    """Make a frame, on any machine; setting ``columns`` or the index later may need a GPU.

    Raises
    ------
    ValueError
        If two labels are equal: cuDF keeps its columns in a dict.
    """
    data = dict(zip(labels, columns, strict=True))
    if len(data) < len(columns):
        raise ValueError("two columns have equal labels")
    hierarchical = isinstance(labels, pd.MultiIndex)
    accessor = ColumnAccessor(
        data,
        multiindex=hierarchical,
        level_names=tuple(labels.names),
        rangeindex=isinstance(labels, pd.RangeIndex),
        label_dtype=None if hierarchical else labels.dtype,
        level_dtypes=tuple(level.dtype for level in labels.levels) if hierarchical else None,
        pandas_index=labels,
        verify=False,
    )
    return cudf.DataFrame._from_data(accessor, index=index, attrs=attrs)


def make_series(column: ColumnBase, name: Hashable, index: cudf.Index | None = None) -> cudf.Series:
    """Make a series, on any machine."""
    return cudf.Series._from_column(column, name=name, index=index)


def make_index(columns: Sequence[ColumnBase], names: Sequence[Hashable]) -> cudf.Index:
    """Make an index of one column, or a MultiIndex of several."""
    if len(columns) == 1:
        return cudf.Index._from_column(columns[0], name=names[0])
    index = cudf.MultiIndex._from_data(dict(enumerate(columns)))
    index.names = list(names)
    return index


def codes_dtype(dtype: cudf.CategoricalDtype) -> np.dtype[Any]:
    """Return the unsigned type that cuDF wants a category's codes in."""
    wanted: np.dtype[Any] = dtype._codes_dtype
    return wanted


def compatible_timezone(dtype: Any) -> Any:
    """Return a ``DatetimeTZDtype`` whose zone is one that cuDF takes."""
    return get_compatible_timezone(dtype)


def category_values(dtype: cudf.CategoricalDtype) -> ColumnBase:
    """Return the column of a category's values."""
    return dtype.categories._column


def note_on_column(column: ColumnBase, note: Any) -> None:
    """Attach something to a column, for where it has no memory to carry it.

    It stays with this very column: whatever cuDF computes from it is another one, without.
    """
    column._cudf_arrow_bridge = (column.dtype, note)


def note_on_memory(column: plc.Column, note: Any) -> None:
    """Attach something to the memory of one level of a column, for all columns that share it."""
    buffer = main_span(column)
    if buffer is not None:
        buffer.owner._cudf_arrow_bridge = note


def noted_on_memory(column: plc.Column, otherwise: Any) -> Any:
    """Return what was attached to the memory of one level of a column, if anything.

    Parameters
    ----------
    column
        The level.
    otherwise
        What to return of a level without memory of its own: of a struct, or where there are no
        rows.
    """
    buffer = main_span(column)
    return otherwise if buffer is None else getattr(buffer.owner, "_cudf_arrow_bridge", None)


def notes_of(columns: Sequence[ColumnBase]) -> dict[int, Any]:
    """Return, by position, what was attached to columns: to their memory, else to themselves."""
    found = {}
    for position, column in enumerate(columns):
        buffer = main_span(column.plc_column)
        if buffer is not None:
            note = getattr(buffer.owner, "_cudf_arrow_bridge", None)
        else:
            dtype, note = getattr(column, "_cudf_arrow_bridge", (None, None))
            # cuDF changes a column in place by giving it another's dtype and data.
            note = note if dtype is column.dtype else None
        if note is not None:
            found[position] = note
    return found
