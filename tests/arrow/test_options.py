# SPDX-License-Identifier: Apache-2.0
"""Test the errors of calls with wrong arguments: one case for each function and error."""

from __future__ import annotations

import gc
import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.arrays import Producer
from testing.peers.dlpack import Interface

BATCH = pa.record_batch({"a": [1, 2], "b": ["x", "y"]})
FRAME = cab.from_arrow_device(BATCH)
TABLE = pa.table({"a": [1, 2]})

#: An argument of exports, a wrong value, the error, and the value in its message.
OF_EXPORTS = [
    ("preserve_index", 1, ValueError, "1"),
    ("preserve_index", ["a"], ValueError, "an object of type list"),
    ("compact", "yes", ValueError, "'yes'"),
    ("copy", 1, ValueError, "1"),
    ("device_type", "gpu", ValueError, "'gpu'"),
    ("device_type", cab.DeviceType.CUDA_MANAGED, ValueError, "<DeviceType.CUDA_MANAGED: 13>"),
    ("stream", "default", TypeError, "an object of type str"),
    ("stream", -1, ValueError, "-1"),
    ("mr", "pool", TypeError, "an object of type str"),
    ("requested_schema", "int32", TypeError, "an object of type str"),
    ("requested_schema", pa.Schema, TypeError, "an object of type type"),
]
OF_STREAMS = [
    ("max_rows", 2.0, TypeError, "2.0"),
    ("max_rows", True, TypeError, "True"),
    ("max_rows", 0, ValueError, "0"),
    ("max_rows", np.int8(-3), ValueError, "-3"),
]
OF_IMPORTS = [
    ("columns", "a", TypeError, "'a'"),
    ("to", "polars", ValueError, "'polars'"),
    ("to", ["cudf"], ValueError, "['cudf']"),
    ("validate", True, ValueError, "True"),
    ("sanitize", 1, ValueError, "1"),
    ("copy", "never", ValueError, "'never'"),
    ("stream", True, TypeError, "an object of type bool"),
    ("mr", 7, TypeError, "an object of type int"),
]
ROWS = [
    *((cab.to_arrow_device, FRAME, *row) for row in OF_EXPORTS),
    *((FRAME.arrow_device.export, None, *row) for row in OF_EXPORTS[:1]),
    *((cab.to_arrow_device_stream, FRAME, *row) for row in [*OF_EXPORTS, *OF_STREAMS]),
    *((cab.from_arrow_device, BATCH, *row) for row in OF_IMPORTS),
    (cab.from_arrow_device, BATCH, "kind", "frame", ValueError, "'frame'"),
    (cab.from_arrow_device, BATCH, "kind", pa.Table, ValueError, "an object of type type"),
    *((cab.from_arrow_device_stream, TABLE, *row) for row in OF_IMPORTS),
    (cab.from_arrow_device_stream, TABLE, "concat", None, ValueError, "None"),
    (cab.from_dlpack, np.arange(3), "copy", 0, ValueError, "0"),
    (cab.from_dlpack, np.arange(3), "kind", "matrix", ValueError, "'matrix'"),
    (cab.from_dlpack, np.arange(3), "to", "numpy", ValueError, "'numpy'"),
    (cab.from_cuda_array_interface, Interface(np.arange(3)), "to", "numpy", ValueError, "'numpy'"),
    (cab.ipc.open_file, b"", "max_bytes", True, TypeError, "True"),
    (cab.ipc.open_stream, b"", "max_bytes", -1, ValueError, "-1"),
    (cab.ipc.from_messages, [], "max_bytes", 1e9, TypeError, "1000000000.0"),
]


@pytest.mark.parametrize(("function", "source", "argument", "value", "error", "shown"), ROWS)
def test_wrong_value_of_an_argument_is_shown(function, source, argument, value, error, shown):
    arguments = [] if source is None else [source]
    with pytest.raises(error, match=rf"^{argument}: expected .* got {re.escape(shown)}($|:)"):
        function(*arguments, **{argument: value})


