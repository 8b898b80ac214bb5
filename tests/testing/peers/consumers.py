# SPDX-License-Identifier: Apache-2.0
"""Libraries that import objects of the bridge and export them again, and the outcomes.

`dev/consumers_page.py` writes docs/consumers.md from the outcomes.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import cudf_arrow_bridge as cab

NUMBERS = pa.array([3, -1, 5, 7], pa.int64())
TABLE = pa.table({"number": NUMBERS, "text": pa.array(["a", "", None, "dé"])})

Seen = pa.Table | pa.ChunkedArray


@dataclass(frozen=True)
class Consumer:
    """A library that imports Arrow data.

    Attributes
    ----------
    name
        The name of the library on PyPI.
    modules
        The modules that its code uses.
    calls
        The code that imports an object `x`, by the kinds of objects that the library accepts.
    seen
        Returns the imported data for pyarrow, in the library's own memory where it can share that.
    names
        Returns a context with additional names for its code.
    """

    name: str
    modules: tuple[str, ...]
    calls: Mapping[str, str]
    seen: Callable[[Any], Seen]
    names: Callable[[], AbstractContextManager[dict[str, Any]]] = lambda: nullcontext({})

    @property
    def is_installed(self) -> bool:
        """Return whether the library's modules are installed."""
        return all(importlib.util.find_spec(name.split(".")[0]) for name in self.modules)

    @contextmanager
    def taking(self, kind: str, x: Any) -> Iterator[Any]:
        """Run the library's code on an object of a kind."""
        for module in self.modules:
            importlib.import_module(module)
        packages = {name.split(".")[0] for name in self.modules}
        names = {name: importlib.import_module(name) for name in packages}
        with self.names() as more:
            yield eval(self.calls[kind], {**names, **more, "x": x})


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: a word for the page, the library's data, or the error."""

    word: str
    seen: Seen | None = None
    error: Exception | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of object made from a frame, or from one column if `of_column` is set."""

    name: str
    make: Callable[[Any], Any]
    of_column: bool = False
    installed: bool = False


KINDS = (
    Kind("table", cab.to_arrow_device),
    Kind("column", lambda frame: cab.to_arrow_device(frame["number"]), of_column=True),
    Kind("stream", lambda frame: cab.to_arrow_device_stream(frame, max_rows=3)),
    Kind("frame", lambda frame: frame, installed=True),
    Kind("series", lambda frame: frame["number"], of_column=True, installed=True),
)


def hand_over(consumer: Consumer, kind: Kind) -> Outcome:
    """Import an object with a library; return whether the library shares the frame's memory."""
    if kind.name not in consumer.calls:
        return Outcome("-")
    frame = cab.from_arrow_device(TABLE)
    with cab.install_protocol() if kind.installed else nullcontext():
        try:
            with consumer.taking(kind.name, kind.make(frame)) as taken:
                seen = consumer.seen(taken)
        except Exception as error:
            return Outcome("refused", error=error)
    [owned] = TABLE["number"].chunks
    column = seen if isinstance(seen, pa.ChunkedArray) else seen["number"]
    is_shared = all(is_inside(chunk.buffers()[1], owned.buffers()[1]) for chunk in column.chunks)
    return Outcome("zero-copy" if is_shared else "copies", seen)


def take_back(consumer: Consumer, kind: Kind) -> Outcome:
    """Import a library's object with the bridge; return whether no copy was needed."""
    if kind.name not in consumer.calls:
        return Outcome("-")
    for copy, word in ((False, "zero-copy"), (None, "converted")):
        try:
            return Outcome(word, _taken_back(consumer, kind, copy))
        except ValueError as found:
            error = found
    return Outcome("refused", error=error)


def _taken_back(consumer: Consumer, kind: Kind, copy: bool | None) -> Seen:
    frame = cab.from_arrow_device(TABLE)
    with (
        cab.install_protocol() if kind.installed else nullcontext(),
        consumer.taking(kind.name, kind.make(frame)) as taken,
    ):
        result = cab.from_arrow_device(taken, copy=copy)
    return _chunked(cab.to_arrow_device(result).to_arrow())


