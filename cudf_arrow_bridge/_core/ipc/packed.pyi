# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

from ..export.exported_array import ExportedArray
from ..protocols import Stream
from .body import BodyBuffer, IpcBody
from .body_decoder import BatchParts

def bodies_of(array: ExportedArray, is_table: bool, stream: Stream) -> list[IpcBody]: ...
def numbers_of(head: bytes, bodies: list[IpcBody]) -> bytes: ...
def buffers_of(bodies: list[IpcBody]) -> list[BodyBuffer]: ...
def read_parts(
    header: bytes,
    position: int,
    count: int,
    buffers: list[Any],
    is_packed: bool,
    is_on_device: bool,
    adopt_device: Callable[[Any], tuple[int, int, Any]],
) -> list[BatchParts]: ...
