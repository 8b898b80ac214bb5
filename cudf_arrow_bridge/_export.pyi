# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from typing import Any

import pylibcudf as plc

from ._schema import Schema
from .exporting import ExportOptions
from .metadata import ColumnMetadata
from .streams import Stream

class ExportedArray:
    device_type: int
    device_id: int
    length: int
    null_count: int
    offset: int
    is_released: bool
    stream: Stream | None
    children: list[ExportedArray]
    dictionary: ExportedArray | None
    def share(self) -> ExportedArray: ...
    def device_array_capsule(self) -> object: ...
    def array_capsule(self) -> object: ...
    def to_host(self, stream: Stream) -> ExportedArray: ...
    def release(self) -> None: ...
    def buffers(self) -> list[tuple[str, int, int, bool]]: ...

def export_column(
    column: plc.Column,
    metadata: ColumnMetadata,
    owner: Any,
    how: ExportOptions,
    requested: object | None,
) -> tuple[Schema, ExportedArray]: ...
def export_table(
    columns: tuple[plc.Column, ...],
    fields: list[ColumnMetadata],
    num_rows: int,
    metadata: Mapping[bytes, bytes],
    owner: Any,
    how: ExportOptions,
    requested: object | None,
) -> tuple[Schema, ExportedArray]: ...

class BatchSource: ...

def slice_column(
    column: plc.Column, metadata: ColumnMetadata, max_rows: int, owner: Any, how: ExportOptions
) -> BatchSource: ...
def slice_table(
    columns: tuple[plc.Column, ...],
    fields: list[ColumnMetadata],
    num_rows: int,
    metadata: Mapping[bytes, bytes],
    max_rows: int,
    owner: Any,
    how: ExportOptions,
) -> BatchSource: ...
def single_batch(schema: Schema, array: ExportedArray) -> BatchSource: ...
