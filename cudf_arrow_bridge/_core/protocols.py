# SPDX-License-Identifier: Apache-2.0
"""The types of arguments of the core that have no class there."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from .export.exported_array import DescribedArray

Array = TypeVar("Array", bound="DescribedArray")
BytesLike = bytes | bytearray | memoryview
Codec = Literal["lz4_frame", "zstd"]
#: The kind of an Arrow array: a record batch or any other array.
Kind = Literal["table", "column"]
#: Address, size and reason of memory that was allocated for an export.
CopiedBuffer = tuple[int, int, str]


class Stream(Protocol):
    """A CUDA stream, with its handle on the calling thread."""

    @property
    def handle(self) -> int: ...
    @property
    def is_freed_by_thread(self) -> bool: ...


class ColumnMetadata(Protocol):
    """The parts of the field of a column that do not depend on its type."""

    @property
    def name(self) -> str: ...
    @property
    def nullable(self) -> bool: ...
    @property
    def timezone(self) -> str: ...
    @property
    def precision(self) -> int: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def metadata(self) -> Mapping[bytes, bytes]: ...
    @property
    def children(self) -> Sequence[Any]: ...
    @property
    def imported_schema(self) -> object | None: ...
