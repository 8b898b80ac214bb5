# SPDX-License-Identifier: Apache-2.0
"""pyarrow as the consumer of the exports."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cli.compare import one_batch


def consume(exported: cab.DeviceArray | cab.DeviceArrayStream) -> tuple[pa.RecordBatch, str]:
    """Import an export with pyarrow; return the data and the name and version of the consumer.

    pyarrow cannot read device memory, so it imports a copy in CPU memory.
    """
    consumer = f"pyarrow {pa.__version__}"
    if exported.device_type.name == "CPU":
        is_array = isinstance(exported, cab.DeviceArray)
        protocol = "__arrow_c_device_array__" if is_array else "__arrow_c_stream__"
        return one_batch(pa.table(only(exported, protocol))), consumer
    arrays = [exported] if isinstance(exported, cab.DeviceArray) else exported
    copies = [only(array.to_host(), "__arrow_c_device_array__") for array in arrays]
    table = pa.Table.from_batches(map(pa.record_batch, copies), exported.schema)
    return one_batch(table), f"{consumer}, with a copy in CPU memory"


def only(exported: Any, protocol: str) -> Any:
    """Return an object that has only one method of an export, to exclude other interfaces."""
    return SimpleNamespace(**{protocol: getattr(exported, protocol)})
