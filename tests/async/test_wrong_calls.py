# SPDX-License-Identifier: Apache-2.0
"""Calls of the asynchronous functions as somebody new might make them, and what they are told."""

from __future__ import annotations

import pathlib

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.sources import batches, later

TABLE = pa.table({"a": [1, 2]})
NO_SOURCE = "an iterable of frames or arrays, or a producer's function expected"


def export_without_loop():
    cab.to_arrow_device_async(later(batches(1))).export_to(1)


#: A call, the exception, and how its message begins.
CALLS = {
    "no prefetch": (
        lambda: cab.from_arrow_device_async(TABLE, prefetch=0),
        ValueError,
        "prefetch=0 found, at least 1 expected",
    ),
    "prefetch as a bool": (
        lambda: cab.from_arrow_device_async(TABLE, prefetch=True),
        TypeError,
        "prefetch=True found, an integer expected",
    ),
    "prefetch as a fraction": (
        lambda: cab.from_arrow_device_async(TABLE, prefetch=2.5),
        TypeError,
        "prefetch=2.5 found, an integer expected",
    ),
    "import a path": (
        lambda: cab.from_arrow_device_async("file.parquet"),
        TypeError,
        f"an object of type str found, .*{NO_SOURCE}: to_arrow_device_stream reads the file",
    ),
    "import a pathlib path": (
        lambda: cab.from_arrow_device_async(pathlib.Path("file.parquet")),
        TypeError,
        f"an object of type PosixPath found, .*{NO_SOURCE}",
    ),
    "import a dict": (
        lambda: cab.from_arrow_device_async({"a": [1]}),
        TypeError,
        f"an object of type dict found, .*{NO_SOURCE}: pyarrow.table makes a table of a dict",
    ),
    "import a class": (
        lambda: cab.from_arrow_device_async(pa.Table),
        TypeError,
        f"the class Table found, .*{NO_SOURCE}",
    ),
    "import a number": (
        lambda: cab.from_arrow_device_async(5),
        TypeError,
        "an object of type int found",
    ),
    "import to something else": (
        lambda: cab.from_arrow_device_async(TABLE, to="numpy"),
        ValueError,
        "to='numpy' found, 'cudf', 'cudf.pandas' or 'pylibcudf' expected",
    ),
    "import as something else": (
        lambda: cab.from_arrow_device_async(TABLE, kind="frame"),
        ValueError,
        "kind='frame' found",
    ),
    "export a number": (
        lambda: cab.to_arrow_device_async(5),
        TypeError,
        "an object of type int found",
    ),
    "columns of what is no file": (
        lambda: cab.to_arrow_device_async(later(batches(1)), columns=["a"]),
        ValueError,
        "columns= with an object of type async_generator found, only with paths",
    ),
    "batches without rows": (
        lambda: cab.to_arrow_device_async(later(batches(1)), max_rows=0),
        ValueError,
        "max_rows=0 found, at least 1 expected",
    ),
    "export to no handler": (
        lambda: cab.to_arrow_device_async(TABLE).export_to(0),
        ValueError,
        "a handler without all of its callbacks found",
    ),
    "export without a loop": (export_without_loop, RuntimeError, "no running event loop"),
}


@pytest.mark.parametrize(("call", "kind", "message"), CALLS.values(), ids=CALLS)
def test_a_wrong_call_is_told_what_is_expected(call, kind, message):
    with pytest.raises(kind, match=f"^{message}"):
        call()
