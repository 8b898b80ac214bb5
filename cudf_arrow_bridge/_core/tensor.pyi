# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence

import pylibcudf as plc

from .import_.array_importer import ImportArguments
from .protocols import Stream

class Tensor:
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    typestr: str
    def make_wait(self, stream: int) -> None: ...
    def release_after(self, freed: Stream | None, reader: int) -> None: ...
    def wait(self) -> None: ...
    def capsule(self, versioned: bool, device_type: int) -> object: ...

class BufferProtocol:
    def __buffer__(self, flags: int, /) -> memoryview: ...

def tensor_of(
    schema: object, array: object, copy: bool | None, stream: Stream | None
) -> Tensor: ...
def tensor_of_buffer(schema: object, array: object, index: int, size: int) -> Tensor: ...
def is_dlpack_capsule(obj: object) -> bool: ...
def import_dlpack(
    capsule: object, arguments: ImportArguments
) -> tuple[list[plc.Column], int, bool]: ...
def memory_of_dlpack(
    capsule: object,
) -> tuple[int, tuple[int, ...], tuple[int, ...], int, object]: ...
def import_memory(
    owner: object,
    address: int,
    shape: Sequence[int],
    strides: Sequence[int],
    kind: str,
    itemsize: int,
    stream: int | None,
    arguments: ImportArguments,
) -> tuple[list[plc.Column], int, bool]: ...
