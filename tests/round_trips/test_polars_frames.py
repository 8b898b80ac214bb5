# SPDX-License-Identifier: Apache-2.0
"""Random frames of polars are equal after every exchange, or differ as the documentation states."""

from __future__ import annotations

import io
import pickle

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing.parametric import dataframes

import cudf_arrow_bridge as cab
from testing.strategies import NOT_SLOW

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="polars reads host memory")

TYPES = [
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64, pl.Boolean, pl.String, pl.Binary, pl.Categorical, pl.Enum),
    *(pl.Date, pl.Time, pl.Datetime, pl.Duration, pl.Decimal, pl.Null),
    *(pl.List, pl.Array, pl.Struct),
]


def through_ipc(frame):
    sink = io.BytesIO()
    cab.ipc.write_stream(frame, sink)
    return cab.ipc.open_stream(sink.getvalue())


def through_parquet(frame):
    file = io.BytesIO()
    frame.write_parquet(file)
    return cab.to_arrow_device_stream(file.getvalue())


EXCHANGES = {
    "array": cab.to_arrow_device,
    "frame": lambda frame: cab.to_arrow_device(cab.from_arrow_device(frame)),
    "stream": lambda frame: cab.to_arrow_device_stream(frame, max_rows=3),
    "ipc": through_ipc,
    "pickle": lambda frame: pickle.loads(pickle.dumps(cab.to_arrow_device(frame))),
    "parquet": through_parquet,
}


def returned_type(dtype, exchange, nulls, is_top=True):
    """Return the type of a column after an exchange; see docs/types.md and docs/how-to/polars.md.

    `nulls` is the type of columns of nulls.
    """

    def of(inner):
        return returned_type(inner, exchange, nulls, is_top=False)

    match dtype:
        case pl.Null():
            return nulls
        case pl.Binary() if exchange != "parquet":
            return pl.List(pl.UInt8)  # polars exports binary views
        case pl.Enum() if exchange == "frame" and not is_top:
            return pl.String()  # decoded in lists and structs
        case pl.List():
            return pl.List(of(dtype.inner))
        case pl.Array():
            return pl.Array(of(dtype.inner), dtype.size)
        case pl.Struct():
            return pl.Struct({field.name: of(field.dtype) for field in dtype.fields})
    return dtype


def converted(values, dtype, into):
    """Return values of a type as those of the type that an exchange returns."""
    if values is None or dtype == into:
        return values
    match dtype:
        case pl.Binary():
            return list(values)
        case pl.List() | pl.Array():
            return [converted(value, dtype.inner, into.inner) for value in values]
        case pl.Struct():
            fields = zip(dtype.fields, into.fields, strict=True)
            return {f.name: converted(values[f.name], f.dtype, to.dtype) for f, to in fields}
    return values


@NOT_SLOW
@given(dataframes(max_cols=4, max_size=40, allowed_dtypes=TYPES), st.integers(0, 40))
def test_random_frames_are_equal_after_every_exchange(frame, begin):
    frame = frame[begin:]
    for name, exchange in EXCHANGES.items():
        returned = pl.DataFrame(exchange(frame))
        assert returned.columns == frame.columns, name
        for column in frame:
            expected, found = column, returned[column.name]
            into = returned_type(column.dtype, name, pl.Null())
            if name == "frame" and found.dtype != into:
                # cuDF frames have strings for columns of nulls.
                into = returned_type(column.dtype, name, pl.String())
            if into != column.dtype:
                values = [converted(value, column.dtype, into) for value in column]
                expected = pl.Series(column.name, values, dtype=into)
            assert found.dtype == into, name
            if into.is_nested():
                # `equals` of polars 1.44 compares the values below nulls.
                assert repr(found.to_list()) == repr(expected.to_list()), name
            else:
                assert found.equals(expected, null_equal=True), name
