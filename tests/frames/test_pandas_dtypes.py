# SPDX-License-Identifier: Apache-2.0
"""The dtypes that pandas' metadata records, from pandas to cuDF and back."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.frames import cudf_private as private

MASKED = (
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float32", "Float64", "boolean"),
)
ARROW = [
    pd.array([value, None], pd.ArrowDtype(type_))
    for value, type_ in (
        *((True, pa.bool_()), (1.5, pa.float64()), (1, pa.int64())),
        *((1, pa.timestamp("us")), (1, pa.timestamp("us", "UTC")), (1, pa.duration("ms"))),
    )
]


def values_of(dtype):
    return pd.array([True, None] if dtype == "boolean" else [1, None], dtype)


def batch_of(array, **options):
    return pa.RecordBatch.from_pandas(pd.DataFrame({"x": array}, **options))


def pandas_of(frame):
    """Export a frame; return the frame that pandas reads through pyarrow."""
    return pa.record_batch(cab.to_arrow_device(frame)).to_pandas()


def round_trip_dtypes(array):
    """Import an array and export it; return the dtypes of the cuDF column and of pandas' column."""
    frame = cab.from_arrow_device(batch_of(array))
    found = pandas_of(frame)["x"]
    assert found.isna().tolist() == pd.Series(array).isna().tolist()
    assert found.dropna().tolist() == pd.Series(array).dropna().tolist()
    again = cab.from_arrow_device(cab.to_arrow_device(frame))
    assert again["x"].dtype == frame["x"].dtype
    return frame["x"].dtype, found.dtype


@pytest.mark.parametrize("array", [*map(values_of, MASKED), *ARROW], ids=lambda a: str(a.dtype))
def test_round_trip_keeps_masked_and_arrow_dtypes(array):
    assert round_trip_dtypes(array) == (array.dtype, array.dtype)


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
def test_round_trip_keeps_string_dtypes_with_pd_na(storage):
    """pyarrow does not record the storage of the strings."""
    array = pd.array(["a", None], pd.StringDtype(storage))
    for dtype in round_trip_dtypes(array):
        assert isinstance(dtype, pd.StringDtype)
        assert dtype.na_value is pd.NA


def test_import_of_str_and_object_gives_the_default_string_dtype():
    default = cab.from_arrow_device(pa.array(["a"])).dtype
    for array in (pd.array(["a", None], "str"), pd.Series(["a", None], dtype=object)):
        frame = cab.from_arrow_device(batch_of(array))
        assert frame["x"].dtype == default


def test_cudf_keeps_the_list_arrow_dtype_that_pandas_reads_as_object():
    array = pd.array([[1], None], pd.ArrowDtype(pa.list_(pa.int8())))
    frame = cab.from_arrow_device(batch_of(array))
    assert frame["x"].dtype == array.dtype
    assert pandas_of(frame)["x"].dtype == object


def test_import_of_arrow_dtypes_that_cudf_lacks_gives_other_dtypes():
    for type_, dtype, exported in (
        (pa.date32(), "datetime64[s]", pa.date32()),
        (pa.float16(), "float32", pa.float32()),
    ):
        frame = cab.from_arrow_device(batch_of(pd.array([1, None], pd.ArrowDtype(type_))))
        assert frame["x"].dtype == dtype
        assert pa.record_batch(cab.to_arrow_device(frame)).schema.field("x").type == exported


@pytest.mark.parametrize(
    "numpy_type",
    ["Int64", "Int32", "string", "nonsense", "[pyarrow]", "int8[pyarrow]", "category", 7, None],
)
def test_import_ignores_a_numpy_type_that_does_not_match_the_field(numpy_type):
    batch = batch_of(pd.array([1.5, None], "Float64"))
    document = json.loads(batch.schema.metadata[b"pandas"])
    document["columns"][0]["numpy_type"] = numpy_type
    changed = batch.replace_schema_metadata({"pandas": json.dumps(document)})
    dtype = cab.from_arrow_device(changed)["x"].dtype
    # If the metadata names any Arrow dtype, the column gets the Arrow dtype of its field.
    is_arrow = str(numpy_type).endswith("[pyarrow]")
    assert dtype == (pd.ArrowDtype(pa.float64()) if is_arrow else "float64")


@pytest.mark.parametrize("document", [{}, {"columns": None}, {"columns": [{}]}, {"columns": [3]}])
def test_import_ignores_damaged_pandas_metadata(document):
    batch = batch_of(values_of("Int64")).replace_schema_metadata({"pandas": json.dumps(document)})
    assert cab.from_arrow_device(batch)["x"].dtype == "int64"


def test_round_trip_drops_the_frequency_of_a_datetime_index():
    """Arrow cannot store a frequency. It would also be wrong after a peer has dropped rows."""
    index = pd.date_range("2024-01-01", periods=3, freq="D")
    frame = cab.from_arrow_device(batch_of([1, 2, 3], index=index))
    assert frame.index.freq is None
    assert pandas_of(frame).index.tolist() == index.tolist()
    made = private.make_index(private.columns_of(frame.index), [None])
    made._freq = pd.offsets.Day()
    assert made.freq is not None
    labels = cab.from_arrow_device(cab.to_arrow_device(made))
    assert getattr(labels, "freq", None) is None
