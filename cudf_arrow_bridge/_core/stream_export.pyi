# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from typing import Any

from .export import BatchSource
from .exported_array import ExportedArray
from .protocols import Stream
from .schema import Schema

class StreamState:
    error: BaseException | None
    labels: tuple[Any, ...]
    stream: Stream | None
    started: bool
    given_schema: Schema | None
    requested_schema: Schema | None
    refusal: ValueError | None
    first_row: int

class ExportedStream:
    state: StreamState
    is_at_start: bool
    is_read: bool
    def __init__(
        self, sources: Iterator[BatchSource], state: StreamState, schema: Schema | None
    ) -> None: ...
    def claim(self) -> bool: ...
    def unclaim(self) -> None: ...
    def request(self, schema: Schema) -> None: ...
    def next(self) -> tuple[Schema, ExportedArray, int] | None: ...
    def schema(self) -> Schema: ...
    def device_type(self) -> int: ...
    def device_stream_capsule(self) -> object: ...
    def stream_capsule(self) -> object: ...
    def release(self) -> None: ...
