# SPDX-License-Identifier: Apache-2.0
"""Random frames of polars are equal after every exchange, or differ as the documentation states."""

from __future__ import annotations

import io
import pickle

import polars as pl
import pytest

import cudf_arrow_bridge as cab
from testing.polars_frames import random_frame

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="polars reads host memory")


def through_frame(frame):
    return cab.to_arrow_device(cab.from_arrow_device(frame))


def through_stream(frame):
    return cab.to_arrow_device_stream(frame, max_rows=3)


def through_ipc(frame):
    sink = io.BytesIO()
    cab.ipc.write_stream(frame, sink)
    return cab.ipc.open_stream(sink.getvalue())


def through_pickle(frame):
    return pickle.loads(pickle.dumps(cab.to_arrow_device(frame)))


def through_parquet(frame):
    file = io.BytesIO()
    frame.write_parquet(file)
    return cab.to_arrow_device_stream(file.getvalue())


EXCHANGES = {
    "array": cab.to_arrow_device,
    "frame": through_frame,
    "stream": through_stream,
    "ipc": through_ipc,
    "pickle": through_pickle,
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


def check(seed):
    frame = random_frame(seed)
    for name, exchange in EXCHANGES.items():
        returned = pl.DataFrame(exchange(frame))
        assert returned.columns == frame.columns, (seed, name)
        for column in frame:
            expected, found = column, returned[column.name]
            into = returned_type(column.dtype, name, pl.Null())
            if name == "frame" and found.dtype != into:
                # cuDF frames have strings for columns of nulls.
                into = returned_type(column.dtype, name, pl.String())
            if into != column.dtype:
                values = [converted(value, column.dtype, into) for value in column]
                expected = pl.Series(column.name, values, dtype=into)
            assert found.dtype == into, (seed, name, column.name)
            # `equals` of polars 1.44 compares structs in null arrays. `gather` makes them null.
            found = found.gather(range(len(found)))
            assert found.equals(expected, null_equal=True, check_names=True), (seed, name)


def test_random_frames_are_equal_after_every_exchange():
    for seed in range(100):
        check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("begin", range(100, 2000, 100))
def test_many_random_frames_are_equal_after_every_exchange(begin):
    for seed in range(begin, begin + 100):
        check(seed)
