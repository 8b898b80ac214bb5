# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import pylibcudf as plc

from ..protocols import Stream
from ..schema import Schema, SchemaSpec
from .exported_array import DescribedArray, ExportedArray

#: Address, size and reason of memory that was allocated for an export.
MadeMemory = tuple[int, int, str]

class ExportInput:
    @property
    def kind(self) -> Literal["table", "column"]: ...
    @property
    def columns(self) -> tuple[plc.Column, ...]: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def schema_spec(self) -> SchemaSpec: ...
    @property
    def made(self) -> tuple[MadeMemory, ...] | None: ...
    def __init__(
        self,
        kind: Literal["table", "column"],
        columns: Sequence[plc.Column],
        num_rows: int,
        schema_spec: SchemaSpec,
        made: Sequence[MadeMemory] = (),
    ) -> None: ...

# Returns `Any` instead of `ExportInput | None`: pylibcudf's classes are unknown to type checkers.
def pylibcudf_input(
    obj: object,
    spec_of_column: Callable[[bytes], SchemaSpec],
    spec_of_table: Callable[[bytes], SchemaSpec],
    spec_of_fields: Callable[
        [Literal["table", "column"], tuple[plc.Column, ...]], tuple[SchemaSpec, list[object]]
    ],
) -> Any: ...

class ExportArguments:
    @property
    def stream(self) -> Stream: ...
    @property
    def compact(self) -> bool: ...
    @property
    def managed_as_cuda(self) -> bool: ...
    @property
    def mr(self) -> Any: ...
    @property
    def handle(self) -> int: ...
    @property
    def copy(self) -> bool | None: ...
    def __init__(
        self,
        stream: Stream,
        compact: bool = False,
        managed_as_cuda: bool = False,
        mr: Any = None,
        copy: bool | None = None,
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

def schema_of_input(export_input: ExportInput) -> Schema: ...

class BatchSource: ...

def export_slices(
    export_input: ExportInput,
    max_rows: int,
    arguments: ExportArguments,
    requested_schema: object | None,
) -> BatchSource: ...
def single_batch(schema: Schema, array: ExportedArray) -> BatchSource: ...
