# SPDX-License-Identifier: Apache-2.0
"""Conversion of pandas objects to pyarrow data, with metadata for a lossless round trip."""

from __future__ import annotations

import pyarrow as pa

from ..arrow.metadata import BRIDGE_KEY
from ..arrow.sources import SourceArray
from ..arrow.text import shortened
from ..frames import unproxied_pandas as pd
from ..frames.disassemble import level_labels
from ..frames.dtypes import dtype_hint
from ..frames.labels import RowIndex, stringify
from ..frames.layout import FrameLayout, ObjectType, encode_field
from ..frames.pandas_metadata import json_name


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
        labels = pd.Index([obj.name], dtype=object, tupleize_cols=False)
        frame = obj.to_frame(stringify(obj.name))
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
    index = frame.index
    row_index = None
    dtypes = list(frame.dtypes)
    if isinstance(index, pd.RangeIndex) and preserve_index is None:
        row_index = RowIndex([index.name], range(index.start, index.stop, index.step))
    elif preserve_index is not False:
        # Otherwise pyarrow would not write ranges as columns, even for levels of a MultiIndex.
        preserve_index = True
        levels = list(index.dtypes) if isinstance(index, pd.MultiIndex) else [index.dtype]
        positions = range(len(dtypes), len(dtypes) + len(levels))
        row_index = RowIndex(list(index.names), None, list(positions))
        dtypes += levels
    try:
        table = pa.Table.from_pandas(_with_plain_names(frame), preserve_index=preserve_index)
    except (pa.ArrowException, UnicodeEncodeError):
        for label, column in [*frame.items(), *frame.index.to_frame().items()]:
            _to_arrow(column, label)  # raises an error that names the column
        raise
    hints = [dtype_hint(dtype) for dtype in dtypes]
    layout = FrameLayout(object_type, frame.columns if labels is None else labels, hints, row_index)
    metadata = {**table.schema.metadata, BRIDGE_KEY: layout.encode(table.schema.names, [])}
    if table.num_columns:
        return table.replace_schema_metadata(metadata)
    # pyarrow would set the number of rows of a table without columns to 0.
    batches = [batch.replace_schema_metadata(metadata) for batch in table.to_batches()]
    return pa.Table.from_batches(batches, table.schema.with_metadata(metadata))


def _to_arrow(column: pd.Series | pd.Index, label: object) -> pa.Array | pa.ChunkedArray:
    """Convert a column to Arrow, or raise an error that names it."""
    try:
        return pa.array(column, from_pandas=True)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"column {label!r}: expected text that UTF-8 can encode, got "
            f"{shortened(repr(error.object))}"
        ) from None
    except pa.ArrowException as error:
        raise type(error)(f"column {label!r}: {error}") from None


def _with_plain_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose names are those that pyarrow writes.

    pyarrow warns about or rejects other names, uses numbers as level positions, and fails for
    invalid UTF-8. In the C data interface, NUL ends a name.
    """
    names = [None if name is None else stringify(name) for name in frame.index.names]
    frame = frame.set_axis(frame.index.set_names(names))
    labels = frame.columns.set_names([json_name(name, (bool, int)) for name in frame.columns.names])
    if isinstance(labels, pd.MultiIndex):
        levels = list(map(_plain_labels, labels.levels))
        return frame.set_axis(labels.set_levels(levels, verify_integrity=False), axis=1)
    return frame.set_axis(_plain_labels(labels), axis=1)


def _plain_labels(labels: pd.Index) -> pd.Index:
    kind = pd.infer_dtype(labels, skipna=False)
    plain = list(map(stringify, labels))
    is_plain = all(type(a) is not str or a == b for a, b in zip(labels, plain, strict=True))
    if kind == "bytes" or "mixed" in kind or not is_plain:
        return pd.Index(plain, name=labels.name)
    return labels


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
            "expected at most 2 GiB of text in a column of objects, got more: convert the "
            'column with astype("str")'
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
    hint = dtype_hint(obj.dtype)
    metadata = encode_field(object_type, name, obj.name, hint, row_index, [])
    field = pa.field(name, array.type, metadata=metadata or None)
    _, capsule = array.__arrow_c_device_array__()
    return SourceArray(field.__arrow_c_schema__(), capsule, False, (), None)
