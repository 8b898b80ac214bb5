# SPDX-License-Identifier: Apache-2.0
"""What is measured in host memory: each case lets the same data cross by several ways."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

import cudf_arrow_bridge

from . import conversions, peers
from .data import COLUMN_TYPES, batch_of, ints
from .measure import Case, Contestant
from .ways import (
    OURS,
    HandedStream,
    drain,
    export_of,
    import_of,
    round_trip_of,
    to_pylibcudf,
)

__all__ = ["cases"]

_COLUMNS = (1, 10, 100, 1000)
_ROW_EXPONENTS = range(3, 9)
_BATCH_ROWS = 1000  # of a stream


def _both(name: str, batch: pa.RecordBatch, at: tuple[str, int] | None = None) -> Iterator[Case]:
    ours = export_of(to_pylibcudf(batch))
    yield Case("export", name, (ours, *peers.exports(batch)), at)
    ours = import_of(batch, to_pylibcudf)
    yield Case("import", name, (ours, *peers.imports(batch)), at)


def _columns() -> Iterator[Case]:
    for count in _COLUMNS:
        name, at = f"{count} x int64", ("columns", count)
        batch = batch_of(ints, count, 1000)
        yield from _both(name, batch, at)
        ours = round_trip_of(to_pylibcudf(batch))
        yield Case("round trip", name, (ours, *peers.round_trips(batch)), at)


def _types() -> Iterator[Case]:
    for name, make in COLUMN_TYPES.items():
        if make is not ints:
            yield from _both(f"100 x {name}", batch_of(make, 100, 1000))


def _rows() -> Iterator[Case]:
    """Show that nobody's cost depends on the number of rows."""
    for exponent in _ROW_EXPONENTS:
        rows = 10**exponent
        yield from _both(f"1 x int64, 1e{exponent} rows", batch_of(ints, 1, rows), ("rows", rows))


def _arrays() -> Iterator[Case]:
    """One column by itself, not in a batch."""
    array = ints(1000)
    ours = export_of(to_pylibcudf(array))
    yield Case("column export", "int64", (ours, *peers.exports(array)))
    ours = import_of(array, to_pylibcudf)
    yield Case("column import", "int64", (ours, *peers.imports(array)))


def _frames() -> Iterator[Case]:
    """Ours is a frame of cuDF; theirs, where they have none, a batch."""
    for count in _COLUMNS:
        name, at = f"{count} x int64", ("columns", count)
        batch = batch_of(ints, count, 1000)
        frame = cudf_arrow_bridge.from_arrow_device(batch)
        peer = peers.frame_export(frame)
        yield Case("frame export", name, (export_of(frame), *peers.exports(batch), peer), at)
        ours = import_of(batch, cudf_arrow_bridge.from_arrow_device)
        peer = peers.frame_import(to_pylibcudf(batch), batch.schema.names)
        yield Case("frame import", name, (ours, *peers.imports(batch), peer), at)


def _batches(count: int) -> tuple[pa.RecordBatch, list[pa.RecordBatch]]:
    """One batch, and the small ones that it consists of."""
    whole = batch_of(ints, 10, _BATCH_ROWS * count)
    return whole, [whole.slice(i * _BATCH_ROWS, _BATCH_ROWS) for i in range(count)]


def _pull(table: pa.Table) -> None:
    drain(pa.RecordBatchReader.from_stream(HandedStream(table.to_reader())))


def _streams() -> Iterator[Case]:
    """Each call is a whole stream of many small batches, pulled and let go one by one."""
    count = 10_000
    whole, batches = _batches(count)
    table = pa.Table.from_batches(batches)
    frame = cudf_arrow_bridge.from_arrow_device(whole)

    def ours_out() -> None:
        stream = cudf_arrow_bridge.to_arrow_device_stream(frame, max_rows=_BATCH_ROWS)
        drain(pa.RecordBatchReader.from_stream(HandedStream(stream)))

    def ours_in() -> None:
        drain(
            cudf_arrow_bridge.from_arrow_device_stream(
                HandedStream(table.to_reader()), to="pylibcudf", concat=False
            )
        )

    name = f"{count:,} batches of 10 x int64"
    peer = Contestant(peers.PYARROW, lambda: _pull(table))
    yield Case("stream export", name, (Contestant(OURS, ours_out), peer), jobs=count)
    yield Case("stream import", name, (Contestant(OURS, ours_in), peer), jobs=count)


def _streams_to_frames() -> Iterator[Case]:
    """The same into frames; fewer, as each of them takes longer."""
    count = 100
    _, batches = _batches(count)
    table = pa.Table.from_batches(batches)
    ready = [to_pylibcudf(batch) for batch in batches]
    names = table.schema.names

    def ours() -> None:
        drain(
            cudf_arrow_bridge.from_arrow_device_stream(
                HandedStream(table.to_reader()), concat=False
            )
        )

    yield Case(
        "stream to frames",
        f"{count} batches of 10 x int64",
        (
            Contestant(OURS, ours),
            Contestant(peers.PYARROW, lambda: _pull(table)),
            Contestant(peers.CUDF, lambda: drain(peers.to_frame(one, names) for one in ready)),
        ),
        jobs=count,
    )


def cases(conversion_rows: int = 1_000_000) -> Iterator[Case]:
    """All cases, each with its data, which is made when it is asked for.

    Parameters
    ----------
    conversion_rows
        The rows of what is converted; nothing else costs more with more rows.
    """
    for some in (_columns, _types, _rows, _arrays, _frames, _streams, _streams_to_frames):
        yield from some()
    yield from conversions.cases(conversion_rows)
