# SPDX-License-Identifier: Apache-2.0
"""The errors in docs/troubleshooting.md and errors.md, and the counts in architecture.md."""

import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge import _load
from cudf_arrow_bridge._load import build_info
from cudf_arrow_bridge.arrow.errors import check_host_copy
from testing.peers.arrays import struct_of

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = [
    pytest.mark.skipif(cab.has_gpu(), reason="exports and imports in host memory"),
    pytest.mark.skipif(
        not build_info.LIBCUDF_VERSION.startswith("26.10"), reason="pages describe RAPIDS 26.10"
    ),
]


def import_table(data, **options):
    return cab.from_arrow_device(pa.table(data), **options)


def exported(values=(1,)):
    return cab.to_arrow_device(import_table({"x": [*values]}))


def import_descending_offsets():
    offsets = pa.py_buffer(np.array([0, 5, 3], np.int32))
    strings = pa.Array.from_buffers(pa.utf8(), 2, [None, offsets, pa.py_buffer(b"abcde")])
    import_table({"s": strings}, validate="full")


def import_list_view_beyond_the_elements():
    offset, size = (pa.py_buffer(np.array([number], np.int32)) for number in (1, 2))
    views = pa.list_view(pa.int32())
    elements = [pa.array([1, 2], pa.int32())]
    import_table({"l": pa.Array.from_buffers(views, 1, [None, offset, size], children=elements)})


def read_device_memory_with_pyarrow():
    class OnGpu:
        def __arrow_c_device_array__(self, requested_schema=None):
            schema, array = pa.array([1]).__arrow_c_device_array__()
            struct_of(array).device_type = cab.DeviceType.CUDA
            return schema, array

    pa.array(OnGpu())


def consume_generator_twice():
    stream = cab.to_arrow_device_stream(batch for batch in [import_table({"x": [1]})])
    pa.table(stream)
    pa.table(stream)


def export_released_array():
    array = exported()
    array.release()
    array.to_arrow()


def import_array_of_another_schema():
    class Contradiction:
        def __arrow_c_array__(self, requested_schema=None):
            schema, _ = pa.record_batch({"a": [1]}).__arrow_c_array__()
            return schema, pa.array([1]).__arrow_c_array__()[1]

    cab.from_arrow_device(Contradiction())


def export_nulls_to_a_field_that_is_not_nullable():
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    cab.to_arrow_device(import_table({"x": [None, 1]}), requested_schema=schema)


def read_from_a_failing_producer():
    def batches():
        yield import_table({"x": [1]})
        raise OSError("disk full")

    pa.table(cab.to_arrow_device_stream(batches()))


DECIMAL256 = {"d": pa.array([1], pa.decimal256(50, 2))}
EQUAL_NAMES = pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"])

#: The causes of the headings of docs/troubleshooting.md, in their order.
CAUSES = [
    lambda: import_table(DECIMAL256),
    lambda: cab.from_arrow_device(EQUAL_NAMES),
    lambda: import_table({"b": [True]}, copy=False),
    lambda: check_host_copy(cab.DeviceType.CUDA, False),
    read_device_memory_with_pyarrow,
    consume_generator_twice,
    export_released_array,
    lambda: np.from_dlpack(exported([1, None])["x"]),
    lambda: import_table({"x": [1]}, columns=["y"]),
    import_descending_offsets,
    lambda: _load.check_release("26.10.02", "26.08.00"),
    lambda: import_table({"x": [1]})["x"].sum(),
]

#: The causes of the rows of docs/errors.md, in their order. tests/cuda tests the RuntimeError, and
#: tests/_load those for missing extras. A failed allocation has no cause that is safe to run.
EXCEPTIONS = [
    (TypeError, lambda: cab.from_arrow_device(object())),
    (TypeError, lambda: import_table(DECIMAL256)),
    (TypeError, lambda: cab.from_arrow_device(EQUAL_NAMES)),
    (TypeError, lambda: pickle.dumps(cab.to_arrow_device_stream(exported()))),
    (ValueError, lambda: cab.to_arrow_device_stream(exported(), max_rows=0)),
    (ValueError, import_array_of_another_schema),
    (ValueError, import_descending_offsets),
    (ValueError, import_list_view_beyond_the_elements),
    (ValueError, lambda: import_table({"b": [True]}, copy=False)),
    (ValueError, export_nulls_to_a_field_that_is_not_nullable),
    (ValueError, export_released_array),
    (ValueError, lambda: cab.ipc.open_file(b"not an Arrow file")),
    (KeyError, lambda: import_table({"x": [1]}, columns=["y"])),
    (IndexError, lambda: exported()[5]),
    (OverflowError, lambda: cab.from_arrow_device(pa.nulls(2**31))),
    (BufferError, lambda: np.from_dlpack(exported([1, None])["x"])),
    (FileNotFoundError, lambda: cab.to_arrow_device_stream("missing.parquet")),
    (OSError, read_from_a_failing_producer),
    (RuntimeError, None),
    (ImportError, lambda: _load.check_release("26.10.02", "26.08.00")),
    (AttributeError, None),
    (ModuleNotFoundError, None),
    (MemoryError, None),
]


def test_troubleshooting_page_quotes_the_messages():
    _, _, errors = (DOCS / "troubleshooting.md").read_text().partition("## Errors\n")
    messages = re.findall("^### (.*)$", errors.partition("\n## ")[0], re.MULTILINE)
    for message, cause in zip(messages, CAUSES, strict=True):
        with pytest.raises(Exception, match=re.escape(message)):
            cause()


def test_errors_page_names_the_exceptions():
    table, _, _ = (DOCS / "errors.md").read_text().partition("Every function")
    names = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert names == [expected.__name__ for expected, _ in EXCEPTIONS]
    for expected, cause in EXCEPTIONS:
        if cause is not None:
            with pytest.raises(expected) as raised:
                cause()
            assert raised.type is expected


def calls_of(exchange):
    """Return how many Python functions of the package are called, without comprehensions.

    The exchange runs twice, since the first one fills the cache of schemas.
    """

    def count(frame, event, argument):
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        is_own = module.startswith("cudf_arrow_bridge.") and name[0] != "<"
        called.append(event == "call" and is_own)

    exchange()
    called = []
    sys.setprofile(count)
    exchange()
    sys.setprofile(None)
    return sum(called)


def test_architecture_page_counts_the_calls_of_an_export_and_of_imports(monkeypatch):
    monkeypatch.undo()  # removes the checks of columns, which call more functions
    table = pa.table({"a": [1, 2, 3]})
    frame = cab.from_arrow_device(table)
    exchanges = [
        lambda: cab.to_arrow_device(frame).__arrow_c_device_array__(),
        lambda: cab.from_arrow_device(table, to="pylibcudf"),
        lambda: cab.from_arrow_device(table, to="cudf"),
    ]
    page = (DOCS / "architecture.md").read_text()
    counts = re.findall(r"with (\d+) calls|and (\d+) with `to=\"cudf\"`", page)
    assert [*map(calls_of, exchanges)] == [int(first or second) for first, second in counts]
