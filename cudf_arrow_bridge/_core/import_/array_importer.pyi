# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any, Literal

import pylibcudf as plc

from ..export.array_exporter import InputExporter
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
    def share_columns(self, columns: Sequence[plc.Column]) -> list[plc.Column] | None: ...

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
def to_capsule(array: object) -> object: ...
def length_of(array: object) -> int: ...
def find_array(obj: Any, known_table: bool) -> SourceArray | None: ...
def importer_of(schema: object) -> ArrayImporter: ...

class SourceArray:
    schema_capsule: object
    array: object
    labels: tuple[Any, ...]
    first_row: int | None

    def __init__(
        self,
        schema_capsule: object,
        array: object,
        known_table: bool,
        labels: tuple[Any, ...],
        first_row: int | None,
    ) -> None: ...
    @staticmethod
    def of_columns(exporter: InputExporter) -> SourceArray: ...
    @property
    def is_of_rapids(self) -> bool: ...
    @property
    def array_capsule(self) -> object: ...
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
