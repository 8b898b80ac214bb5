# SPDX-License-Identifier: Apache-2.0
"""The cases on a GPU, against pylibcudf's own interop, and cuDF's for frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import cudf
import pyarrow as pa
import pylibcudf as plc

import cudf_arrow_bridge

from . import peers
from .data import batch_of, ints
from .exchanges import ArrayProtocolOnly, export_of, import_of, round_trip_of, to_pylibcudf
from .measure import Case, Contestant


def settle() -> None:
    """Wait for the work of earlier samples, so that it is not measured as part of the next."""
    from cuda.bindings import runtime

    (error,) = runtime.cudaDeviceSynchronize()
    if error != runtime.cudaError_t.cudaSuccess:
        raise RuntimeError(error.name)


def _tables(name: str, at: tuple[str, int], table: plc.Table) -> Iterator[Case]:
    theirs = Contestant(peers.PYLIBCUDF, table.__arrow_c_device_array__)
    yield Case("gpu export", name, (export_of(table), theirs), at, settle)

    ours = import_of(cudf_arrow_bridge.to_arrow_device(table), to_pylibcudf)
    theirs = Contestant(peers.PYLIBCUDF, plc.Table.from_arrow, ours.prepare)
    yield Case("gpu import", name, (ours, theirs), at, settle)

    theirs = Contestant(peers.PYLIBCUDF, lambda: plc.Table.from_arrow(ArrayProtocolOnly(table)))
    yield Case("gpu round trip", name, (round_trip_of(table), theirs), at, settle)


def _frames(
    name: str, at: tuple[str, int], table: plc.Table, batch: pa.RecordBatch
) -> Iterator[Case]:
    """Yield the cases of frames. pylibcudf has no frames and uses tables."""
    names = batch.schema.names
    frame = peers.to_frame(table, names)
    theirs = Contestant(peers.PYLIBCUDF, table.__arrow_c_device_array__)
    contestants = (export_of(frame), theirs, peers.frame_export(frame))
    yield Case("gpu frame export", name, contestants, at, settle)

    ours = import_of(cudf_arrow_bridge.to_arrow_device(table), cudf_arrow_bridge.from_arrow_device)
    theirs = Contestant(peers.PYLIBCUDF, plc.Table.from_arrow, ours.prepare)
    contestants = (ours, theirs, peers.frame_import(table, names))
    yield Case("gpu frame import", name, contestants, at, settle)

    # From host memory, since cuDF's own interop supports only that.
    ours = import_of(batch, cudf_arrow_bridge.from_arrow_device)
    host = pa.Table.from_batches([batch])
    theirs = Contestant(peers.CUDF, lambda: cudf.DataFrame.from_arrow(host))
    yield Case("gpu frame upload", name, (ours, theirs), at, settle)


def cases() -> Iterator[Case]:
    """Yield all cases, with their data in device memory and the control as the last contestant."""
    control = peers.control(_on_device(batch_of(ints, 1, 1000)))
    for count in (1, 10, 100, 1000):
        name, at = f"{count} x int64", ("columns", count)
        batch = batch_of(ints, count, 1000)
        table = _on_device(batch)
        for case in chain(_tables(name, at, table), _frames(name, at, table, batch)):
            yield replace(case, contestants=(*case.contestants, control))


def _on_device(batch: pa.RecordBatch) -> plc.Table:
    return plc.Table.from_arrow(pa.Table.from_batches([batch]))
