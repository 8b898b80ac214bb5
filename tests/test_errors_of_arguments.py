# SPDX-License-Identifier: Apache-2.0
"""Calls as somebody new might make them, and what they are told."""

from __future__ import annotations

import decimal
import gc
import pathlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.arrays import Producer

BATCH = pa.record_batch({"a": [1, 2], "b": ["x", "y"]})
FRAME = cab.from_arrow_device(BATCH)
TABLE = pa.table({"a": [1, 2]})
LARGE = pa.record_batch([pa.array([decimal.Decimal(1)], pa.decimal256(50))], ["large"])

PROTOCOLS = (
    "__arrow_c_device_array__, __arrow_c_array__, __arrow_c_device_stream__ or __arrow_c_stream__"
)
EXPORTED = rf"found, cuDF data or an object with {PROTOCOLS} expected"
IMPORTED = rf"found, a path, a dataset, or one with {PROTOCOLS} expected"
STREAMED = rf"found, one with {PROTOCOLS}, or an iterable of arrays, expected"
SCHEMA = "a requested schema of type {} found, an Arrow schema, field or type expected: an object "

#: A call, the exception, and how its message begins.
CALLS = {
    "export a path": (
        lambda: cab.to_arrow_device("file.parquet"),
        TypeError,
        f"an object of type str {EXPORTED}: to_arrow_device_stream reads the file of a path$",
    ),
    "export a pathlib path": (
        lambda: cab.to_arrow_device(pathlib.Path("file.parquet")),
        TypeError,
        f"an object of type PosixPath {EXPORTED}: to_arrow_device_stream reads the file",
    ),
    "export a list": (
        lambda: cab.to_arrow_device([FRAME, FRAME]),
        TypeError,
        f"an object of type list {EXPORTED}: to_arrow_device_stream takes several$",
    ),
    "export a list of numbers": (
        lambda: cab.to_arrow_device([1, 2]),
        TypeError,
        f"an object of type list {EXPORTED}",
    ),
    "export a generator": (
        lambda: cab.to_arrow_device(frame for frame in [FRAME]),
        TypeError,
        f"an object of type generator {EXPORTED}: to_arrow_device_stream takes several$",
    ),
    "export a dict": (
        lambda: cab.to_arrow_device({"a": [1]}),
        TypeError,
        f"an object of type dict {EXPORTED}: pyarrow.table makes a table of a dict$",
    ),
    "export None": (
        lambda: cab.to_arrow_device(None),
        TypeError,
        f"an object of type NoneType {EXPORTED}$",
    ),
    "export a number": (
        lambda: cab.to_arrow_device(42),
        TypeError,
        f"an object of type int {EXPORTED}$",
    ),
    "export a scalar": (
        lambda: cab.to_arrow_device(pa.scalar(1)),
        TypeError,
        f"an object of type Int64Scalar {EXPORTED}$",
    ),
    "export NumPy's array": (
        lambda: cab.to_arrow_device(np.array([1])),
        TypeError,
        f"an object of type ndarray {EXPORTED}: from_dlpack imports tensors$",
    ),
    "export groups": (
        lambda: cab.to_arrow_device(FRAME.groupby("a")),
        TypeError,
        f"an object of type DataFrameGroupBy {EXPORTED}$",
    ),
    "export a class": (
        lambda: cab.to_arrow_device(type(FRAME)),
        TypeError,
        f"the class DataFrame {EXPORTED}$",
    ),
    "export a class of pyarrow": (
        lambda: cab.to_arrow_device(pa.Table),
        TypeError,
        f"the class Table {EXPORTED}$",
    ),
    "export a lazy frame": (
        lambda: cab.to_arrow_device(pl.LazyFrame({"a": [1]})),
        TypeError,
        rf"an object of type LazyFrame {EXPORTED}: its collect\(\) may give one$",
    ),
    "export a schema": (
        lambda: cab.to_arrow_device(BATCH.schema),
        TypeError,
        f"an object of type Schema {EXPORTED}$",
    ),
    "a schema by name": (
        lambda: cab.to_arrow_device(FRAME, requested_schema="int32"),
        TypeError,
        SCHEMA.format("str"),
    ),
    "a schema as a dict": (
        lambda: cab.to_arrow_device(FRAME, requested_schema={"a": "int8"}),
        TypeError,
        SCHEMA.format("dict"),
    ),
    "a schema as pairs": (
        lambda: cab.to_arrow_device(FRAME, requested_schema=[("a", pa.int8())]),
        TypeError,
        SCHEMA.format("list"),
    ),
    "a frame as a schema": (
        lambda: cab.to_arrow_device(FRAME, requested_schema=FRAME),
        TypeError,
        SCHEMA.format("DataFrame"),
    ),
    "a schema's class": (
        lambda: cab.to_arrow_device(FRAME, requested_schema=pa.Schema),
        TypeError,
        SCHEMA.format("type"),
    ),
    "a column's type for a table": (
        lambda: cab.to_arrow_device(FRAME, requested_schema=pa.int32()),
        ValueError,
        "a requested type that is no struct found, the schema of a table expected",
    ),
    "a schema of fewer fields": (
        lambda: cab.to_arrow_device(FRAME, requested_schema=TABLE.schema),
        ValueError,
        "a requested schema of 1 fields found, 2 expected",
    ),
    "fields in another order": (
        lambda: cab.to_arrow_device(
            FRAME, requested_schema=pa.schema([("b", pa.string()), ("a", pa.int64())])
        ),
        ValueError,
        r"column '\(top level\)': field 'b' found at position 0 of a requested schema, 'a' expect",
    ),
    "preserve_index as a string": (
        lambda: cab.to_arrow_device(FRAME, preserve_index="x"),
        ValueError,
        "preserve_index='x' found, None, True or False expected$",
    ),
    "preserve_index as a number": (
        lambda: cab.to_arrow_device(FRAME, preserve_index=1),
        ValueError,
        "preserve_index=1 found, None, True or False expected$",
    ),
    "preserve_index as a list": (
        lambda: cab.to_arrow_device(FRAME, preserve_index=["a"]),
        ValueError,
        "preserve_index of type list found, None, True or False expected$",
    ),
    "preserve_index of the accessor": (
        lambda: FRAME.arrow_device.export(preserve_index="no"),
        ValueError,
        "preserve_index='no' found",
    ),
    "preserve_index of a stream": (
        lambda: cab.to_arrow_device_stream(FRAME, preserve_index="x"),
        ValueError,
        "preserve_index='x' found, None, True or False expected$",
    ),
    "compact as a string": (
        lambda: cab.to_arrow_device(FRAME, compact="yes"),
        ValueError,
        "compact='yes' found, True or False expected$",
    ),
    "compact as None": (
        lambda: cab.to_arrow_device_stream(FRAME, compact=None),
        ValueError,
        "compact=None found, True or False expected$",
    ),
    "compact as a number": (
        lambda: cab.to_arrow_device(FRAME, compact=0),
        ValueError,
        "compact=0 found, True or False expected$",
    ),
    "a device type by another name": (
        lambda: cab.to_arrow_device(FRAME, device_type="gpu"),
        ValueError,
        "device_type='gpu' found, 'cuda', DeviceType.CUDA or None expected, as an array is lab",
    ),
    "a device type that no array can have": (
        lambda: cab.to_arrow_device(FRAME, device_type=cab.DeviceType.CUDA_MANAGED),
        ValueError,
        "device_type=<DeviceType.CUDA_MANAGED: 13> found, 'cuda', DeviceType.CUDA or None expect",
    ),
    "a device type as a number": (
        lambda: cab.to_arrow_device_stream(FRAME, device_type=2),
        ValueError,
        "device_type=2 found, 'cuda', DeviceType.CUDA or None expected",
    ),
    "a stream by name": (
        lambda: cab.to_arrow_device(FRAME, stream="default"),
        TypeError,
        "a stream of type str found, None, an integer handle or an object with __cuda_stream__ ex",
    ),
    "a stream as a bool": (
        lambda: cab.from_arrow_device(BATCH, stream=True),
        TypeError,
        "a stream of type bool found",
    ),
    "a negative stream": (
        lambda: cab.to_arrow_device(FRAME, stream=-1),
        ValueError,
        "stream=-1 found, a CUDA stream's handle expected",
    ),
    "a resource by name": (
        lambda: cab.to_arrow_device(FRAME, mr="pool"),
        TypeError,
        "mr of type str found, an rmm.mr.DeviceMemoryResource expected, or None for rmm's curre",
    ),
    "a resource of a stream by name": (
        lambda: cab.to_arrow_device_stream(FRAME, mr="pool"),
        TypeError,
        "mr of type str found",
    ),
    "a resource of an import by name": (
        lambda: cab.from_arrow_device(BATCH, mr="pool"),
        TypeError,
        "mr of type str found",
    ),
    "a resource of a stream's import by name": (
        lambda: cab.from_arrow_device_stream(TABLE, mr=7, concat=False),
        TypeError,
        "mr of type int found",
    ),
    "max_rows as a float": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=2.5),
        TypeError,
        "max_rows=2.5 found, an integer or None expected$",
    ),
    "max_rows as a whole float": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=2.0),
        TypeError,
        "max_rows=2.0 found, an integer or None expected$",
    ),
    "max_rows as a bool": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=True),
        TypeError,
        "max_rows=True found, an integer or None expected$",
    ),
    "max_rows as NumPy's bool": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=np.True_),
        TypeError,
        "max_rows of type bool found, an integer or None expected$",
    ),
    "max_rows as a string": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows="5"),
        TypeError,
        "max_rows='5' found, an integer or None expected$",
    ),
    "no rows at all": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=0),
        ValueError,
        "max_rows=0 found, at least 1 expected$",
    ),
    "fewer than no rows": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=np.int8(-3)),
        ValueError,
        "max_rows=-3 found, at least 1 expected$",
    ),
    "a stream's schema by name": (
        lambda: cab.to_arrow_device_stream(FRAME, requested_schema="x"),
        TypeError,
        SCHEMA.format("str"),
    ),
    "the schema of no batches": (
        lambda: cab.to_arrow_device_stream([]).schema,
        ValueError,
        "no batch found, at least one expected of a stream without a schema$",
    ),
    "a stream of a number": (
        lambda: cab.to_arrow_device_stream(42),
        TypeError,
        "an object of type int found",
    ),
    "import cuDF's frame": (
        lambda: cab.from_arrow_device(FRAME),
        TypeError,
        f"an object of type DataFrame {IMPORTED}: this is cuDF data already, which to_arrow_device "
        "exports$",
    ),
    "import cuDF's series": (
        lambda: cab.from_arrow_device(FRAME["a"]),
        TypeError,
        f"an object of type Series {IMPORTED}: this is cuDF data already",
    ),
    "import a path": (
        lambda: cab.from_arrow_device("file.parquet"),
        FileNotFoundError,
        r"\[Errno 2\] no such file: 'file.parquet'",
    ),
    "import a list": (
        lambda: cab.from_arrow_device([BATCH, BATCH]),
        TypeError,
        f"an object of type list {IMPORTED}: from_arrow_device_stream takes several$",
    ),
    "import a dict": (
        lambda: cab.from_arrow_device({"a": [1]}),
        TypeError,
        f"an object of type dict {IMPORTED}: pyarrow.table makes a table of a dict$",
    ),
    "import None": (
        lambda: cab.from_arrow_device(None),
        TypeError,
        f"an object of type NoneType {IMPORTED}$",
    ),
    "import NumPy's array": (
        lambda: cab.from_arrow_device(np.array([1])),
        TypeError,
        f"an object of type ndarray {IMPORTED}: from_dlpack imports tensors$",
    ),
    "import a class": (
        lambda: cab.from_arrow_device(pd.DataFrame),
        TypeError,
        f"the class DataFrame {IMPORTED}$",
    ),
    "kind of another name": (
        lambda: cab.from_arrow_device(BATCH, kind="frame"),
        ValueError,
        "kind='frame' found, 'table', 'column' or None expected$",
    ),
    "kind as a class": (
        lambda: cab.from_arrow_device(TABLE, kind=pa.Table),
        ValueError,
        "kind of type type found, 'table', 'column' or None expected$",
    ),
    "a table of a column": (
        lambda: cab.from_arrow_device(pa.array([1]), kind="table"),
        ValueError,
        r"column '\(top level\)': the Arrow type 'int64' found, a struct expected: import it with "
        'kind="column"',
    ),
    "to another library": (
        lambda: cab.from_arrow_device(BATCH, to="polars"),
        ValueError,
        "to='polars' found, 'cudf'.* or 'pylibcudf'.* expected",
    ),
    "to a stream of another library": (
        lambda: cab.from_arrow_device_stream(TABLE, to="polars"),
        ValueError,
        "to='polars' found, 'cudf'",
    ),
    "to None": (
        lambda: cab.from_arrow_device(BATCH, to=None),
        ValueError,
        "to=None found, 'cudf'",
    ),
    "to a list": (
        lambda: cab.from_arrow_device(BATCH, to=["cudf"]),
        ValueError,
        r"to=\['cudf'\] found, 'cudf'",
    ),
    "validate of another name": (
        lambda: cab.from_arrow_device(BATCH, validate="all"),
        ValueError,
        "validate='all' found, 'minimal' or 'full' expected$",
    ),
    "validate as a bool": (
        lambda: cab.from_arrow_device(BATCH, validate=True),
        ValueError,
        "validate=True found, 'minimal' or 'full' expected$",
    ),
    "sanitize as a string": (
        lambda: cab.from_arrow_device(BATCH, sanitize="x"),
        ValueError,
        "sanitize='x' found, True or False expected$",
    ),
    "sanitize as None": (
        lambda: cab.from_arrow_device_stream(TABLE, sanitize=None),
        ValueError,
        "sanitize=None found, True or False expected$",
    ),
    "concat as a string": (
        lambda: cab.from_arrow_device_stream(TABLE, concat="yes"),
        ValueError,
        "concat='yes' found, True or False expected$",
    ),
    "concat as None": (
        lambda: cab.from_arrow_device_stream(TABLE, concat=None),
        ValueError,
        "concat=None found, True or False expected$",
    ),
    "columns as a string": (
        lambda: cab.from_arrow_device(BATCH, columns="a"),
        TypeError,
        "columns='a' found, a list of names expected$",
    ),
    "columns that there are not": (
        lambda: cab.from_arrow_device_stream(TABLE, columns=["a", "z"]),
        KeyError,
        r"""["']columns=\['z'\] found, names among \['a'\] expected["']$""",
    ),
    "columns by number": (
        lambda: cab.from_arrow_device(BATCH, columns=[0]),
        TypeError,
        r"columns: name=0 found, strings expected, the names of Arrow's fields: \['a', 'b'\]$",
    ),
    "columns of a column": (
        lambda: cab.from_arrow_device(pa.array([1]), columns=["a"]),
        ValueError,
        'columns= found for an array that is a column, a table expected: kind="table" imports',
    ),
    "a type that cuDF has not": (
        lambda: cab.from_arrow_device(LARGE),
        TypeError,
        "column 'large': the Arrow type 'decimal256' found, which is not supported: cuDF has no",
    ),
    "a stream of a path": (
        lambda: cab.from_arrow_device_stream("file.parquet"),
        FileNotFoundError,
        r"\[Errno 2\] no such file: 'file.parquet'",
    ),
    "a stream of None": (
        lambda: cab.from_arrow_device_stream(None),
        TypeError,
        f"an object of type NoneType {STREAMED}$",
    ),
    "a stream of a dict": (
        lambda: cab.from_arrow_device_stream({"a": BATCH}),
        TypeError,
        f"an object of type dict {STREAMED}: pyarrow.table",
    ),
    "a stream of cuDF's frame": (
        lambda: cab.from_arrow_device_stream(FRAME),
        TypeError,
        f"an object of type DataFrame {STREAMED}: this is cuDF data already",
    ),
    "an empty list": (
        lambda: cab.from_arrow_device_stream([]),
        ValueError,
        "no array found, at least one expected in an iterable$",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS)
def test_what_a_wrong_call_is_told(call, error, message):
    with pytest.raises(error, match=f"^{message}"):
        call()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "frame"},
        {"to": "polars"},
        {"validate": "all"},
        {"sanitize": 1},
        {"mr": "pool"},
        {"stream": "x"},
        {"columns": "a"},
    ],
    ids=str,
)
def test_what_was_given_with_a_wrong_argument_is_released(wrong):
    producer = Producer(BATCH)
    with pytest.raises((TypeError, ValueError)):
        cab.from_arrow_device(producer, **wrong)
    producer.drop()
    gc.collect()
    assert (producer.releases, producer.schema_releases) == (1, 1)


def test_many_names_are_not_all_listed():
    wide = pa.record_batch({f"column {i}": [i] for i in range(1000)})
    with pytest.raises(KeyError, match=r"'column 19'\] and 980 more expected") as found:
        cab.from_arrow_device(wide, columns=["column"])
    assert len(str(found.value)) < 1000
