# SPDX-License-Identifier: Apache-2.0
"""All uses of cuDF's private API in this package, except for proxies of cudf.pandas.

Each function has a test in ``tests/frames/test_cudf_private.py`` or ``test_dtypes.py`` beside it,
which shows what a new cuDF release breaks.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections import Counter
from collections.abc import Hashable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import cudf
import numpy as np
import pylibcudf as plc
from cudf.core._internals.timezones import get_compatible_timezone
from cudf.core.abc import Serializable as Serializable
from cudf.core.buffer import Buffer, BufferOwner, SpillableBuffer, SpillLock, as_buffer
from cudf.core.buffer.buffer import _BufferAccessContext
from cudf.core.buffer.spill_manager import get_global_manager
from cudf.core.buffer.spillable_buffer import SpillableBufferOwner
from cudf.core.column import CategoricalColumn as CategoricalColumn
from cudf.core.column import ColumnBase as ColumnBase
from cudf.core.column_accessor import ColumnAccessor
from cudf.core.frame import Frame as Frame
from cudf.core.single_column_frame import SingleColumnFrame as SingleColumnFrame
from cudf.utils.dtypes import DEFAULT_STRING_DTYPE as DEFAULT_STRING_DTYPE
from cudf.utils.dtypes import cudf_dtype_from_pa_type as cudf_dtype_from_pa_type
from cudf.utils.dtypes import cudf_dtype_to_pa_type as cudf_dtype_to_pa_type
from cudf.utils.dtypes import dtype_from_pylibcudf_column as dtype_from_pylibcudf_column

from .._core.export.shared_columns import BufferSharer
from .._core.import_.columns import Span, main_span, rebuild_all
from ..arrow.schemas import listed
from . import real_pandas as pd

#: The attribute in which this package attaches objects to columns and buffer owners.
_ATTACHMENT = "_cudf_arrow_bridge"


class _AlwaysShared:
    """Replaces the WeakSet of the buffers that refer to an owner of imported memory.

    cuDF writes in place only if the set has a single buffer. The producer may read the memory
    during its whole lifetime, so this set always has length 2. A real WeakSet would take longer
    than the rest of the construction of a buffer.
    """

    def __len__(self) -> int:
        return 2

    def add(self, buffer: object) -> None:
        pass

    def remove(self, buffer: object) -> None:
        pass


_ALWAYS_SHARED = _AlwaysShared()
#: The arguments of `BufferSharer`.
_SHARED = (
    Buffer,
    BufferOwner,
    SpillableBufferOwner,
    SpillLock,
    ("_owner", "_offset", "_size", "_ptr", "_slices", "plc_column", "_dtype"),
    _ALWAYS_SHARED,
    _ATTACHMENT,
)


def columns_of(obj: Any) -> Sequence[ColumnBase]:
    """Return the cuDF columns of a DataFrame, Series, Index or MultiIndex."""
    columns: Sequence[ColumnBase] = obj._columns
    return columns


def range_of(index: cudf.RangeIndex) -> range:
    """Return the labels of a RangeIndex."""
    labels: range = index._range
    return labels


#: Makes a function that shares a cuDF buffer with an export and protects it from writes.
#:
#: cuDF writes in place only if a single ``Buffer`` refers to the memory. The returned span is
#: another reference, so cuDF copies the memory before it writes.
#:
#: Spillable memory is unspilled and locked before its address is read. All spans of one export hold
#: the same lock. The memory can be spilled again when the last span is deleted.
buffer_sharer = partial(BufferSharer, *_SHARED, False)

#: Makes a function that replaces a sharer if only the schema is needed. Its spans have no memory.
#: It does not unspill, lock or reference buffers.
buffer_describer = partial(BufferSharer, *_SHARED, True)


def make_column(column: plc.Column, dtype: Any) -> ColumnBase:
    """Wrap a pylibcudf column whose memory may be shared with its producer.

    Arrow memory is immutable, and the producer may still read it. Each buffer counts as shared, so
    that cuDF copies the memory before its first write.

    Memory of the producer is locked against spilling, which would not free it. Memory that the
    import allocated can be spilled, and so can results that cuDF computes from the column. cuDF
    checks that the column has the types of the dtype at every level.
    """
    return ColumnBase.create(rebuild_all(column, _buffer_of), dtype)


def make_known_column(column: plc.Column, column_class: Any, dtype: Any) -> ColumnBase:
    """Wrap a column as `make_column` does, without checks of its types.

    `column_class` is the class of the column that `make_column` returned for a column of the same
    types and this dtype.
    """
    made: ColumnBase = column_class.__new__(column_class)
    made.plc_column = rebuild_all(column, _buffer_of)
    made._dtype = dtype
    made._distinct_count = {}
    made._has_nulls = {}
    made._exposed_buffers = set()
    return made


def _buffer_of(span: Any) -> Buffer:
    """Wrap imported memory as cuDF's as_buffer does, but protected from writes."""
    if get_global_manager() is not None:
        return _spillable_buffer_of(span)
    if isinstance(span, Buffer):
        return span
    # The constructors are not called, because they would create a WeakSet for `_slices`, and check
    # sizes that are known.
    owner = BufferOwner.__new__(BufferOwner)
    owner._ptr = span.ptr
    owner._owner = span
    owner._slices = _ALWAYS_SHARED
    buffer = Buffer.__new__(Buffer)
    buffer._owner = owner
    buffer._offset = 0
    owner._size = buffer._size = span.size
    buffer._access_mode_stack = []
    buffer._access_context = _BufferAccessContext(buffer)
    return buffer


