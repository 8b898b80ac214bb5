# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from typing import Any

import pylibcudf as plc

from ._schema import Schema
from .metadata import ColumnMetadata

class ExportedArray:
    device_type: int
    device_id: int
    length: int
    null_count: int
    offset: int
    is_released: bool
    children: list[ExportedArray]
    dictionary: ExportedArray | None
    def device_array_capsule(self) -> object: ...
    def array_capsule(self) -> object: ...
    def release(self) -> None: ...
    def buffers(self) -> list[tuple[str, int, int, bool]]: ...

def export_column(
    column: plc.Column, metadata: ColumnMetadata, owner: Any, stream: int, mr: Any, compact: bool
) -> tuple[Schema, ExportedArray]: ...
def export_table(
    columns: tuple[plc.Column, ...],
    fields: list[ColumnMetadata],
    num_rows: int,
    metadata: Mapping[bytes, bytes],
    owner: Any,
    stream: int,
    mr: Any,
    compact: bool,
) -> tuple[Schema, ExportedArray]: ...
