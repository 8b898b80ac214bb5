# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any, Literal, Self

from ..protocols import Stream

class ExportedArray:
    device_type: int
    device_id: int
    length: int
    null_count: int
    offset: int
    is_released: bool
    stream: Stream | None
    num_children: int
    children: list[ExportedArray]
    dictionary: ExportedArray | None
    def child(self, position: int) -> ExportedArray: ...
    def share(self) -> ExportedArray: ...
    def on_stream(self, stream: Stream) -> ExportedArray: ...
    def device_array_capsule(self) -> object: ...
    def array_capsule(self) -> object: ...
    def is_ready(self) -> bool: ...
    def to_host(self, stream: Stream) -> ExportedArray: ...
    def copy(self, stream: Stream, mr: Any = None) -> ExportedArray: ...
    def slice(self, offset: int, length: int, is_table: bool) -> ExportedArray: ...
    def select(self, indices: Sequence[int]) -> ExportedArray: ...
    def release(self) -> None: ...
    def buffers(self) -> list[tuple[str, int, int, str]]: ...

class DescribedArray:
    _source: Any
    _arguments: Any
    _array: ExportedArray
    _arrow_schema: Any
    _kind: Literal["table", "column"]
    _labels: tuple[Any, ...]
    _first_row: int | None
    def __init__(
        self,
        array: ExportedArray,
        arrow_schema: Any,
        kind: str,
        labels: tuple[Any, ...] = (),
        first_row: int | None = None,
        arguments: Any = None,
        source: Any = None,
    ) -> None: ...
    def __arrow_c_device_array__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> tuple[object, object]: ...
    def _described_as(self, other: DescribedArray) -> Self: ...
