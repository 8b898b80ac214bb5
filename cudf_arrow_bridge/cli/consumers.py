# SPDX-License-Identifier: Apache-2.0
"""Other Arrow libraries that import what the bridge exports."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def consume(exported: Any) -> tuple[pa.RecordBatch, str]:
    """Let another library import an export, and read its columns into pyarrow.

    Parameters
    ----------
    exported : DeviceArray
        A table: pyarrow imports it in CPU memory, pylibcudf elsewhere.

    Returns
    -------
    pyarrow.RecordBatch
        What the library sees.
    str
        Its name and version.
    """
    if exported.device_type.name == "CPU":
        return pa.record_batch(OnlyProtocol(exported)), f"pyarrow {pa.__version__}"
    import pylibcudf

    table = pylibcudf.Table.from_arrow(OnlyProtocol(exported))
    host = table.to_arrow([_metadata(field) for field in exported.schema])
    columns = [column.combine_chunks() for column in host.columns]
    batch = pa.RecordBatch.from_arrays(columns, names=exported.schema.names)
    return batch, f"pylibcudf {pylibcudf.__version__}"


class OnlyProtocol:
    """Has only the protocol of device arrays, so that a consumer cannot take a shortcut."""

    def __init__(self, exported: Any) -> None:
        self._exported = exported

    def __arrow_c_device_array__(
        self, requested_schema: object = None, **kwargs: object
    ) -> tuple[object, object]:
        """Pass the call on."""
        capsules: tuple[object, object] = self._exported.__arrow_c_device_array__(
            requested_schema, **kwargs
        )
        return capsules


def _metadata(field: pa.Field) -> Any:
    """Return what pylibcudf does not read from the schema: names, time zone, precision."""
    from pylibcudf.interop import ColumnMetadata

    arrow_type = field.type
    children = [_metadata(arrow_type.field(i)) for i in range(arrow_type.num_fields)]
    if pa.types.is_list(arrow_type):
        # libcudf counts the offsets as a list's first child.
        children.insert(0, ColumnMetadata(name="offsets"))
    return ColumnMetadata(
        name=field.name,
        timezone=arrow_type.tz or "" if pa.types.is_timestamp(arrow_type) else "",
        precision=arrow_type.precision if pa.types.is_decimal(arrow_type) else None,
        children_meta=children,
    )
