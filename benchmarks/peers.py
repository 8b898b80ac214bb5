# SPDX-License-Identifier: Apache-2.0
"""How others do the same: what ours stands beside."""

from __future__ import annotations

from typing import Any

import cudf
import nanoarrow.device
import pyarrow as pa
import pylibcudf as plc

from .measure import Contestant
from .ways import Handed

__all__ = [
    "CUDF",
    "NANOARROW",
    "PYARROW",
    "exports",
    "frame_export",
    "frame_import",
    "imports",
    "round_trips",
    "to_frame",
]

CUDF = "cuDF"
PYARROW = "pyarrow"
NANOARROW = "nanoarrow"


def exports(array: pa.RecordBatch | pa.Array) -> tuple[Contestant, ...]:
    """Of a batch or a column that each holds as what it computes on, made before."""
    held = nanoarrow.device.c_device_array(Handed(array))
    return (
        Contestant(PYARROW, array.__arrow_c_device_array__),
        Contestant(NANOARROW, held.__arrow_c_device_array__),
    )


def imports(array: pa.RecordBatch | pa.Array) -> tuple[Contestant, ...]:
    """Of a batch or a column that each takes as what it computes on."""

    def hand() -> Handed:
        return Handed(array)

    take = pa.array if isinstance(array, pa.Array) else pa.record_batch
    return Contestant(PYARROW, take, hand), Contestant(NANOARROW, _viewed, hand)


def round_trips(batch: pa.RecordBatch) -> tuple[Contestant, ...]:
    held = nanoarrow.device.c_device_array(Handed(batch))
    return (
        Contestant(PYARROW, lambda: pa.record_batch(Handed(batch))),
        Contestant(NANOARROW, lambda: _viewed(Handed(held))),
    )


def to_frame(table: plc.Table, names: list[str]) -> cudf.DataFrame:
    return cudf.DataFrame.from_pylibcudf(table, metadata={"columns": names})


def frame_export(frame: cudf.DataFrame) -> Contestant:
    """As far as cuDF goes by itself: to libcudf's columns, without Arrow's structs."""
    return Contestant(CUDF, frame.to_pylibcudf)


def frame_import(table: plc.Table, names: list[str]) -> Contestant:
    """Of libcudf's columns that are there already."""
    return Contestant(CUDF, lambda: to_frame(table, names))


def _viewed(array: Any) -> Any:
    # A CDeviceArray only keeps two pointers, whatever they point to: the same for 1 column and for
    # 1000. Its view is what reads schema and array, checks one by the other, and knows each
    # column's type and buffers. It makes no object per column; ours and pyarrow's imports do.
    return nanoarrow.device.c_device_array(array).view()
