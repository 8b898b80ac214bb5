# SPDX-License-Identifier: Apache-2.0
"""Conversion of pandas objects to pyarrow data, with metadata for a lossless round trip."""

from __future__ import annotations

import pyarrow as pa

from ..arrow.sources import SourceArray
from ..arrow.text import shortened
from ..frames import real_pandas as pd
from ..frames.dtypes import dtype_hint
from ..frames.frame_to_columns import level_labels
from ..frames.labels import RowIndex, stringify
from ..frames.layout import FrameLayout, ObjectType, single_label, table_names


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
        If the object has another type, or Arrow has no type for a column, which pyarrow names.
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
    if isinstance(obj, pd.Series):
        keep = preserve_index is None and isinstance(obj.index, pd.RangeIndex)
        return _named_array("series", obj, obj.index if keep else None)
    raise TypeError(
        f"expected a DataFrame, Series or Index, got an object of type {type(obj).__name__}"
    )


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
    if preserve_index is False and not len(frame.columns):
        # Without an index, pyarrow counts no rows.
        frame, preserve_index = frame.reset_index(drop=True), None
    labels = frame.columns if labels is None else labels
    index = frame.index
    rows, row_index = None, None
    dtypes = list(frame.dtypes)
    if isinstance(index, pd.RangeIndex) and preserve_index is None:
        rows = range(index.start, index.stop, index.step)
    elif preserve_index is not False:
        # Otherwise pyarrow would not write ranges as columns, even for levels of a MultiIndex.
        preserve_index = True
        dtypes += list(index.dtypes) if isinstance(index, pd.MultiIndex) else [index.dtype]
    index_names = [] if preserve_index is False else list(index.names)
    names, shown_names = table_names(labels, index_names, rows)
    if index_names:
        row_index = RowIndex(index_names, rows, list(range(len(labels), len(dtypes))))
        # pyarrow uses numbers as positions of levels, and writes equal names for several levels.
        level_names: list[str | None] = [*names[len(labels) :]] or [None]
        frame = frame.set_axis(index.set_names(level_names))
    # pyarrow rejects equal names, fails for invalid UTF-8, and cannot read all labels again.
    columns = names[: len(labels)]
    is_unique = len(set(columns)) == len(columns)
    frame = frame.set_axis(columns if is_unique else list(map(str, range(len(columns)))), axis=1)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=preserve_index)
    except (pa.ArrowException, UnicodeEncodeError):
        levels = frame.index.to_frame(name=range(index.nlevels))
        for label, (_, values) in zip(
            [*labels, *index_names], [*frame.items(), *levels.items()], strict=False
        ):
            _to_arrow(values, label)  # raises an error that names the column
        raise
    entries = [
        {**entry, "name": shown_name, "field_name": name}
        for entry, shown_name, name in zip(
            table.schema.pandas_metadata["columns"], shown_names, names, strict=True
        )
    ]
    hints = [dtype_hint(dtype) for dtype in dtypes]
    layout = FrameLayout(object_type, labels, hints, row_index, frame.attrs)
    metadata = layout.schema_metadata(names, entries, [])
    if names:
        return table.rename_columns(names).replace_schema_metadata(metadata)
    # pyarrow would set the number of rows of a table without columns to 0.
    batches = [batch.replace_schema_metadata(metadata) for batch in table.to_batches()]
    return pa.Table.from_batches(batches, table.schema.with_metadata(metadata))


def _to_arrow(column: pd.Series | pd.Index, label: object) -> pa.Array | pa.ChunkedArray:
    """Convert a column to Arrow, or raise an error that names it."""
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
