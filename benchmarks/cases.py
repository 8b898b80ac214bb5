# SPDX-License-Identifier: Apache-2.0
"""What is measured in host memory: each case lets the same data cross by several ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

import cudf_arrow_bridge

from . import peers
from .data import COLUMN_TYPES, batch_of, ints
from .measure import Case, Contestant
from .ways import OURS, Handed, HandedStream, drain, export_of, round_trip_of, to_pylibcudf

__all__ = ["cases"]

_COLUMNS = (1, 10, 100, 1000)
_ROW_EXPONENTS = range(3, 9)


def _import_of(batch: pa.RecordBatch, take: Callable[[Any], Any]) -> Contestant:
    return Contestant(OURS, take, lambda: Handed(batch))


def _both(name: str, batch: pa.RecordBatch, at: tuple[str, int] | None = None) -> Iterator[Case]:
    ours = export_of(to_pylibcudf(batch))
    yield Case("export", name, (ours, *peers.exports(batch)), at)
    ours = _import_of(batch, to_pylibcudf)
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


def _frames() -> Iterator[Case]:
    """Ours is a frame of cuDF, theirs what they have: a batch."""
    for count in (1, 100):
        name = f"{count} x int64"
        batch = batch_of(ints, count, 1000)
        ours = export_of(cudf_arrow_bridge.from_arrow_device(batch))
        yield Case("frame export", name, (ours, *peers.exports(batch)))
        ours = _import_of(batch, cudf_arrow_bridge.from_arrow_device)
        yield Case("frame import", name, (ours, *peers.imports(batch)))


def _streams() -> Iterator[Case]:
    """Each call is a whole stream of many small batches, pulled and let go one by one."""
    batch_rows, count = 1000, 10_000
    whole = batch_of(ints, 10, batch_rows * count)
    split = pa.Table.from_batches([whole.slice(i * batch_rows, batch_rows) for i in range(count)])
    frame = cudf_arrow_bridge.from_arrow_device(whole)

    def theirs() -> None:
        drain(pa.RecordBatchReader.from_stream(HandedStream(split.to_reader())))

    def ours_out() -> None:
        stream = cudf_arrow_bridge.to_arrow_device_stream(frame, max_rows=batch_rows)
        drain(pa.RecordBatchReader.from_stream(HandedStream(stream)))

    def ours_in() -> None:
        drain(
            cudf_arrow_bridge.from_arrow_device_stream(
                HandedStream(split.to_reader()), to="pylibcudf", concat=False
            )
        )

    name = "10,000 batches of 1,000 x 10 x int64"
    peer = Contestant(peers.PYARROW, theirs)
    yield Case("stream export", name, (Contestant(OURS, ours_out), peer))
    yield Case("stream import", name, (Contestant(OURS, ours_in), peer))


def cases() -> Iterator[Case]:
    """All cases, each with its data, which is made when it is asked for."""
    for some in (_columns, _types, _rows, _frames, _streams):
        yield from some()
