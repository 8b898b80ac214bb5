# SPDX-License-Identifier: Apache-2.0
"""Host-resident cuDF objects for the tests, and comparisons of them without a GPU."""

from __future__ import annotations

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
from cudf.core.column import ColumnBase
from cudf.core.column_accessor import ColumnAccessor

from cudf_arrow_bridge.frames.columns_to_frame import FrameMaker
from cudf_arrow_bridge.frames.frame_to_columns import frame_to_columns
from testing.host import arrays_of, field_of, schema_of, to_plc
from testing.labels import are_same_labels


def column(array, dtype):
    return ColumnBase.create(to_plc(array), dtype)


def numbers(count=3, start=0):
    return column(pa.array(range(start, start + count), pa.int64()), np.dtype("int64"))


def frame(columns, labels=None, index=None):
    """Return a frame of cuDF columns with the labels of a pandas Index."""
    labels = pd.Index(list(columns)) if labels is None else labels
    columns = list(columns.values()) if isinstance(columns, dict) else columns
    multi = isinstance(labels, pd.MultiIndex)
    accessor = ColumnAccessor(
        dict(zip(labels, columns, strict=True)),
        multiindex=multi,
        level_names=tuple(labels.names),
        rangeindex=isinstance(labels, pd.RangeIndex),
        label_dtype=None if multi else labels.dtype,
        level_dtypes=tuple(level.dtype for level in labels.levels) if multi else None,
        pandas_index=labels,
    )
    return cudf.DataFrame._from_data(accessor, index=index)


def series(data, name=None, index=None):
    return cudf.Series._from_column(data, name=name, index=index)


def index(data, name=None):
    return cudf.Index._from_column(data, name=name)


def multi(columns, names):
    made = cudf.MultiIndex._from_data(dict(enumerate(columns)))
    made.names = names
    return made


def frame_of_columns(columns, schema, num_rows, labels=()):
    """A frame of the columns of one record batch."""
    return FrameMaker(schema, labels)(columns, num_rows, None)


def series_of_column(column, field, labels=()):
    """A series of one array."""
    return FrameMaker(field, labels)([column], column.size(), None)


def round_trip(obj, preserve_index=None, *, peer=lambda schema: schema, objects=True):
    """Return an object made from its exported columns, like an export and an import.

    ``peer`` changes the schema in between. Without ``objects``, labels are read from the metadata.
    """
    export_input = frame_to_columns(obj, preserve_index)
    labels = export_input.schema_spec.labels if objects else ()
    if export_input.kind == "table":
        return frame_of_columns(
            export_input.columns, peer(schema_of(export_input)), export_input.num_rows, labels
        )
    field = pa.ipc.read_schema(
        pa.schema(
            [field_of(export_input.columns[0], export_input.schema_spec.fields[0])]
        ).serialize()
    ).field(0)
    return series_of_column(export_input.columns[0], peer(field), labels)


def content(obj):
    """Return all values of an object's columns, which pyarrow reads from the exported memory."""
    return [array.to_pylist() for array in arrays_of(frame_to_columns(obj))]


def shape_of_dtype(dtype):
    """Return a value that compares like a dtype. cuDF needs a GPU to compare categories."""
    if isinstance(dtype, cudf.CategoricalDtype):
        inner = shape_of_dtype(dtype.categories.dtype)
        return ("category", dtype.ordered, inner, content(dtype.categories))
    if isinstance(dtype, cudf.ListDtype):
        return ("list", shape_of_dtype(dtype.element_type))
    if isinstance(dtype, cudf.StructDtype):
        return ("struct", [(name, shape_of_dtype(part)) for name, part in dtype.fields.items()])
    if isinstance(dtype, cudf.IntervalDtype):
        return ("interval", dtype.closed, shape_of_dtype(dtype.subtype))
    if isinstance(dtype, pd.StringDtype):
        return ("string", dtype.storage, repr(dtype.na_value))
    if isinstance(dtype, pd.ArrowDtype):
        return ("arrow", dtype.pyarrow_dtype)
    if hasattr(dtype, "precision"):
        return (type(dtype), int(dtype.precision), int(dtype.scale))
    return (type(dtype), str(dtype))


def dtypes(obj):
    return [shape_of_dtype(col.dtype) for col in obj._columns]


def assert_same_index(found, expected):
    assert type(found) is type(expected)
    assert all(are_same_labels(*pair) for pair in zip(found.names, expected.names, strict=True))
    assert len(found) == len(expected)
    if isinstance(expected, cudf.RangeIndex):
        assert (found.start, found.stop, found.step) == (
            expected.start,
            expected.stop,
            expected.step,
        )
    else:
        assert dtypes(found) == dtypes(expected)
        assert content(found) == content(expected)


def assert_same_object(found, expected):
    assert type(found) is type(expected)
    assert len(found) == len(expected)
    assert_same_index(found.index, expected.index)
    assert dtypes(found) == dtypes(expected)
    assert content(found) == content(expected)
    if isinstance(expected, cudf.DataFrame):
        pd.testing.assert_index_equal(found.columns, expected.columns, exact=True)
        assert found.columns.dtype == expected.columns.dtype
        assert [type(x) for x in found.columns] == [type(x) for x in expected.columns]
    else:
        assert are_same_labels(found.name, expected.name)
