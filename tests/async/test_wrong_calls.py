# SPDX-License-Identifier: Apache-2.0
"""Wrong calls of the asynchronous functions, and the errors that they raise."""

from __future__ import annotations

import pathlib

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.sources import batches, later

TABLE = pa.table({"a": [1, 2]})
NO_SOURCE = "an iterable of frames or arrays, or the function of a C producer, got"


def export_without_loop():
    cab.to_arrow_device_async(later(batches(1))).export_to(1)


#: A call, the exception, and the start of its message.
CALLS = {
    "no prefetch": (
        lambda: cab.from_arrow_device_async(TABLE, prefetch=0),
        ValueError,
        "prefetch: expected at least 1, got 0",
    ),
    "prefetch as a bool": (
        lambda: cab.from_arrow_device_async(TABLE, prefetch=True),
        TypeError,
        "prefetch: expected an integer, got True",
    ),
    "prefetch as a fraction": (
        lambda: cab.from_arrow_device_async(TABLE, prefetch=2.5),
        TypeError,
        "prefetch: expected an integer, got 2.5",
    ),
    "import a path": (
        lambda: cab.from_arrow_device_async("file.parquet"),
        TypeError,
        f".*{NO_SOURCE} an object of type str: to_arrow_device_stream reads the file",
    ),
    "import a pathlib path": (
        lambda: cab.from_arrow_device_async(pathlib.Path("file.parquet")),
        TypeError,
        f".*{NO_SOURCE} an object of type PosixPath",
    ),
    "import a dict": (
        lambda: cab.from_arrow_device_async({"a": [1]}),
        TypeError,
        f".*{NO_SOURCE} an object of type dict: pyarrow.table makes a table of a dict",
    ),
    "import a class": (
        lambda: cab.from_arrow_device_async(pa.Table),
        TypeError,
        f".*{NO_SOURCE} the class Table$",
    ),
    "import a number": (
        lambda: cab.from_arrow_device_async(5),
        TypeError,
        "expected .* got an object of type int",
    ),
    "import to something else": (
        lambda: cab.from_arrow_device_async(TABLE, to="numpy"),
        ValueError,
        "to: expected 'cudf', 'cudf.pandas' or 'pylibcudf', got 'numpy'",
    ),
    "import as something else": (
        lambda: cab.from_arrow_device_async(TABLE, kind="frame"),
        ValueError,
        "kind: expected 'table', 'column' or None, got 'frame'",
    ),
    "export a number": (
        lambda: cab.to_arrow_device_async(5),
        TypeError,
        "expected .* got an object of type int",
    ),
    "columns of a generator": (
        lambda: cab.to_arrow_device_async(later(batches(1)), columns=["a"]),
        ValueError,
        "columns: expected a path .* got an object of type async_generator",
    ),
    "batches without rows": (
        lambda: cab.to_arrow_device_async(later(batches(1)), max_rows=0),
        ValueError,
        "max_rows: expected at least 1, got 0",
    ),
    "export to no handler": (
        lambda: cab.to_arrow_device_async(TABLE).export_to(0),
        ValueError,
        r"the handler lacks a callback$",
    ),
    "export without a loop": (export_without_loop, RuntimeError, "no running event loop"),
}


@pytest.mark.parametrize(("call", "kind", "message"), CALLS.values(), ids=CALLS)
def test_wrong_call_raises_with_the_expected_values(call, kind, message):
    with pytest.raises(kind, match=f"^{message}"):
        call()
