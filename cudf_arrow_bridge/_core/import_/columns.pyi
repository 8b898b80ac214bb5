# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterable
from typing import Any

import pylibcudf as plc

class Span:
    ptr: int
    size: int
    nbytes: int
    is_allocated: bool
    __cuda_array_interface__: dict[str, Any]

class OwningSpan(Span):
    owner: object
    def __init__(self, ptr: int, size: int, owner: object) -> None: ...

def table_of(columns: Iterable[plc.Column], num_rows: int) -> plc.Table: ...
def rebuild(
    column: plc.Column, make_span: Callable[[Any], Any], children: list[plc.Column]
) -> plc.Column: ...
def rebuild_all(column: plc.Column, make_span: Callable[[Any], Any]) -> plc.Column: ...
def main_span(column: plc.Column) -> Any: ...
def types_of(columns: Iterable[plc.Column]) -> bytes: ...
