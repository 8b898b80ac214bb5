# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeVar

import pylibcudf as plc

from ..protocols import Stream
from ..schema import Schema, SchemaSpec
from .exported_array import DescribedArray, ExportedArray

#: Address, size and reason of memory that was allocated for an export.
MadeMemory = tuple[int, int, str]

class ExportInput:
    kind: Final[Literal["table", "column"]]
    columns: Final[tuple[plc.Column, ...]]
    num_rows: Final[int]
    schema_spec: Final[SchemaSpec]
    made: Final[tuple[MadeMemory, ...]]
    freed_on: Final[Stream | None]
    def __init__(
        self,
        kind: Literal["table", "column"],
        columns: Sequence[plc.Column],
        num_rows: int,
        schema_spec: SchemaSpec,
        made: Sequence[MadeMemory] = (),
        freed_on: Stream | None = None,
    ) -> None: ...

# Returns `Any` instead of `ExportInput | None`: pylibcudf's classes are unknown to type checkers.
def pylibcudf_input(
    obj: object,
    spec_of: Callable[
        [Literal["table", "column"], tuple[plc.Column, ...]], tuple[SchemaSpec, list[object]]
    ],
) -> Any: ...

class ExportArguments:
    stream: Final[Stream]
    compact: Final[bool]
    managed_as_cuda: Final[bool]
    mr: Final[Any]
    @property
    def handle(self) -> int: ...
    copy: Final[bool | None]
    def __init__(
        self,
        stream: Stream,
        compact: bool = False,
        managed_as_cuda: bool = False,
        mr: Any = None,
        copy: bool | None = None,
    ) -> None: ...

Array = TypeVar("Array", bound=DescribedArray)

class InputExporter:
    export_input: Final[ExportInput]
    arguments: Final[ExportArguments]
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
