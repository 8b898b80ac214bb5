# SPDX-License-Identifier: Apache-2.0
"""What an export is made of: columns of pylibcudf, and what Arrow's schema says besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pylibcudf as plc

from .metadata import ColumnMetadata

__all__ = ["Parts"]


@dataclass
class Parts:
    """A cuDF object taken apart.

    Attributes
    ----------
    columns, fields
        The columns and their Arrow fields, pairwise.
    num_rows
        The number of rows, which a frame without columns has too.
    metadata
        The schema's metadata; empty for an array.
    kind
        ``"table"`` for a record batch, ``"column"`` for an array.
    labels
        Labels that the metadata can only quote. Kept with the array in this process and passed to
        ``assemble_*``, they make the labels exact.
    owners
        What must stay alive while the memory is in use. It also keeps cuDF's copy-on-write from
        writing into that memory.
    """

    columns: Sequence[plc.Column]
    fields: list[ColumnMetadata]
    num_rows: int
    metadata: dict[bytes, bytes]
    kind: Literal["table", "column"]
    labels: tuple[Any, ...]
    owners: tuple[Any, ...]