def _spillable_buffer_of(span: Any) -> Buffer:
    """Wrap memory as cuDF requires if spilling is on. Memory of a producer is locked against it."""
    if isinstance(span, Span) and not span.is_allocated:
        # The spill manager does not register an owner of size 0. The actual size is set afterwards.
        owner = SpillableBufferOwner(ptr=span.ptr, size=0, owner=span)
        owner._finalize_init({"type": "gpu"})
        owner._size = span.size
        # Locked for the lifetime of the owner, because pickling also spills a buffer.
        owner._cudf_arrow_bridge_lock = lock = SpillLock()
        owner.spill_lock(lock)
        buffer = SpillableBuffer(owner=owner)
    else:
        buffer = as_buffer(span)
    buffer.owner._slices = _ALWAYS_SHARED
    return buffer


class FrameLabels:
    """The column labels of frames, as cuDF stores them."""

    def __init__(self, labels: pd.Index) -> None:
        self._labels = list(labels)
        levels = getattr(labels, "levels", None)
        self._hierarchical = None if levels is None else labels
        self._options: dict[str, Any] = {
            "multiindex": levels is not None,
            "level_names": tuple(labels.names),
            "rangeindex": isinstance(labels, pd.RangeIndex),
            "label_dtype": labels.dtype if levels is None else None,
            "level_dtypes": levels and tuple(level.dtype for level in levels),
            "verify": False,
        }

    def make_frame(
        self, columns: Sequence[ColumnBase], index: cudf.Index, attrs: dict[Any, Any]
    ) -> cudf.DataFrame:
        """Make a frame, or raise TypeError if two labels are equal.

        cuDF stores columns in a dict. This needs no GPU, unlike setting ``columns`` or the index of
        a frame.
        """
        data = dict(zip(self._labels, columns, strict=True))
        if len(data) < len(columns):
            duplicates = [label for label, count in Counter(self._labels).items() if count > 1]
            raise TypeError(
                f"several columns are named {listed(duplicates)}, and the names in a cuDF frame "
                'must be unique: import with to="pylibcudf" instead'
            )
        # A view, because users can change the names of the labels of a frame.
        labels = None if self._hierarchical is None else self._hierarchical.view()
        frame = object.__new__(cudf.DataFrame)
        # DataFrame._from_data sets these attributes with the frame's own __setattr__, which would
        # set a column if one has that name.
        for name, value in (
            ("_data", ColumnAccessor(data, pandas_index=labels, **self._options)),
            ("_index", index),
            ("_attrs", attrs),
            ("_flags", pd.Flags(frame, allows_duplicate_labels=True)),
        ):
            object.__setattr__(frame, name, value)
        return frame


def share_frame(obj: Any) -> Any:
    """Return a frame or series with the same columns and index, and a copy of the ``attrs``."""
    shared = obj.copy(deep=False)
    # cuDF's copies share the dictionary. The frame's own __setattr__ could set a column.
    object.__setattr__(shared, "_attrs", deepcopy(obj._attrs))
    return shared


def make_series(column: ColumnBase, name: Hashable, index: cudf.Index | None = None) -> cudf.Series:
    """Make a series. This needs no GPU."""
    return cudf.Series._from_column(column, name=name, index=index)


def make_index(columns: Sequence[ColumnBase], names: Sequence[Hashable]) -> cudf.Index:
    """Make an index from one column, or a MultiIndex from several."""
    if len(columns) == 1:
        return cudf.Index._from_column(columns[0], name=names[0])
    index = cudf.MultiIndex._from_data(dict(enumerate(columns)))
    index.names = list(names)
    return index


def codes_dtype(dtype: cudf.CategoricalDtype) -> np.dtype[Any]:
    """Return the unsigned dtype in which cuDF stores the codes of a categorical."""
    codes: np.dtype[Any] = dtype._codes_dtype
    return codes


def compatible_timezone(dtype: Any) -> Any:
    """Return a ``DatetimeTZDtype`` with a time zone that cuDF supports."""
    if dtype.tz is datetime.UTC:
        # pandas parses "UTC" to this. cuDF rejects it in pandas-compatible mode.
        dtype = pd.DatetimeTZDtype(dtype.unit, zoneinfo.ZoneInfo("UTC"))
    return get_compatible_timezone(dtype)


def categorical_dtype(categories: ColumnBase, ordered: bool | None) -> cudf.CategoricalDtype:
    """Return the dtype of categories. The constructor rejects empty ones with a time zone."""
    dtype = cudf.CategoricalDtype(ordered=ordered)
    dtype._categories = categories
    return dtype


def category_values(dtype: cudf.CategoricalDtype) -> ColumnBase:
    """Return the column of the categories."""
    return dtype.categories._column


def attach_to_column(column: ColumnBase, attachment: Any) -> None:
    """Attach an object to a column object, for columns without memory.

    Columns that cuDF computes from it do not get the attachment.
    """
    setattr(column, _ATTACHMENT, (column.dtype, attachment))


def attach_to_memory(column: plc.Column, attachment: Any) -> None:
    """Attach an object to the memory of one level of a column, for all columns that share it."""
    buffer = main_span(column)
    if buffer is not None:
        setattr(buffer.owner, _ATTACHMENT, attachment)


def attached_to_memory(column: plc.Column, default: Any) -> Any:
    """Return the object attached to the memory of one level of a column, or None.

    Return `default` for a level that has no memory: a struct, or a level without rows.
    """
    buffer = main_span(column)
    return default if buffer is None else getattr(buffer.owner, _ATTACHMENT, None)
