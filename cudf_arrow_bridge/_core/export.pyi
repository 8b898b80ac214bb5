# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, TypeVar

import pylibcudf as plc

from .protocols import Stream
from .schema import Schema, SchemaSpec

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
    def __arrow_c_device_array__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> tuple[object, object]: ...
    def as_requested(self, requested: object | None) -> Self: ...
    def described_as(self, other: DescribedArray) -> Self: ...

class ExportInput:
    @property
    def kind(self) -> Literal["table", "column"]: ...
    @property
    def columns(self) -> tuple[plc.Column, ...]: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def schema_spec(self) -> SchemaSpec: ...
    def __init__(
        self,
        kind: Literal["table", "column"],
        columns: Sequence[plc.Column],
        num_rows: int,
        schema_spec: SchemaSpec,
    ) -> None: ...

# `Any` for None where an object is neither: pylibcudf's classes are unknown to type checkers.
def pylibcudf_input(
    obj: object,
    spec_of_column: Callable[[bytes], SchemaSpec],
    spec_of_table: Callable[[bytes], SchemaSpec],
) -> Any: ...

class ExportArguments:
    @property
    def stream(self) -> Stream: ...
    @property
    def compact(self) -> bool: ...
    @property
    def managed_as_cuda(self) -> bool: ...
    @property
    def handle(self) -> int: ...
    def __init__(
        self, stream: Stream, compact: bool = False, managed_as_cuda: bool = False
    ) -> None: ...

Array = TypeVar("Array", bound=DescribedArray)

def export_array(
    export_input: ExportInput,
    arguments: ExportArguments,
    requested_schema: object | None,
    exporter: Any,
    array_type: type[Array],
) -> Array: ...

class InputExporter:
    @property
    def export_input(self) -> ExportInput: ...
    @property
    def arguments(self) -> ExportArguments: ...
    def __init__(self, export_input: ExportInput, arguments: ExportArguments) -> None: ...
    def export(self, requested_schema: object | None, array_type: type[Array]) -> Array: ...

class BatchSource: ...

def export_slices(
    export_input: ExportInput,
    max_rows: int,
    arguments: ExportArguments,
    requested_schema: object | None,
) -> BatchSource: ...
def single_batch(schema: Schema, array: ExportedArray) -> BatchSource: ...
