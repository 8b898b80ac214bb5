# SPDX-License-Identifier: Apache-2.0
"""What an Arrow field says about a column beyond what libcudf's type says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["BRIDGE_KEY", "EXTENSION_METADATA", "EXTENSION_NAME", "PANDAS_KEY", "ColumnMetadata"]

BRIDGE_KEY = b"cudf_arrow_bridge"
PANDAS_KEY = b"pandas"
EXTENSION_NAME = b"ARROW:extension:name"
EXTENSION_METADATA = b"ARROW:extension:metadata"

_EMPTY: Mapping[bytes, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ColumnMetadata:
    """One Arrow field; ``children`` follow Arrow's children, not libcudf's.

    Attributes
    ----------
    name
        The field name.
    nullable
        Whether the field may hold nulls. It never depends on the data.
    timezone
        The time zone of a timestamp, empty when it has none.
    precision
        The precision of a decimal; 0 stands for the most its width holds.
    ordered
        Whether the order of a dictionary's values means something.
    metadata
        The field's own key-value metadata, such as ``ARROW:extension:name``.
    children
        A list's one element, a struct's fields, a dictionary's one values field.
    """

    name: str = ""
    nullable: bool = True
    timezone: str = ""
    precision: int = 0
    ordered: bool = False
    metadata: Mapping[bytes, bytes] = field(default_factory=lambda: _EMPTY)
    children: tuple[ColumnMetadata, ...] = ()
