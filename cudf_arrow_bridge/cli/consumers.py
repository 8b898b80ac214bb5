# SPDX-License-Identifier: Apache-2.0
"""Other Arrow libraries that import the exports."""

from __future__ import annotations

from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._build_info import PACKAGE_SUFFIX
from cudf_arrow_bridge.cli.compare import one_batch


def consume(exported: cab.DeviceArray | cab.DeviceArrayStream) -> tuple[pa.RecordBatch, str]:
    """Import an export with another library; return the data that it reads, its name and version.

    pyarrow imports it in CPU memory. Otherwise pylibcudf, which has no stream protocol, imports
    each batch.
    """
    if exported.device_type.name == "CPU":
        is_array = isinstance(exported, cab.DeviceArray)
        protocol = "__arrow_c_device_array__" if is_array else "__arrow_c_stream__"
        return one_batch(pa.table(only(exported, protocol))), f"pyarrow {pa.__version__}"
    import pylibcudf

    arrays = [exported] if isinstance(exported, cab.DeviceArray) else exported
    metadata = [_metadata(field) for field in exported.schema]
    tables = [
        pylibcudf.Table.from_arrow(only(array, "__arrow_c_device_array__")).to_arrow(metadata)
        for array in arrays
    ]
    # The default options allow that only some of the tables have nulls.
    table = pa.concat_tables(tables, promote_options="default")
    name = f"pylibcudf{PACKAGE_SUFFIX}"
    return one_batch(table), f"pylibcudf {version(name)}"


def only(exported: Any, protocol: str) -> Any:
    """Return an object that has only one method of an export, to exclude other interfaces."""
    return SimpleNamespace(**{protocol: getattr(exported, protocol)})


def _metadata(field: pa.Field) -> Any:
    """Return the metadata that pylibcudf does not read: names, time zone, precision."""
    from pylibcudf.interop import ColumnMetadata

    arrow_type = field.type
    children = [_metadata(arrow_type.field(i)) for i in range(arrow_type.num_fields)]
    if pa.types.is_list(arrow_type):
        # In libcudf the offsets are the first child of a list.
        children.insert(0, ColumnMetadata(name="offsets"))
    return ColumnMetadata(
        name=field.name,
        timezone=arrow_type.tz or "" if pa.types.is_timestamp(arrow_type) else "",
        precision=arrow_type.precision if pa.types.is_decimal(arrow_type) else None,
        children_meta=children,
    )
