# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pylibcudf as plc

from .protocols import Stream
from .schema import Schema

class ImportArguments:
    def __init__(
        self,
        stream: Stream,
        reader: Stream | None,
        mr: Any,
        copy: bool,
        validate: str,
        sanitize: bool,
    ) -> None: ...
    @property
    def sanitize(self) -> bool: ...

class ArrayImporter:
    def __init__(self, schema: object) -> None: ...
    @property
    def derived(self) -> dict[Any, Any]: ...
    @property
    def schema(self) -> Schema: ...
    def import_column(self, array: object, arguments: ImportArguments) -> plc.Column: ...
    def import_table(
        self, array: object, arguments: ImportArguments
    ) -> tuple[list[plc.Column], int]: ...

def importer_of(schema: object) -> ArrayImporter: ...
