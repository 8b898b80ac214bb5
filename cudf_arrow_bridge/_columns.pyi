# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterable
from typing import Any

import pylibcudf as plc

def array_interface(ptr: int, size: int) -> dict[str, Any]: ...

class HeldSpan:
    ptr: int
    size: int
    owner: object
    __cuda_array_interface__: dict[str, Any]
    def __init__(self, ptr: int, size: int, owner: object) -> None: ...

def rebuild(
    column: plc.Column, take: Callable[[Any], Any], children: list[plc.Column]
) -> plc.Column: ...
def rebuild_all(column: plc.Column, take: Callable[[Any], Any]) -> plc.Column: ...
def types_of(columns: Iterable[plc.Column]) -> bytes: ...
