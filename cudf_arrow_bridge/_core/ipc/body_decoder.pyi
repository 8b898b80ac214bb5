from collections.abc import Callable
from typing import Any, Final

from ..export.exported_array import ExportedArray
from ..protocols import Stream
from ..schema import Schema
from .metadata import Header

def aligned(buffer: Any) -> Any: ...
def take_buffers(buffers: list[Any], position: int, header: Header) -> tuple[list[Any], int]: ...

class BatchParts:
    has_bytes: Final[bool]
    location: Final[tuple[int, int]]
    def __init__(
        self,
        header: Header,
        buffers: list[Any],
        adopt_device: Callable[[Any], tuple[int, int, Any]],
        on_device: bool = False,
        frees_on_stream: bool = False,
    ) -> None: ...

class BodyDecoder:
    schema: Final[Schema]
    num_dictionaries: Final[int]
    def __init__(self, schema: object) -> None: ...
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
