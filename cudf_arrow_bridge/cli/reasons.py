# SPDX-License-Identifier: Apache-2.0
"""Why a column was copied on a round trip."""

from __future__ import annotations

from types import ModuleType

import pyarrow as pa

from cudf_arrow_bridge.arrow.copies import reasons_of
from cudf_arrow_bridge.arrow.report import ColumnReport
from cudf_arrow_bridge.arrow.types import describe
from cudf_arrow_bridge.cli.bridge import one_line


def reasons_to_convert(
    bridge: ModuleType, source: pa.Array, exported: ColumnReport, device: str
) -> list[str]:
    """Say why a column has not the memory of its source, on the way in and out.

    Parameters
    ----------
    bridge : module
        `cudf_arrow_bridge`.
    source : pyarrow.Array
        The column.
    exported : ColumnReport
        The report on its export.
    device : str
        Where the frame is. To the GPU all is uploaded, which says nothing of the column: there the
        type table tells what becomes of it.
    """
    reasons = []
    if device == "CPU":
        try:
            bridge.from_arrow_device(pa.RecordBatch.from_arrays([source], [""]), copy=False)
        except ValueError as error:
            reasons = reasons_of(error) or [one_line(error)]
    else:
        crossing = describe(source.type)
        reasons = [crossing.note] if crossing.support == "converted" else []
    return list(dict.fromkeys(reasons + [exported.reason] * bool(exported.reason)))
