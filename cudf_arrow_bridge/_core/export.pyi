# SPDX-License-Identifier: Apache-2.0
from .protocols import ExportInput, ExportOptions, Stream
from .schema import Schema

class ExportedArray:
    device_type: int
    device_id: int
    length: int
    null_count: int
    offset: int
    is_released: bool
    stream: Stream | None
    children: list[ExportedArray]
    dictionary: ExportedArray | None
    def share(self) -> ExportedArray: ...
    def device_array_capsule(self) -> object: ...
    def array_capsule(self) -> object: ...
    def to_host(self, stream: Stream) -> ExportedArray: ...
    def release(self) -> None: ...
    def buffers(self) -> list[tuple[str, int, int, bool]]: ...

def export_array(
    export_input: ExportInput, options: ExportOptions, requested_schema: object | None
) -> tuple[Schema, ExportedArray]: ...

class BatchSource: ...

def export_slices(
    export_input: ExportInput,
    max_rows: int,
    options: ExportOptions,
    requested_schema: object | None,
) -> BatchSource: ...
def single_batch(schema: Schema, array: ExportedArray) -> BatchSource: ...
