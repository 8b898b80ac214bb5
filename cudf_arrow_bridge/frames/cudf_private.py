# SPDX-License-Identifier: Apache-2.0
"""Every use this package makes of cuDF's private interface, and nothing else.

Each function has a test in ``tests/frames/test_cudf_private.py``, so that a cuDF release that moves
one of them says which.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Hashable, Sequence
from typing import Any

import cudf
import numpy as np
import pylibcudf as plc
from cudf.core._internals.timezones import get_compatible_timezone
from cudf.core.abc import Serializable
from cudf.core.buffer import Buffer, BufferOwner, SpillableBuffer, SpillLock
from cudf.core.buffer.spill_manager import get_global_manager
from cudf.core.buffer.spillable_buffer import SpillableBufferOwner
from cudf.core.column import CategoricalColumn, ColumnBase
from cudf.core.column_accessor import ColumnAccessor
from cudf.utils.dtypes import DEFAULT_STRING_DTYPE

from .._core.columns import Span, main_span, rebuild_all
from .._core.shared_columns import BufferSharer, CudfLayout
from . import real_pandas as pd

__all__ = [
    "DEFAULT_STRING_DTYPE",
    "CategoricalColumn",
    "ColumnBase",
    "ColumnMaker",
    "FrameLabels",
    "Serializable",
    "attach_to_column",
    "attach_to_memory",
    "attached",
    "attached_to_memory",
    "buffer_describer",
    "buffer_sharer",
    "category_values",
    "codes_dtype",
    "columns_of",
    "compatible_timezone",
    "make_column",
    "make_frame",
    "make_index",
    "make_series",
    "range_of",
    "wrapped_by",
]

#: The attribute of columns and of owners of memory that holds what this package attaches to them.
_ATTACHMENT = "_cudf_arrow_bridge"


class _AlwaysShared:
    """Stands for the buffers of cuDF's that refer to imported memory, and its producer.

    cuDF writes in place only while a single one refers to memory. It asks for their number, adds
    and removes; the producer may read the memory as long as it lives, so that the answer is always
    that there are others. Weak references would take longer than all the rest of a buffer.
    """

    def __len__(self) -> int:
        return 2

    def add(self, buffer: object) -> None:
        pass

    def remove(self, buffer: object) -> None:
        pass


_ALWAYS_SHARED = _AlwaysShared()


def columns_of(obj: Any) -> Sequence[ColumnBase]:
    """Return the cuDF columns of a DataFrame, Series, Index or MultiIndex."""
    columns: Sequence[ColumnBase] = obj._columns
    return columns


def range_of(index: cudf.RangeIndex) -> range:
    """Return the labels of a RangeIndex."""
    labels: range = index._range
    return labels


def wrapped_by(proxy: Any) -> Any:
    """Return what a proxy of cudf.pandas stands for at the moment: a cuDF or a pandas object.

    Its ``as_gpu_object`` and ``as_cpu_object`` would copy the object where it is not yet.
    """
    return proxy._fsproxy_wrapped


def buffer_sharer() -> BufferSharer:
    """Return a function that shares a cuDF buffer with an export, which then stays unchanged.

    cuDF writes in place only while a single ``Buffer`` refers to the memory. The span that the
    function returns is one more reference, so that cuDF copies the memory before it writes.

    Memory that cuDF may spill is locked, and brought back if it was spilled, before its address is
    read. All spans of one export hold the same lock: the memory may be spilled again when the last
    of them is gone.
    """
    return BufferSharer(_LAYOUT)


def buffer_describer() -> BufferSharer:
    """Return a function that takes the place of a sharer where only the schema is wanted.

    Its spans have no memory: what is spilled stays so, and nothing is locked or referred to.
    """
    return BufferSharer(_LAYOUT, True)


def make_column(column: plc.Column, dtype: Any) -> ColumnBase:
    """Wrap a pylibcudf column whose memory may be shared with its producer.

    Arrow's memory is immutable, and a producer may still read it. Each buffer gets one more
    reference, so that cuDF copies the memory before its first write.

    Spilling would not free a producer's memory, so that it is locked against it. What cuDF computes
    from the column, deep copies included, is cuDF's own memory and can be spilled.
    """
    if get_global_manager() is not None:
        column = rebuild_all(column, _unspillable)
    result = ColumnBase.create(column, dtype)
    _keep_from_writing(result.plc_column)
    return result


class ColumnMaker:
    """Makes columns as `make_column` does, of the type and dtype of one that cuDF has checked.

    Parameters
    ----------
    checked
        A column that `make_column` made.
    """

    __slots__ = ("_dtype",)

    def __init__(self, checked: ColumnBase) -> None:
        self._dtype = checked.dtype

    def __call__(self, column: plc.Column) -> ColumnBase:
        """Wrap a column, whose libcudf types are those of the checked one at every level."""
        if get_global_manager() is not None:
            return make_column(column, self._dtype)
        return ColumnBase.create(rebuild_all(column, _buffer_of), self._dtype, validate=False)


def _buffer_of(span: Any) -> Buffer:
    """Wrap imported memory, which no buffer of cuDF's owns: as as_buffer does, but not to write."""
    # Without its constructor, for `_slices`.
    owner = BufferOwner.__new__(BufferOwner)
    owner._ptr = span.ptr
    owner._size = span.size
    owner._owner = span
    owner._slices = _ALWAYS_SHARED
    return Buffer(owner=owner)


