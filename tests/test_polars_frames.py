# SPDX-License-Identifier: Apache-2.0
"""Random frames of polars are equal after every exchange, or differ as the documentation states."""

from __future__ import annotations

import datetime as dt
import io
import pickle
import random
import string
from decimal import Decimal

import polars as pl
import pytest

import cudf_arrow_bridge as cab

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="polars reads host memory")

INTEGERS = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]
UNITS = ["ms", "us", "ns"]
ZONES = [None, "UTC", "Europe/Paris", "America/New_York"]
EPOCH = dt.datetime(1970, 1, 1)


def random_type(rng: random.Random, depth: int = 0) -> pl.DataType:
    """Return a type, with at most three levels of nesting."""
    nested = ["list", "array", "struct"] if depth < 3 else []
    flat = ["integer", "float", "bool", "string", "binary", "date", "time", "datetime", "duration"]
    match rng.choice([*flat, "decimal", "categorical", "enum", "null", *nested]):
        case "integer":
            return rng.choice(INTEGERS)()
        case "float":
            return rng.choice([pl.Float32, pl.Float64])()
        case "bool":
            return pl.Boolean()
        case "string":
            return pl.String()
        case "binary":
            return pl.Binary()
        case "date":
            return pl.Date()
        case "time":
            return pl.Time()
        case "datetime":
            return pl.Datetime(rng.choice(UNITS), rng.choice(ZONES))
        case "duration":
            return pl.Duration(rng.choice(UNITS))
        case "decimal":
            precision = rng.randint(1, 38)
            return pl.Decimal(precision, rng.randint(0, precision))
        case "categorical":
            return pl.Categorical()
        case "enum":
            return pl.Enum([random_text(rng) + str(i) for i in range(rng.randint(1, 5))])
        case "null":
            return pl.Null()
        case "list":
            return pl.List(random_type(rng, depth + 1))
        case "array":
            return pl.Array(random_type(rng, depth + 1), rng.randint(1, 3))
        case _:
            names = [f"{random_text(rng)}{i}" for i in range(rng.randint(1, 3))]
            return pl.Struct({name: random_type(rng, depth + 1) for name in names})


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_letters + " é漢🙂\n", k=rng.randint(0, 20)))


def random_value(rng: random.Random, dtype: pl.DataType) -> object:
    """Return a value of a type, or None."""
    if rng.random() < 0.2 or dtype == pl.Null:
        return None
    if dtype.is_integer():
        low, high = dtype.min(), dtype.max()
        low, high = pl.select(low, high.alias("high")).row(0)
        return rng.choice([low, high, 0, rng.randint(low, high)])
    if dtype.is_float():
        return rng.choice([0.0, -0.0, float("inf"), float("nan"), float(rng.randint(-99, 99)) / 4])
    match dtype:
        case pl.Boolean():
            return rng.random() < 0.5
        case pl.String() | pl.Categorical():
            return random_text(rng)
        case pl.Enum():
            return rng.choice(dtype.categories.to_list())
        case pl.Binary():
            return rng.randbytes(rng.randint(0, 20))
        case pl.Date():
            return dt.date(1970, 1, 1) + dt.timedelta(rng.randint(-99_999, 99_999))
        case pl.Time():
            return dt.time(rng.randint(0, 23), rng.randint(0, 59), 7, rng.randint(0, 999_999))
        case pl.Datetime():
            return EPOCH + dt.timedelta(milliseconds=rng.randint(-(10**12), 10**12))
        case pl.Duration():
            return dt.timedelta(milliseconds=rng.randint(-(10**12), 10**12))
        case pl.Decimal():
            number = rng.randint(-(10**dtype.precision) + 1, 10**dtype.precision - 1)
            return Decimal(number).scaleb(-dtype.scale)
        case pl.List():
            return [random_value(rng, dtype.inner) for _ in range(rng.randint(0, 4))]
        case pl.Array():
            return [random_value(rng, dtype.inner) for _ in range(dtype.size)]
        case pl.Struct():
            return {field.name: random_value(rng, field.dtype) for field in dtype.fields}
    raise AssertionError(dtype)


def random_frame(seed: int) -> pl.DataFrame:
    """Return a frame of at most four columns and 40 rows, about half of them slices."""
    rng = random.Random(seed)
    size = rng.choice([0, 1, 2, 7, 40])
    columns = {}
    for i in range(rng.randint(1, 4)):
        dtype = random_type(rng)
        values = [random_value(rng, dtype) for _ in range(size)]
        columns[f"{i}{random_text(rng)}"] = pl.Series(values, dtype=dtype, strict=False)
    begin = rng.randint(0, size)
    frame = pl.DataFrame(columns)
    return frame[begin : rng.randint(begin, size)] if rng.random() < 0.5 else frame


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
