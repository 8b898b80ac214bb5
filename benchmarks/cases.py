# SPDX-License-Identifier: Apache-2.0
"""What is measured in host memory: each case lets the same data cross by several ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

import cudf_arrow_bridge

from .data import COLUMN_TYPES, batch_of, ints
from .measure import Case, Contestant
from .ways import OURS, Handed, HandedStream, drain, export_of, to_pylibcudf

__all__ = ["cases"]

PEER = "pyarrow"


def _export(group: str, name: str, batch: pa.RecordBatch) -> Case:
    ours = export_of(OURS, to_pylibcudf(batch))
    return Case(group, name, (ours, Contestant(PEER, batch.__arrow_c_device_array__)))


def _import(
    group: str,
    name: str,
    batch: pa.RecordBatch,
    take: Callable[[Any], Any] = to_pylibcudf,
) -> Case:
    def hand() -> Handed:
        return Handed(batch)

    ours = Contestant(OURS, take, hand)
    return Case(group, name, (ours, Contestant(PEER, pa.record_batch, hand)))


def _both(name: str, batch: pa.RecordBatch) -> Iterator[Case]:
    yield _export("export", name, batch)
    yield _import("import", name, batch)


def _columns() -> Iterator[Case]:
    for count in (1, 10, 100, 1000):
        yield from _both(f"{count} x int64", batch_of(ints, count, 1000))


def _types() -> Iterator[Case]:
    for name, make in COLUMN_TYPES.items():
        if make is not ints:
            yield from _both(f"100 x {name}", batch_of(make, 100, 1000))


def _rows() -> Iterator[Case]:
    """Both contestants are ours: the cost must not depend on the number of rows."""
    for dtype in ("int8", "int64"):
        many, few = (
            batch_of(lambda rows, dtype=dtype: ints(rows, dtype), 1, rows)
            for rows in (100_000_000, 1000)
        )
        exports = (
            export_of(f"{label} rows", to_pylibcudf(batch))
            for label, batch in (("1e8", many), ("1e3", few))
        )
        yield Case("export", f"1 x {dtype}, 1e8 rows", tuple(exports))
        imports = (
            Contestant(f"{label} rows", to_pylibcudf, lambda batch=batch: Handed(batch))
            for label, batch in (("1e8", many), ("1e3", few))
        )
        yield Case("import", f"1 x {dtype}, 1e8 rows", tuple(imports))


def _frames() -> Iterator[Case]:
    for count in (1, 100):
        name = f"{count} x int64"
        batch = batch_of(ints, count, 1000)
        ours = export_of(OURS, cudf_arrow_bridge.from_arrow_device(batch))
        theirs = Contestant(PEER, batch.__arrow_c_device_array__)
        yield Case("frame export", name, (ours, theirs))
        yield _import("frame import", name, batch, cudf_arrow_bridge.from_arrow_device)


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
    yield Case("stream export", name, (Contestant(OURS, ours_out), Contestant(PEER, theirs)))
    yield Case("stream import", name, (Contestant(OURS, ours_in), Contestant(PEER, theirs)))


def cases() -> list[Case]:
    """All cases, with their data."""
    return [*_columns(), *_types(), *_rows(), *_frames(), *_streams()]
