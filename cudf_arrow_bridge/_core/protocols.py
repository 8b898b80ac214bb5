# SPDX-License-Identifier: Apache-2.0
"""The types of arguments of the core that are not Cython classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

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


@dataclass(frozen=True, slots=True)
class ColumnMetadata:
    """The properties of one Arrow field that the libcudf type of its column does not contain.

    ``children`` are the children of the Arrow type, not of the libcudf type.

    Attributes
    ----------
    name
        The field name.
    nullable
        Whether the field may contain nulls. It does not depend on the data.
    timezone
        The time zone of a timestamp; empty if it has none.
    precision
        The precision of a decimal; 0 for the maximum of its width.
    ordered
        Whether the order of the dictionary values is meaningful.
    metadata
        The field's own key-value metadata, such as ``ARROW:extension:name``.
    children
        The element of a list, the fields of a struct, or the values field of a dictionary.
    imported_schema
        The capsule of the schema that the column was imported with; None for other columns. The
        column is exported with this schema again if its type allows it.
    """

    name: str = ""
    nullable: bool = True
    timezone: str = ""
    precision: int = 0
    ordered: bool = False
    metadata: Mapping[bytes, bytes] = field(default_factory=dict)
    children: tuple[ColumnMetadata, ...] = ()
    imported_schema: object | None = field(default=None, compare=False)