def is_inside(part: pa.Buffer, whole: pa.Buffer) -> bool:
    """Return whether a buffer lies in another buffer."""
    begin = part.address - whole.address
    return begin >= 0 and begin + part.size <= whole.size


def _chunked(arrow: Any) -> Seen:
    if isinstance(arrow, pa.RecordBatch):
        return pa.Table.from_batches([arrow])
    return pa.chunked_array([arrow]) if isinstance(arrow, pa.Array) else arrow


def _by_protocol(taken: Any) -> Seen:
    """Import a library's object with pyarrow, through the PyCapsule protocols."""
    try:
        return pa.table(taken)
    except (TypeError, ValueError, pa.ArrowInvalid):
        return _chunked(pa.array(taken))


def _of_pandas(taken: Any) -> Seen:
    if taken.ndim == 2:
        return pa.Table.from_pandas(taken, preserve_index=False)
    return _chunked(pa.Array.from_pandas(taken))


class _Cursor:
    """A cursor of a database in memory, whose `adbc_ingest` returns the rows of the table."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def adbc_ingest(self, name: str, source: Any) -> pa.Table:
        assert self._cursor.adbc_ingest(name, source) == TABLE.num_rows
        self._cursor.execute(f"select * from {name}")
        return self._cursor.fetch_arrow_table()


@contextmanager
def _cursor() -> Iterator[dict[str, Any]]:
    from adbc_driver_sqlite import dbapi

    with dbapi.connect() as connection, connection.cursor() as cursor:
        yield {"cursor": _Cursor(cursor)}


def _tables(call: str) -> dict[str, str]:
    return dict.fromkeys(("table", "stream", "frame"), call)


def _columns(call: str) -> dict[str, str]:
    return dict.fromkeys(("column", "series"), call)


CONSUMERS = (
    Consumer(
        "pyarrow",
        ("pyarrow",),
        _tables("pyarrow.table(x)") | _columns("pyarrow.array(x)"),
        _chunked,
    ),
    Consumer(
        "polars",
        ("polars",),
        _tables("polars.DataFrame(x)") | _columns("polars.Series(x)"),
        lambda taken: _chunked(taken.to_arrow()),
    ),
    Consumer(
        "pandas",
        ("pandas",),
        _tables("pandas.DataFrame.from_arrow(x)") | _columns("pandas.Series.from_arrow(x)"),
        _of_pandas,
    ),
    Consumer(
        "duckdb", ("duckdb",), _tables("duckdb.from_arrow(x)"), lambda taken: taken.to_arrow_table()
    ),
    Consumer(
        "datafusion",
        ("datafusion",),
        _tables("datafusion.SessionContext().from_arrow(x)"),
        pa.table,
    ),
    Consumer(
        "narwhals",
        ("narwhals", "polars"),
        _tables("narwhals.from_arrow(x, backend='polars')"),
        lambda taken: taken.to_arrow(),
    ),
    Consumer(
        "ibis-framework", ("ibis",), _tables("ibis.memtable(x)"), lambda taken: taken.to_pyarrow()
    ),
    Consumer(
        "arro3-core",
        ("arro3.core",),
        _tables("arro3.core.Table.from_arrow(x)") | _columns("arro3.core.Array.from_arrow(x)"),
        _by_protocol,
    ),
    Consumer(
        "nanoarrow",
        ("nanoarrow",),
        _tables("nanoarrow.ArrayStream(x)") | _columns("nanoarrow.Array(x)"),
        _by_protocol,
    ),
    Consumer(
        "adbc-driver-sqlite",
        ("adbc_driver_sqlite",),
        _tables("cursor.adbc_ingest('t', x)"),
        lambda taken: taken,
        _cursor,
    ),
)