def _unspillable(span: Any) -> Any:
    """Wrap imported memory as a spillable buffer, which cuDF wants while it spills, but locked."""
    if not isinstance(span, Span):
        return span
    # With a size of 0 the spill manager does not register the owner; the true size is set after.
    owner = SpillableBufferOwner(ptr=span.ptr, size=0, owner=span)
    owner._finalize_init({"type": "gpu"})
    owner._size = span.size
    # Locked for good, since pickling spills a buffer too.
    owner._cudf_arrow_bridge_lock = lock = SpillLock()
    owner.spill_lock(lock)
    return SpillableBuffer(owner=owner)


def _keep_from_writing(column: plc.Column) -> None:
    for buffer in (column.data(), column.null_mask()):
        if buffer is not None:
            buffer.owner._slices = _ALWAYS_SHARED
    for child in column.children():
        _keep_from_writing(child)


class FrameLabels:
    """The labels of the columns of frames, as cuDF keeps them.

    Parameters
    ----------
    labels
        The labels.
    """

    def __init__(self, labels: pd.Index) -> None:
        self._labels = list(labels)
        self._hierarchical = labels if isinstance(labels, pd.MultiIndex) else None
        self._names = tuple(labels.names)
        self._is_range = isinstance(labels, pd.RangeIndex)
        self._dtype = None if self._hierarchical is not None else labels.dtype
        self._level_dtypes = (
            None
            if self._hierarchical is None
            else tuple(level.dtype for level in self._hierarchical.levels)
        )

    def accessor(self, columns: Sequence[ColumnBase]) -> ColumnAccessor:
        """Return the accessor of a frame with these columns.

        Raises
        ------
        ValueError
            If two labels are equal: cuDF keeps its columns in a dict.
        """
        data = dict(zip(self._labels, columns, strict=True))
        if len(data) < len(columns):
            raise ValueError("two columns have equal labels")
        return ColumnAccessor(
            data,
            multiindex=self._hierarchical is not None,
            level_names=self._names,
            rangeindex=self._is_range,
            label_dtype=self._dtype,
            level_dtypes=self._level_dtypes,
            # A view, since the names of those of a frame can be changed.
            pandas_index=None if self._hierarchical is None else self._hierarchical.view(),
            verify=False,
        )


