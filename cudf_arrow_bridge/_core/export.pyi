# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import pylibcudf as plc

from .protocols import ExportOptions, SchemaSpec, Stream
from .schema import Schema

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

class DescribedArray:
    _exporter: Any
    _array: ExportedArray
    _arrow_schema: Any
    _kind: str
    _labels: tuple[Any, ...]
    _first_row: int | None
    def __init__(
        self,
        array: ExportedArray,
        arrow_schema: Any,
        kind: str,
        labels: tuple[Any, ...] = (),
        first_row: int | None = None,
        exporter: Any = None,
    ) -> None: ...
    def capsules(self) -> tuple[object, object]: ...

class ExportInput:
    kind: Literal["table", "column"]
    columns: Sequence[plc.Column]
    num_rows: int
    schema_spec: Any
    def __init__(
        self,
        kind: Literal["table", "column"],
        columns: Sequence[plc.Column],
        num_rows: int,
        schema_spec: SchemaSpec,
    ) -> None: ...

Result = TypeVar("Result")

def export_array(
    export_input: ExportInput,
    options: ExportOptions,
    requested_schema: object | None,
    exporter: Any,
    make_result: Callable[..., Result],
) -> Result: ...

class BatchSource: ...

def export_slices(
    export_input: ExportInput,
    max_rows: int,
    options: ExportOptions,
    requested_schema: object | None,
) -> BatchSource: ...
def single_batch(schema: Schema, array: ExportedArray) -> BatchSource: ...
