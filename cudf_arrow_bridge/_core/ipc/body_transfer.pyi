# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any, Final

from ..protocols import Stream
from .body import IpcBody

class DeviceMemory:
    address: Final[int]
    size: Final[int]
    stream: Final[Stream]
    __cuda_array_interface__: Final[dict[str, Any]]

def upload_memory(source: Any, stream: Stream, mr: Any, chunk_size: int) -> DeviceMemory: ...
def upload_from(
    read_into: Callable[[memoryview], object],
    size: int,
    stream: Stream,
    mr: Any,
    chunk_size: int,
) -> DeviceMemory: ...
def download_to(write: Callable[[memoryview], object], body: IpcBody, chunk_size: int) -> None: ...
