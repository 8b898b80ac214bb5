# SPDX-License-Identifier: Apache-2.0
"""Test the errors of calls with wrong arguments."""

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
EXPORTED = rf"expected cuDF data or an object with {PROTOCOLS}, got"
IMPORTED = rf"expected a path, a dataset, or an object with {PROTOCOLS}, got"
STREAMED = rf"expected an object with {PROTOCOLS}, or an iterable of arrays, got"
SCHEMA = "requested_schema: expected an Arrow schema, field or type .* got an object of type {}$"

#: A call, the exception, and the start of its message.
CALLS = {
    "export a path": (
        lambda: cab.to_arrow_device("file.parquet"),
        TypeError,
        f"{EXPORTED} an object of type str: to_arrow_device_stream reads the file of a path$",
    ),
    "export a pathlib path": (
        lambda: cab.to_arrow_device(pathlib.Path("file.parquet")),
        TypeError,
        f"{EXPORTED} an object of type PosixPath: to_arrow_device_stream reads the file",
    ),
    "export a list": (
        lambda: cab.to_arrow_device([FRAME, FRAME]),
        TypeError,
        f"{EXPORTED} an object of type list: to_arrow_device_stream takes several$",
    ),
    "export a list of numbers": (
        lambda: cab.to_arrow_device([1, 2]),
        TypeError,
        f"{EXPORTED} an object of type list",
    ),
    "export a generator": (
        lambda: cab.to_arrow_device(frame for frame in [FRAME]),
        TypeError,
        f"{EXPORTED} an object of type generator: to_arrow_device_stream takes several$",
    ),
    "export a dict": (
        lambda: cab.to_arrow_device({"a": [1]}),
        TypeError,
        f"{EXPORTED} an object of type dict: pyarrow.table makes a table of a dict$",
    ),
    "export None": (
        lambda: cab.to_arrow_device(None),
        TypeError,
        f"{EXPORTED} an object of type NoneType$",
    ),
    "export a number": (
        lambda: cab.to_arrow_device(42),
        TypeError,
        f"{EXPORTED} an object of type int$",
    ),
    "export a scalar": (
        lambda: cab.to_arrow_device(pa.scalar(1)),
        TypeError,
        f"{EXPORTED} an object of type Int64Scalar$",
    ),
    "export NumPy's array": (
        lambda: cab.to_arrow_device(np.array([1])),
        TypeError,
        f"{EXPORTED} an object of type ndarray: from_dlpack imports tensors$",
    ),
    "export groups": (
        lambda: cab.to_arrow_device(FRAME.groupby("a")),
        TypeError,
        f"{EXPORTED} an object of type DataFrameGroupBy$",
    ),
    "export a class": (
        lambda: cab.to_arrow_device(type(FRAME)),
        TypeError,
        f"{EXPORTED} the class DataFrame$",
    ),
    "export a class of pyarrow": (
        lambda: cab.to_arrow_device(pa.Table),
        TypeError,
        f"{EXPORTED} the class Table$",
    ),
    "export a lazy frame": (
        lambda: cab.to_arrow_device(pl.LazyFrame({"a": [1]})),
        TypeError,
        rf"{EXPORTED} an object of type LazyFrame: its collect\(\) may give one$",
    ),
    "export a schema": (
        lambda: cab.to_arrow_device(BATCH.schema),
        TypeError,
        f"{EXPORTED} an object of type Schema$",
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
        "expected a requested schema of a table, got a type that is not a struct$",
    ),
    "a schema of fewer fields": (
        lambda: cab.to_arrow_device(FRAME, requested_schema=TABLE.schema),
        ValueError,
        "expected a requested schema of 2 fields, got 1$",
    ),
    "fields in another order": (
        lambda: cab.to_arrow_device(
            FRAME, requested_schema=pa.schema([("b", pa.string()), ("a", pa.int64())])
        ),
        ValueError,
        r"column '\(top level\)': expected field 'a' at position 0 of a requested schema, got 'b'$",
    ),
    "preserve_index as a string": (
        lambda: cab.to_arrow_device(FRAME, preserve_index="x"),
        ValueError,
        "preserve_index: expected None, True or False, got 'x'$",
    ),
    "preserve_index as a number": (
        lambda: cab.to_arrow_device(FRAME, preserve_index=1),
        ValueError,
        "preserve_index: expected None, True or False, got 1$",
    ),
    "preserve_index as a list": (
        lambda: cab.to_arrow_device(FRAME, preserve_index=["a"]),
        ValueError,
        "preserve_index: expected None, True or False, got an object of type list$",
    ),
    "preserve_index of the accessor": (
        lambda: FRAME.arrow_device.export(preserve_index="no"),
        ValueError,
        "preserve_index: expected None, True or False, got 'no'$",
    ),
    "preserve_index of a stream": (
        lambda: cab.to_arrow_device_stream(FRAME, preserve_index="x"),
        ValueError,
        "preserve_index: expected None, True or False, got 'x'$",
    ),
    "compact as a string": (
        lambda: cab.to_arrow_device(FRAME, compact="yes"),
        ValueError,
        "compact: expected True or False, got 'yes'$",
    ),
    "compact as None": (
        lambda: cab.to_arrow_device_stream(FRAME, compact=None),
        ValueError,
        "compact: expected True or False, got None$",
    ),
    "compact as a number": (
        lambda: cab.to_arrow_device(FRAME, compact=0),
        ValueError,
        "compact: expected True or False, got 0$",
    ),
    "an unknown device type": (
        lambda: cab.to_arrow_device(FRAME, device_type="gpu"),
        ValueError,
        "device_type: expected 'cuda', DeviceType.CUDA or None, got 'gpu': an array has the ",
    ),
    "a device type that no array can have": (
        lambda: cab.to_arrow_device(FRAME, device_type=cab.DeviceType.CUDA_MANAGED),
        ValueError,
        "device_type: expected 'cuda', DeviceType.CUDA or None, got <DeviceType.CUDA_MANAGED: 13>",
    ),
    "a device type as a number": (
        lambda: cab.to_arrow_device_stream(FRAME, device_type=2),
        ValueError,
        "device_type: expected 'cuda', DeviceType.CUDA or None, got 2: an array",
    ),
    "a stream by name": (
        lambda: cab.to_arrow_device(FRAME, stream="default"),
        TypeError,
        r"stream: expected None, an integer handle or an.* got an object of type str$",
    ),
    "a stream as a bool": (
        lambda: cab.from_arrow_device(BATCH, stream=True),
        TypeError,
        "stream: expected None, an integer handle .* got an object of type bool$",
    ),
    "a negative stream": (
        lambda: cab.to_arrow_device(FRAME, stream=-1),
        ValueError,
        "stream: expected the handle of a CUDA stream, got -1: use 0 or 1",
    ),
    "a resource by name": (
        lambda: cab.to_arrow_device(FRAME, mr="pool"),
        TypeError,
        "mr: expected an rmm.mr.DeviceMemoryResource, or None .* got an object of type str$",
    ),
    "a resource of a stream by name": (
        lambda: cab.to_arrow_device_stream(FRAME, mr="pool"),
        TypeError,
        "mr: expected an rmm.mr.DeviceMemoryResource, or None .* got an object of type str$",
    ),
    "a resource of an import by name": (
        lambda: cab.from_arrow_device(BATCH, mr="pool"),
        TypeError,
        "mr: expected an rmm.mr.DeviceMemoryResource, or None .* got an object of type str$",
    ),
    "a resource of a stream's import by name": (
        lambda: cab.from_arrow_device_stream(TABLE, mr=7, concat=False),
        TypeError,
        "mr: expected an rmm.mr.DeviceMemoryResource, or None .* got an object of type int$",
    ),
    "max_rows as a float": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=2.5),
        TypeError,
        "max_rows: expected an integer or None, got 2.5$",
    ),
    "max_rows as a whole float": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=2.0),
        TypeError,
        "max_rows: expected an integer or None, got 2.0$",
    ),
    "max_rows as a bool": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=True),
        TypeError,
        "max_rows: expected an integer or None, got True$",
    ),
    "max_rows as NumPy's bool": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=np.True_),
        TypeError,
        "max_rows: expected an integer or None, got an object of type bool$",
    ),
    "max_rows as a string": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows="5"),
        TypeError,
        "max_rows: expected an integer or None, got '5'$",
    ),
    "max_rows of 0": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=0),
        ValueError,
        "max_rows: expected at least 1, got 0$",
    ),
    "a negative max_rows": (
        lambda: cab.to_arrow_device_stream(FRAME, max_rows=np.int8(-3)),
        ValueError,
        "max_rows: expected at least 1, got -3$",
    ),
    "max_bytes of open_file as a bool": (
        lambda: cab.ipc.open_file(b"", max_bytes=True),
        TypeError,
        "max_bytes: expected an integer or None, got True$",
    ),
    "a negative max_bytes of open_stream": (
        lambda: cab.ipc.open_stream(b"", max_bytes=-1),
        ValueError,
        "max_bytes: expected at least 0, got -1$",
    ),
    "max_bytes of from_messages as a float": (
        lambda: cab.ipc.from_messages([], max_bytes=1e9),
        TypeError,
        "max_bytes: expected an integer or None, got 1000000000.0$",
    ),
    "a stream's schema by name": (
        lambda: cab.to_arrow_device_stream(FRAME, requested_schema="x"),
        TypeError,
        SCHEMA.format("str"),
    ),
    "the schema of no batches": (
        lambda: cab.to_arrow_device_stream([]).schema,
        ValueError,
        "the stream has neither a schema nor a batch$",
    ),
    "a stream of a number": (
        lambda: cab.to_arrow_device_stream(42),
        TypeError,
        "expected cuDF data, .* got an object of type int$",
    ),
    "import a path": (
        lambda: cab.from_arrow_device("file.parquet"),
        FileNotFoundError,
        r"\[Errno 2\] no such file: 'file.parquet'",
    ),
    "import a list": (
        lambda: cab.from_arrow_device([BATCH, BATCH]),
        TypeError,
        f"{IMPORTED} an object of type list: from_arrow_device_stream takes several$",
    ),
    "import a dict": (
        lambda: cab.from_arrow_device({"a": [1]}),
        TypeError,
        f"{IMPORTED} an object of type dict: pyarrow.table makes a table of a dict$",
    ),
    "import None": (
        lambda: cab.from_arrow_device(None),
        TypeError,
        f"{IMPORTED} an object of type NoneType$",
    ),
    "import NumPy's array": (
        lambda: cab.from_arrow_device(np.array([1])),
        TypeError,
        f"{IMPORTED} an object of type ndarray: from_dlpack imports tensors$",
    ),
    "import a class": (
        lambda: cab.from_arrow_device(pd.DataFrame),
        TypeError,
        f"{IMPORTED} the class DataFrame$",
    ),
    "an unknown kind": (
        lambda: cab.from_arrow_device(BATCH, kind="frame"),
        ValueError,
        "kind: expected 'table', 'column' or None, got 'frame'$",
    ),
    "kind as a class": (
        lambda: cab.from_arrow_device(TABLE, kind=pa.Table),
        ValueError,
        "kind: expected 'table', 'column' or None, got an object of type type$",
    ),
    "a table of a column": (
        lambda: cab.from_arrow_device(pa.array([1]), kind="table"),
        ValueError,
        r"column '\(top level\)': expected a struct, got the Arrow type 'int64': import it with "
        'kind="column"',
    ),
    "to another library": (
        lambda: cab.from_arrow_device(BATCH, to="polars"),
        ValueError,
        "to: expected 'cudf', 'cudf.pandas' or 'pylibcudf', got 'polars'$",
    ),
    "to a stream of another library": (
        lambda: cab.from_arrow_device_stream(TABLE, to="polars"),
        ValueError,
        "to: expected 'cudf', 'cudf.pandas' or 'pylibcudf', got 'polars'$",
    ),
    "to None": (
        lambda: cab.from_arrow_device(BATCH, to=None),
        ValueError,
        "to: expected 'cudf', 'cudf.pandas' or 'pylibcudf', got None$",
    ),
    "to a list": (
        lambda: cab.from_arrow_device(BATCH, to=["cudf"]),
        ValueError,
        r"to: expected 'cudf', 'cudf.pandas' or 'pylibcudf', got \['cudf'\]$",
    ),
    "an unknown validate": (
        lambda: cab.from_arrow_device(BATCH, validate="all"),
        ValueError,
        "validate: expected 'minimal' or 'full', got 'all'$",
    ),
    "validate as a bool": (
        lambda: cab.from_arrow_device(BATCH, validate=True),
        ValueError,
        "validate: expected 'minimal' or 'full', got True$",
    ),
    "sanitize as a string": (
        lambda: cab.from_arrow_device(BATCH, sanitize="x"),
        ValueError,
        "sanitize: expected True or False, got 'x'$",
    ),
    "sanitize as None": (
        lambda: cab.from_arrow_device_stream(TABLE, sanitize=None),
        ValueError,
        "sanitize: expected True or False, got None$",
    ),
    "concat as a string": (
        lambda: cab.from_arrow_device_stream(TABLE, concat="yes"),
        ValueError,
        "concat: expected True or False, got 'yes'$",
    ),
    "concat as None": (
        lambda: cab.from_arrow_device_stream(TABLE, concat=None),
        ValueError,
        "concat: expected True or False, got None$",
    ),
    "columns as a string": (
        lambda: cab.from_arrow_device(BATCH, columns="a"),
        TypeError,
        "columns: expected a list of column names, got 'a'$",
    ),
    "columns that do not exist": (
        lambda: cab.from_arrow_device_stream(TABLE, columns=["a", "z"]),
        KeyError,
        r"""["']columns: expected names in \['a'\], got \['z'\]["']$""",
    ),
    "columns by number": (
        lambda: cab.from_arrow_device(BATCH, columns=[0]),
        TypeError,
        r"columns: expected names of Arrow fields in \['a', 'b'\], got 0$",
    ),
    "columns of a column": (
        lambda: cab.from_arrow_device(pa.array([1]), columns=["a"]),
        ValueError,
        'columns: expected a table, got a column: kind="table" imports',
    ),
    "a type that cuDF lacks": (
        lambda: cab.from_arrow_device(LARGE),
        TypeError,
        "column 'large': expected a supported type, got the Arrow type 'decimal256': cuDF has no",
    ),
    "a stream of a path": (
        lambda: cab.from_arrow_device_stream("file.parquet"),
        FileNotFoundError,
        r"\[Errno 2\] no such file: 'file.parquet'",
    ),
    "a stream of None": (
        lambda: cab.from_arrow_device_stream(None),
        TypeError,
        f"{STREAMED} an object of type NoneType$",
    ),
    "a stream of a dict": (
        lambda: cab.from_arrow_device_stream({"a": BATCH}),
        TypeError,
        f"{STREAMED} an object of type dict: pyarrow.table",
    ),
    "an empty list": (
        lambda: cab.from_arrow_device_stream([]),
        ValueError,
        "the iterable has no arrays: their schema is unknown$",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS)
def test_wrong_arguments_raise_the_expected_message(call, error, message):
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
def test_import_with_a_wrong_argument_releases_the_producer(wrong):
    producer = Producer(BATCH)
    with pytest.raises((TypeError, ValueError)):
        cab.from_arrow_device(producer, **wrong)
    producer.drop()
    gc.collect()
    assert (producer.releases, producer.schema_releases) == (1, 1)


@pytest.mark.parametrize(
    ("wanted", "shown", "others"),
    [("column", r"'column \d', 'column \d', 'column \d'", 997), ("price", "'column 0', .*", 980)],
)
def test_error_lists_the_nearest_or_20_of_1000_column_names(wanted, shown, others):
    wide = pa.record_batch({f"column {i}": [i] for i in range(1000)})
    with pytest.raises(
        KeyError,
        match=rf"columns: expected names in \[{shown}\] and {others} more, got \['{wanted}'\]",
    ) as found:
        cab.from_arrow_device(wide, columns=[wanted])
    assert len(str(found.value)) < 1000
