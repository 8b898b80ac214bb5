# SPDX-License-Identifier: Apache-2.0
"""The same jobs with other libraries, for comparison."""

from __future__ import annotations

from typing import Any

import cudf
import nanoarrow.device
import pyarrow as pa
import pylibcudf as plc

from .exchanges import ArrayProtocolOnly
from .measure import Contestant

CUDF = "cuDF"
PYLIBCUDF = "pylibcudf"
PYARROW = "pyarrow"
NANOARROW = "nanoarrow"
CONTROL = "control"


def exports(array: pa.RecordBatch | pa.Array) -> tuple[Contestant, ...]:
    """Return the exports of a batch or a column that each library already has in its own form."""
    held = nanoarrow.device.c_device_array(ArrayProtocolOnly(array))
    return (
        Contestant(PYARROW, array.__arrow_c_device_array__),
        Contestant(NANOARROW, held.__arrow_c_device_array__),
    )


def imports(array: pa.RecordBatch | pa.Array) -> tuple[Contestant, ...]:
    """Return the imports of a batch or a column into the form that each library computes on."""

    def hand() -> ArrayProtocolOnly:
        return ArrayProtocolOnly(array)

    take = pa.array if isinstance(array, pa.Array) else pa.record_batch
    return Contestant(PYARROW, take, hand), Contestant(NANOARROW, _viewed, hand)


def round_trips(batch: pa.RecordBatch) -> tuple[Contestant, ...]:
    held = nanoarrow.device.c_device_array(ArrayProtocolOnly(batch))
    return (
        Contestant(PYARROW, lambda: pa.record_batch(ArrayProtocolOnly(batch))),
        Contestant(NANOARROW, lambda: _viewed(ArrayProtocolOnly(held))),
    )


def to_frame(table: plc.Table, names: list[str]) -> cudf.DataFrame:
    return cudf.DataFrame.from_pylibcudf(table, metadata={"columns": names})


def frame_export(frame: cudf.DataFrame) -> Contestant:
    """Return cuDF's own export, which returns pylibcudf columns without Arrow structs."""
    return Contestant(CUDF, frame.to_pylibcudf)


def frame_import(table: plc.Table, names: list[str]) -> Contestant:
    """Return cuDF's own import of existing pylibcudf columns."""
    return Contestant(CUDF, lambda: to_frame(table, names))


def control(table: plc.Table) -> Contestant:
    """Return the job that all cases on a GPU measure: pylibcudf's export of a table.

    Its time differs between cases, so times of different cases cannot be compared. Their ratios to
    the control of the same case can.
    """
    return Contestant(CONTROL, table.__arrow_c_device_array__)


def _viewed(array: Any) -> Any:
    # A CDeviceArray only stores two pointers, so its cost does not depend on the number of columns.
    # Its view reads and checks the schema and the array, and has the type and buffers of each
    # column. It creates no object per column, in contrast to our and pyarrow's imports.
    return nanoarrow.device.c_device_array(array).view()
