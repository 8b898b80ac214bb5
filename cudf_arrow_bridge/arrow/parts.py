# SPDX-License-Identifier: Apache-2.0
"""What an export is made of: columns of pylibcudf, and what Arrow's schema says besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pylibcudf as plc

from .._core.schema import Schema
from .metadata import ColumnMetadata
from .sources import Kind

__all__ = ["Description", "Parts"]


@dataclass(slots=True)
class Description:
    """What is said of columns beside their data. Whatever is alike in all of it shares one.

    Attributes
    ----------
    fields
        The Arrow fields of the columns; of a table none, if these are to be named by position.
    metadata
        The schema's metadata; empty for an array.
    labels
        Labels that the metadata can only quote. Kept with the array in this process and passed to
        ``assemble_*``, they make the labels exact.
    schema
        The Arrow schema that these and the columns' types make, once it has been made.
    """

    fields: Sequence[ColumnMetadata]
    metadata: Mapping[bytes, bytes]
    labels: tuple[Any, ...] = ()
    schema: Schema | None = None


@dataclass(slots=True)
class Parts:
    """A cuDF object taken apart.

    Attributes
    ----------
    kind
        ``"table"`` for a record batch, ``"column"`` for an array.
    columns
        The columns.
    num_rows
        The number of rows, which a frame without columns has too.
    description
        What is said of them.
    owners
        What must stay alive while the memory is in use. It also keeps cuDF's copy-on-write from
        writing into that memory.
    """

    kind: Kind
    columns: Sequence[plc.Column]
    num_rows: int
    description: Description
    owners: tuple[Any, ...] = ()
