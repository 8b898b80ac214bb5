# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pylibcudf as plc

from ..protocols import Stream
from ..schema import Schema

class ImportArguments:
    def __init__(
        self,
        stream: Stream,
        reader: Stream | None,
        mr: Any,
        copy: bool | None,
        validate: str,
        sanitize: bool,
    ) -> None: ...

class ArrayImporter:
    derived: dict[Any, Any]

    def __init__(self, schema: object) -> None: ...
    @property
    def schema(self) -> Schema: ...
    def import_array(
        self, array: object, is_table: bool, arguments: ImportArguments
    ) -> tuple[list[plc.Column], int, list[tuple[int, int, str]]]: ...
    def table(
        self, columns: list[plc.Column], num_rows: int, first_row: int | None
    ) -> plc.Table: ...
    def column(
        self, columns: list[plc.Column], num_rows: int, first_row: int | None
    ) -> plc.Column: ...

def select_children(schema: object, array: object, positions: Sequence[int]) -> None: ...
def find_array(obj: Any, are_tables: Callable[[type], bool]) -> SourceArray | None: ...
def importer_of(schema: object) -> ArrayImporter: ...

class SourceArray:
    schema_capsule: object
    array_capsule: object
    labels: tuple[Any, ...]
    first_row: int | None

    def __init__(
        self,
        schema_capsule: object,
        array_capsule: object,
        known_table: bool,
        labels: tuple[Any, ...],
        first_row: int | None,
    ) -> None: ...
    @property
    def kind(self) -> Literal["table", "column"]: ...
    @property
    def importer(self) -> ArrayImporter: ...
    @property
    def device_type(self) -> int: ...
    def length(self) -> int: ...
    def __arrow_c_device_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
