# SPDX-License-Identifier: Apache-2.0
"""What pandas' metadata says of dtypes, from pandas to cuDF and back."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge.frames import cudf_private as private

MASKED = (
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float32", "Float64", "boolean"),
)
ARROW = {
    "int64": ([1, None], pa.int64()),
    "bool": ([True, None], pa.bool_()),
    "double": ([1.5, None], pa.float64()),
    "timestamp": ([1, None], pa.timestamp("us")),
    "timestamp of a zone": ([1, None], pa.timestamp("us", "UTC")),
    "duration": ([1, None], pa.duration("ms")),
}


def values_of(dtype):
    return pd.array([True, None] if dtype == "boolean" else [1, None], dtype)


def batch_of(array, **options):
    return pa.RecordBatch.from_pandas(pd.DataFrame({"x": array}, **options))


def pandas_of(frame):
    """What pandas reads of a frame, through pyarrow."""
    return pa.record_batch(bridge.to_arrow_device(frame)).to_pandas()


def goes_round(array):
    """The dtype of a frame's column, and of pandas' column after it."""
    frame = bridge.from_arrow_device(batch_of(array))
    found = pandas_of(frame)["x"]
    assert found.isna().tolist() == pd.Series(array).isna().tolist()
    assert found.dropna().tolist() == pd.Series(array).dropna().tolist()
    again = bridge.from_arrow_device(bridge.to_arrow_device(frame))
    assert again["x"].dtype == frame["x"].dtype
    return frame["x"].dtype, found.dtype


@pytest.mark.parametrize("dtype", MASKED)
def test_masked_dtypes_stay(dtype):
    array = values_of(dtype)
    assert goes_round(array) == (array.dtype, array.dtype)


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
def test_strings_that_may_be_missing_stay_so(storage):
    """pyarrow does not write which storage they have."""
    array = pd.array(["a", None], pd.StringDtype(storage))
    for dtype in goes_round(array):
        assert isinstance(dtype, pd.StringDtype)
        assert dtype.na_value is pd.NA


def test_other_strings_are_cudfs_own():
    default = bridge.from_arrow_device(pa.array(["a"])).dtype
    for array in (pd.array(["a", None], "str"), pd.Series(["a", None], dtype=object)):
        frame = bridge.from_arrow_device(batch_of(array))
        assert frame["x"].dtype == default


@pytest.mark.parametrize(("values", "type_"), ARROW.values(), ids=ARROW.keys())
def test_arrow_dtypes_stay(values, type_):
    array = pd.array(values, pd.ArrowDtype(type_))
    assert goes_round(array) == (array.dtype, array.dtype)


def test_arrow_dtypes_that_pandas_cannot_name_are_of_cudf_alone():
    array = pd.array([[1], None], pd.ArrowDtype(pa.list_(pa.int8())))
    frame = bridge.from_arrow_device(batch_of(array))
    assert frame["x"].dtype == array.dtype
    assert pandas_of(frame)["x"].dtype == object


def test_arrow_dates_are_timestamps():
    """cuDF's frames have no dates."""
    array = pd.array([1, None], pd.ArrowDtype(pa.date32()))
    frame = bridge.from_arrow_device(batch_of(array))
    assert frame["x"].dtype == "datetime64[s]"
    assert pa.record_batch(bridge.to_arrow_device(frame)).schema.field("x").type == pa.date32()


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
def test_plain_dtypes_stay(dtype):
    array = pd.Series([1, 0], dtype=dtype)
    assert goes_round(array) == (array.dtype, array.dtype)


def test_labels_of_rows_keep_theirs():
    index = pd.Index(pd.array([7, 8], "Int32"), name="i")
    frame = bridge.from_arrow_device(batch_of(pd.array([1, 2], "Int64"), index=index))
    assert frame.index.dtype == index.dtype
    assert pandas_of(frame).index.tolist() == [7, 8]


def test_streams_keep_them():
    batch = batch_of(values_of("Int64"))
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])
    frame = bridge.from_arrow_device_stream(reader)
    assert str(frame["x"].dtype) == "Int64"


@pytest.mark.parametrize(
    "numpy_type",
    ["Int64", "Int32", "string", "nonsense", "[pyarrow]", "int8[pyarrow]", "category", 7, None],
)
def test_metadata_that_does_not_fit_is_ignored(numpy_type):
    batch = batch_of(pd.array([1.5, None], "Float64"))
    document = json.loads(batch.schema.metadata[b"pandas"])
    document["columns"][0]["numpy_type"] = numpy_type
    changed = batch.replace_schema_metadata({"pandas": json.dumps(document)})
    dtype = bridge.from_arrow_device(changed)["x"].dtype
    # Whatever Arrow dtype the metadata names, the column has the one of its field.
    is_arrow = str(numpy_type).endswith("[pyarrow]")
    assert dtype == (pd.ArrowDtype(pa.float64()) if is_arrow else "float64")


@pytest.mark.parametrize("document", [{}, {"columns": None}, {"columns": [{}]}, {"columns": [3]}])
def test_damaged_metadata_is_ignored(document):
    batch = batch_of(values_of("Int64")).replace_schema_metadata({"pandas": json.dumps(document)})
    assert bridge.from_arrow_device(batch)["x"].dtype == "int64"


def test_frequencies_are_not_kept():
    """Arrow has no place for them, and rows that were dropped on the way would belie them."""
    index = pd.date_range("2024-01-01", periods=3, freq="D")
    frame = bridge.from_arrow_device(batch_of([1, 2, 3], index=index))
    assert frame.index.freq is None
    assert pandas_of(frame).index.tolist() == index.tolist()
    made = private.make_index(private.columns_of(frame.index), [None])
    made._freq = pd.offsets.Day()
    assert made.freq is not None
    labels = bridge.from_arrow_device(bridge.to_arrow_device(made))
    assert getattr(labels, "freq", None) is None
