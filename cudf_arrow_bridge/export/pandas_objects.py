# SPDX-License-Identifier: Apache-2.0
"""Conversion of pandas objects to pyarrow data, with metadata for a lossless round trip."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pyarrow as pa
from pyarrow.pandas_compat import get_column_metadata

from ..arrow.sources import SourceArray
from ..arrow.text import shortened
from ..frames import real_pandas as pd
from ..frames.dtypes import dtype_hint
from ..frames.frame_to_columns import level_labels
from ..frames.labels import RowIndex, stringify
from ..frames.layout import FrameLayout, ObjectType, single_label


def arrow_of_pandas(
    obj: pd.DataFrame | pd.Series | pd.Index, preserve_index: bool | None = None
) -> pa.RecordBatch | SourceArray:
    """Return a pandas object as Arrow data, with the layout of the corresponding cuDF object.

    A frame becomes a record batch: its columns, then the levels of its index. A series or an index
    becomes an array, a MultiIndex a record batch of its levels. For `preserve_index` see
    `to_arrow_device`.

    Raises
    ------
    TypeError, ValueError
        If Arrow has no type for a column, which pyarrow names.
    """
    if isinstance(obj, pd.DataFrame):
        return _one_batch(table_of_pandas(obj, preserve_index=preserve_index))
    if isinstance(obj, pd.MultiIndex):
        labels = level_labels(obj.names)
        levels = obj.to_frame(index=False, name=list(labels))
        return _one_batch(table_of_pandas(levels, labels, "index"))
    if isinstance(obj, pd.Index):
        return _named_array("index", obj, None)
    if isinstance(obj, pd.Series) and preserve_index:
        labels = single_label(obj.name)
        frame = obj.to_frame("")
        return _one_batch(table_of_pandas(frame, labels, "series", preserve_index=True))
    keep = preserve_index is None and isinstance(obj.index, pd.RangeIndex)
    return _named_array("series", obj, obj.index if keep else None)


def table_of_pandas(
    frame: pd.DataFrame,
    labels: pd.Index | None = None,
    object_type: ObjectType = "frame",
    *,
    preserve_index: bool | None = None,
) -> pa.Table:
    """Return a frame as a table; see `arrow_of_pandas`.

    `labels` are the column labels of the object that the frame represents, by default its own.
    """
    labels = frame.columns if labels is None else labels
    columns = [column for _, column in frame.items()]
    index, index_names = frame.index, []
    rows, row_index = None, None
    if preserve_index is not False:
        index_names = list(index.names)
        if isinstance(index, pd.RangeIndex) and preserve_index is None:
            rows = range(index.start, index.stop, index.step)
        else:
            # pandas takes names that are numbers for positions of levels.
            unnamed = index.set_names([None] * index.nlevels)
            columns += map(unnamed.get_level_values, range(index.nlevels))
        row_index = RowIndex(index_names, rows, list(range(len(labels), len(columns))))
    hints = [dtype_hint(column.dtype) for column in columns]
    layout = FrameLayout(object_type, labels, hints, row_index, frame.attrs)
    names = layout.table_names()
    # Conversions of objects are slow. pyarrow uses threads for such frames too.
    num_slow = sum(column.dtype == object for column in columns)
    is_slow = num_slow > 1 and len(frame) > 100 * len(columns)
    with ThreadPoolExecutor(pa.cpu_count()) if is_slow else nullcontext() as pool:
        convert = map if pool is None else pool.map
        arrays = list(convert(_to_arrow, columns, [*labels, *index_names]))
    entries = [
        get_column_metadata(column, "", array.type, name)
        for column, array, name in zip(columns, arrays, names, strict=True)
    ]
    metadata = layout.schema_metadata(names, entries, [])
    if not names:
        # A table of no columns would have no rows.
        return pa.table([pa.nulls(len(frame))], [""], metadata=metadata).select([])
    return pa.table(arrays, names, metadata=metadata)


def _to_arrow(column: pd.Series | pd.Index, label: object) -> pa.Array | pa.ChunkedArray:
    """Convert a column to Arrow, or raise an error that names it."""
    if isinstance(column.dtype, pd.SparseDtype):
        raise TypeError(f"column {label!r}: sparse data is not supported: make it dense first")
    try:
        return pa.array(column, from_pandas=True)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"column {label!r}: UTF-8 cannot encode the text {shortened(repr(error.object))}"
        ) from None
    except pa.ArrowException as error:
        raise type(error)(f"column {label!r}: {error}") from None


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    # RecordBatch.from_pandas rejects chunked strings, which are the result of pandas.concat.
    table = table.combine_chunks()
    batches = table.to_batches()
    if not batches:
        # There are no rows, but the columns can have categories, or no chunk.
        columns = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(columns, schema=table.schema)
    if len(batches) > 1:
        raise OverflowError(
            'a column of objects has more than 2 GiB of text: convert it with astype("str")'
        )
    return batches[0]


def _named_array(
    object_type: ObjectType, obj: pd.Series | pd.Index, rows: pd.RangeIndex | None
) -> SourceArray:
    """Return a series or index as an array; `rows` is its index if it is kept as a range."""
    array = _to_arrow(obj, obj.name)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    row_index = None
    if rows is not None and not (rows.name is None and rows.equals(pd.RangeIndex(len(obj)))):
        row_index = RowIndex([rows.name], range(rows.start, rows.stop, rows.step))
    name = "" if obj.name is None else stringify(obj.name)
    layout = FrameLayout(object_type, single_label(obj.name), [dtype_hint(obj.dtype)], row_index)
    field = pa.field(name, array.type, metadata=layout.field_metadata(name, []) or None)
    _, capsule = array.__arrow_c_device_array__()
    return SourceArray(field.__arrow_c_schema__(), capsule, "column", (), None)
