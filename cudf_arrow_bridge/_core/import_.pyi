# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pylibcudf as plc

from .protocols import ImportOptions, Stream
from .schema import Schema

def import_column(
    schema: object, array: object, stream: Stream, mr: Any, options: ImportOptions
) -> plc.Column: ...
def import_table(
    schema: object, array: object, stream: Stream, mr: Any, options: ImportOptions
) -> tuple[list[plc.Column], int]: ...

class ArrayImporter:
    def __init__(self, stream: Stream, mr: Any, options: ImportOptions, schema: Schema) -> None: ...
    def import_column(self, array: object) -> plc.Column: ...
    def import_table(self, array: object) -> tuple[list[plc.Column], int]: ...