ARRAY, ITERABLE = cab.to_arrow_device, cab.from_arrow_device_stream
#: A function, an object that it does not accept, and its description in the message.
OBJECTS = [
    (ARRAY, "file.parquet", "an object of type str: to_arrow_device_stream reads the file of"),
    (ARRAY, [FRAME, FRAME], "an object of type list: to_arrow_device_stream takes several"),
    (ARRAY, iter([FRAME]), "an object of type list_iterator: to_arrow_device_stream takes several"),
    (ARRAY, {"a": [1]}, "an object of type dict: pyarrow.table makes a table of a dict"),
    (ARRAY, 42, "an object of type int"),
    (ARRAY, np.array([1]), "an object of type ndarray: from_dlpack imports tensors"),
    (
        ARRAY,
        SimpleNamespace(__cuda_array_interface__={}),
        "an object of type SimpleNamespace: from_cuda_array_interface imports tensors",
    ),
    (ARRAY, pl.LazyFrame({}), "an object of type LazyFrame: its collect() may give one"),
    (ARRAY, pa.Table, "the class Table"),
    (cab.to_arrow_device_stream, 42, "an object of type int"),
    (cab.from_arrow_device, None, "an object of type NoneType"),
    (cab.from_arrow_device, [BATCH], "an object of type list: from_arrow_device_stream takes"),
    (cab.from_arrow_device, np.array([1]), "an object of type ndarray: from_dlpack imports"),
    (cab.from_arrow_device, type(FRAME), "the class DataFrame"),
    *(
        (function, SimpleNamespace(__arrow_c_array__=None, __arrow_c_stream__=None), "an object of")
        for function in (ARRAY, cab.to_arrow_device_stream, cab.from_arrow_device, ITERABLE)
    ),
    (ITERABLE, None, "an object of type NoneType"),
    (ITERABLE, {"a": BATCH}, "an object of type dict: pyarrow.table"),
]


@pytest.mark.parametrize(("function", "obj", "found"), OBJECTS)
def test_object_that_is_not_accepted_is_described(function, obj, found):
    with pytest.raises(TypeError, match=f"^expected .* got {re.escape(found)}"):
        function(obj)


#: A call, the exception, and its message.
CALLS = {
    "import of a missing file": (
        lambda: cab.from_arrow_device("file.parquet"),
        FileNotFoundError,
        "No such file or directory: 'file.parquet'",
    ),
    "import of a column as a table": (
        lambda: cab.from_arrow_device(pa.array([1]), kind="table"),
        ValueError,
        "a table must be a struct, and the Arrow type is 'int64'",
    ),
    "stream of no arrays": (
        lambda: cab.from_arrow_device_stream([]),
        ValueError,
        "the iterable has no arrays: their schema is unknown$",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS)
def test_call_with_unsuitable_data_raises(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "argument", ["kind", "to", "validate", "sanitize", "mr", "stream", "columns"]
)
def test_import_with_a_wrong_argument_releases_the_producer(argument):
    producer = Producer(BATCH)
    with pytest.raises((TypeError, ValueError)):
        cab.from_arrow_device(producer, **{argument: "wrong"})
    producer.drop()
    gc.collect()
    assert (producer.releases, producer.schema_releases) == (1, 1)


@pytest.mark.parametrize(
    ("wanted", "shown", "others"),
    [("column", r"'column \d', 'column \d', 'column \d'", 997), ("price", "'column 0', .*", 980)],
)
def test_error_lists_the_nearest_or_20_of_1000_column_names(wanted, shown, others):
    wide = pa.record_batch({f"column {i}": [i] for i in range(1000)})
    match = rf"no fields have the names \['{wanted}'\]; the names are \[{shown}\] and {others} more"
    with pytest.raises(KeyError, match=match) as found:
        cab.from_arrow_device(wide, columns=[wanted])
    assert len(str(found.value)) < 1000
