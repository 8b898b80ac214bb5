# SPDX-License-Identifier: Apache-2.0
"""The cases in host memory. Each case transfers the same data in several ways."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

import cudf_arrow_bridge

from . import conversions, peers
from .data import COLUMN_TYPES, batch_of, ints
from .exchanges import (
    OURS,
    StreamProtocolOnly,
    drain,
    export_of,
    import_of,
    round_trip_of,
    to_pylibcudf,
)
from .measure import Case, Contestant

_COLUMNS = (1, 10, 100, 1000)
_ROW_EXPONENTS = range(3, 9)
_BATCH_ROWS = 1024  # rows of each batch of a stream, a multiple of 512 so that exports keep it


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
    """Show that the cost does not depend on the number of rows."""
    for exponent in _ROW_EXPONENTS:
        rows = 10**exponent
        yield from _both(f"1 x int64, 1e{exponent} rows", batch_of(ints, 1, rows), ("rows", rows))


def _arrays() -> Iterator[Case]:
    """Yield the cases of a single column without a batch."""
    array = ints(1000)
    ours = export_of(to_pylibcudf(array))
    yield Case("column export", "int64", (ours, *peers.exports(array)))
    ours = import_of(array, to_pylibcudf)
    yield Case("column import", "int64", (ours, *peers.imports(array)))


def _frames() -> Iterator[Case]:
    """Yield the cases of cuDF frames. Peers without frames use a batch."""
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
    """Return a batch and the small batches that it is split into."""
    whole = batch_of(ints, 10, _BATCH_ROWS * count)
    return whole, [whole.slice(i * _BATCH_ROWS, _BATCH_ROWS) for i in range(count)]


def _pull(table: pa.Table) -> None:
    drain(pa.RecordBatchReader.from_stream(StreamProtocolOnly(table.to_reader())))


def _streams() -> Iterator[Case]:
    """Yield the cases of streams. A call reads many small batches and drops them one by one."""
    count = 10_000
    whole, batches = _batches(count)
    table = pa.Table.from_batches(batches)
    frame = cudf_arrow_bridge.from_arrow_device(whole)

    def ours_out() -> None:
        stream = cudf_arrow_bridge.to_arrow_device_stream(frame, max_rows=_BATCH_ROWS)
        drain(pa.RecordBatchReader.from_stream(StreamProtocolOnly(stream)))

    def ours_in() -> None:
        drain(
            cudf_arrow_bridge.from_arrow_device_stream(
                StreamProtocolOnly(table.to_reader()), to="pylibcudf", concat=False
            )
        )

    name = f"{count:,} batches of 10 x int64"
    peer = Contestant(peers.PYARROW, lambda: _pull(table))
    yield Case("stream export", name, (Contestant(OURS, ours_out), peer), jobs=count)
    yield Case("stream import", name, (Contestant(OURS, ours_in), peer), jobs=count)


def _streams_to_frames() -> Iterator[Case]:
    """Yield the case of a stream into frames, with fewer batches, as each of them takes longer."""
    count = 100
    _, batches = _batches(count)
    table = pa.Table.from_batches(batches)
    ready = [to_pylibcudf(batch) for batch in batches]
    names = table.schema.names

    def ours() -> None:
        drain(
            cudf_arrow_bridge.from_arrow_device_stream(
                StreamProtocolOnly(table.to_reader()), concat=False
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
    """Yield all cases. The data of a case is created when the case is requested.

    Parameters
    ----------
    conversion_rows
        The number of rows in the conversion cases. The cost of other cases does not depend on it.
    """
    for some in (_columns, _types, _rows, _arrays, _frames, _streams, _streams_to_frames):
        yield from some()
    yield from conversions.cases(conversion_rows)
