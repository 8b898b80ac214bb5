# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pylibcudf as plc

from .protocols import Stream

class Tensor:
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    typestr: str
    def make_wait(self, stream: int) -> None: ...
    def wait(self) -> None: ...
    def capsule(self, versioned: bool, device_type: int) -> object: ...

def tensor_of(
    schema: object, array: object, copy: bool | None, stream: Stream | None
) -> Tensor: ...
def tensor_of_buffer(schema: object, array: object, index: int, size: int) -> Tensor: ...
def is_dlpack_capsule(obj: object) -> bool: ...
def import_dlpack(
    capsule: object, stream: Stream, reader: Stream | None, mr: Any, copy: bool | None
) -> tuple[list[plc.Column], int, bool]: ...
def import_memory(
    owner: Any,
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    kind: str,
    size: int,
    producer: int | None,
    stream: Stream,
    reader: Stream | None,
    mr: Any,
    copy: bool | None,
) -> tuple[list[plc.Column], int, bool]: ...
