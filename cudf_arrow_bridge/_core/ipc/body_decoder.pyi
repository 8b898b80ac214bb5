from collections.abc import Callable
from typing import Any

from ..export.exported_array import ExportedArray
from ..protocols import Stream
from ..schema import Schema
from .metadata import Header

def aligned(buffer: Any) -> Any: ...
def take_buffers(buffers: list[Any], position: int, header: Header) -> tuple[list[Any], int]: ...

class BatchParts:
    @property
    def has_bytes(self) -> bool: ...
    @property
    def location(self) -> tuple[int, int]: ...
    def __init__(
        self,
        header: Header,
        buffers: list[Any],
        adopt_device: Callable[[Any], tuple[int, int, Any]],
        on_device: bool = False,
        is_decompressed: bool = False,
        frees_on_stream: bool = False,
    ) -> None: ...

class BodyDecoder:
    def __init__(self, schema: object) -> None: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def num_dictionaries(self) -> int: ...
    def dictionary_schema(self, index: int) -> Schema: ...
    def end_of_dictionary(self, index: int) -> int: ...
    def decode(
        self,
        parts: BatchParts,
        dictionaries: list[ExportedArray | None],
        checks: str,
        stream: Stream,
        location: tuple[int, int],
        index: int = -1,
    ) -> ExportedArray: ...