def make_frame(
    columns: Sequence[ColumnBase], labels: FrameLabels, index: cudf.Index, attrs: dict[Any, Any]
) -> cudf.DataFrame:
    """Make a frame; unlike setting ``columns`` or the index later, this needs no GPU.

    Raises
    ------
    ValueError
        If two labels are equal.
    """
    frame = object.__new__(cudf.DataFrame)
    # The attributes that DataFrame._from_data sets. It does so by the frame's own __setattr__,
    # which takes a name for a column if there is one of that name.
    for name, value in (
        ("_data", labels.accessor(columns)),
        ("_index", index),
        ("_attrs", attrs),
        ("_flags", pd.Flags(frame, allows_duplicate_labels=True)),
    ):
        object.__setattr__(frame, name, value)
    return frame


def make_series(column: ColumnBase, name: Hashable, index: cudf.Index | None = None) -> cudf.Series:
    """Make a series; this needs no GPU."""
    return cudf.Series._from_column(column, name=name, index=index)


def make_index(columns: Sequence[ColumnBase], names: Sequence[Hashable]) -> cudf.Index:
    """Make an index of one column, or a MultiIndex of several."""
    if len(columns) == 1:
        return cudf.Index._from_column(columns[0], name=names[0])
    index = cudf.MultiIndex._from_data(dict(enumerate(columns)))
    index.names = list(names)
    return index


def codes_dtype(dtype: cudf.CategoricalDtype) -> np.dtype[Any]:
    """Return the unsigned type in which cuDF stores a category's codes."""
    codes: np.dtype[Any] = dtype._codes_dtype
    return codes


def compatible_timezone(dtype: Any) -> Any:
    """Return a ``DatetimeTZDtype`` whose zone is one that cuDF takes."""
    if dtype.tz is datetime.UTC:
        # What pandas makes of "UTC". In its mode for cudf.pandas, cuDF leaves zones as they are.
        dtype = pd.DatetimeTZDtype(dtype.unit, zoneinfo.ZoneInfo("UTC"))
    return get_compatible_timezone(dtype)


def category_values(dtype: cudf.CategoricalDtype) -> ColumnBase:
    """Return the column of a category's values."""
    return dtype.categories._column


def attach_to_column(column: ColumnBase, attachment: Any) -> None:
    """Attach an object to a column, for columns without memory that could carry it.

    It stays with this column object only; what cuDF computes from it has none.
    """
    setattr(column, _ATTACHMENT, (column.dtype, attachment))


def attach_to_memory(column: plc.Column, attachment: Any) -> None:
    """Attach an object to the memory of one level of a column, for all columns that share it."""
    buffer = main_span(column)
    if buffer is not None:
        setattr(buffer.owner, _ATTACHMENT, attachment)


def attached_to_memory(column: plc.Column, default: Any) -> Any:
    """Return what is attached to the memory of one level of a column, None if nothing is.

    Parameters
    ----------
    column
        The level.
    default
        What to return for a level without memory of its own: a struct, or one without rows.
    """
    buffer = main_span(column)
    return default if buffer is None else getattr(buffer.owner, _ATTACHMENT, None)


def attached(column: ColumnBase) -> Any:
    """Return what is attached to a column: to its memory, if it has any, else to the column.

    None if nothing is.
    """
    buffer = main_span(column.plc_column)
    if buffer is None:
        return _attached_to_column(column)
    return getattr(buffer.owner, _ATTACHMENT, None)


def _attached_to_column(column: ColumnBase) -> Any:
    dtype, attachment = getattr(column, _ATTACHMENT, (None, None))
    # A change in place gives the column object another dtype and other data.
    return attachment if dtype is column.dtype else None


_LAYOUT = CudfLayout(
    plc_column="plc_column",
    dtype="_dtype",
    buffer=Buffer,
    owner="_owner",
    offset="_offset",
    size="_size",
    buffer_owner=BufferOwner,
    ptr="_ptr",
    references="_slices",
    always_shared=_ALWAYS_SHARED,
    spillable_owner=SpillableBufferOwner,
    spill_lock=SpillLock,
    attachment=_ATTACHMENT,
    attached_to_column=_attached_to_column,
)
