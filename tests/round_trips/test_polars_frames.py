# SPDX-License-Identifier: Apache-2.0
"""Random frames of polars are equal after every exchange, or differ as the documentation states."""

from __future__ import annotations

import io
import pickle
import random
import string
from decimal import Decimal

import polars as pl
import pytest

import cudf_arrow_bridge as cab

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="polars reads host memory")

UNITS = ["ms", "us", "ns"]
FLAT = [
    *(pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64()),
    *(pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64()),
    *(pl.Float32(), pl.Float64(), pl.Boolean(), pl.String(), pl.Binary(), pl.Categorical()),
    *(pl.Date(), pl.Time(), pl.Null(), pl.Enum(["", "b", "é漢🙂"])),
    *(pl.Datetime(unit, zone) for unit in UNITS for zone in (None, "UTC", "America/New_York")),
    *map(pl.Duration, UNITS),
    *(pl.Decimal(1, 0), pl.Decimal(17, 17), pl.Decimal(38, 5)),
]
FLOATS = [0.0, -0.0, float("inf"), float("nan")]


def random_type(rng: random.Random, depth: int = 0) -> pl.DataType:
    """Return a type, with at most three levels of nesting; about a third of all are nested."""
    match rng.randint(0, 8) if depth < 3 else None:
        case 0:
            return pl.List(random_type(rng, depth + 1))
        case 1:
            return pl.Array(random_type(rng, depth + 1), rng.randint(1, 3))
        case 2:
            names = [f"{random_text(rng)}{i}" for i in range(rng.randint(1, 3))]
            return pl.Struct({name: random_type(rng, depth + 1) for name in names})
    return rng.choice(FLAT)


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_letters + " é漢🙂\n", k=rng.randint(0, 20)))


def random_value(rng: random.Random, dtype: pl.DataType) -> object:
    """Return a value of a type, or None."""
    if rng.random() < 0.2 or dtype == pl.Null:
        return None
    match dtype:
        case pl.String() | pl.Categorical():
            return random_text(rng)
        case pl.Enum():
            return rng.choice(dtype.categories.to_list())
        case pl.Binary():
            return rng.randbytes(rng.randint(0, 20))
        case pl.Float32() | pl.Float64():
            return rng.choice([*FLOATS, float(rng.randint(-99, 99)) / 4])
        case pl.Decimal():
            number = rng.randint(-(10**dtype.precision) + 1, 10**dtype.precision - 1)
            return Decimal(number).scaleb(-dtype.scale)
        case pl.List():
            return [random_value(rng, dtype.inner) for _ in range(rng.randint(0, 4))]
        case pl.Array():
            return [random_value(rng, dtype.inner) for _ in range(dtype.size)]
        case pl.Struct():
            return {field.name: random_value(rng, field.dtype) for field in dtype.fields}
    bits = 62 if dtype == pl.UInt64 else 46 if dtype == pl.Time else 16
    number = rng.choice([0, 1, -1, 127, 255, rng.getrandbits(bits)])
    return pl.Series([number]).cast(dtype, strict=False)[0]


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
            if into.is_nested():
                # `equals` of polars 1.44 compares the values below nulls.
                assert repr(found.to_list()) == repr(expected.to_list()), (seed, name)
            else:
                assert found.equals(expected, null_equal=True), (seed, name)


def test_random_frames_are_equal_after_every_exchange():
    for seed in range(100):
        check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("begin", range(100, 2000, 100))
def test_many_random_frames_are_equal_after_every_exchange(begin):
    for seed in range(begin, begin + 100):
        check(seed)
