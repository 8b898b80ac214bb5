# SPDX-License-Identifier: Apache-2.0
"""What an export is made of: columns of pylibcudf, and what Arrow's schema says besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pylibcudf as plc

from .._core.export import export_parts
from .._core.schema import Schema
from .device_array import DeviceArray, Exporter
from .metadata import ColumnMetadata
from .options import ExportOptions, Kind

__all__ = ["Description", "Parts", "Recent", "export", "parts_of_column"]

Key = TypeVar("Key")
Value = TypeVar("Value")


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


def parts_of_column(column: plc.Column) -> Parts:
    """Return what an export of a column, of which nothing else is known, is made of."""
    return Parts("column", [column], column.size(), Description([ColumnMetadata()], {}))


def export(
    parts: Parts,
    how: ExportOptions,
    requested: object | None = None,
    exporter: Exporter | None = None,
) -> DeviceArray:
    """Export columns.

    Parameters
    ----------
    parts
        The columns, and what is said of them.
    how
        How to export them.
    requested
        The capsule of a schema that a consumer would rather have.
    exporter
        Exports the same again as another consumer asks for.
    """
    schema, array = export_parts(parts, how, requested)
    return DeviceArray(array, schema, parts.kind, parts.description.labels, exporter=exporter)


class Recent(Generic[Key, Value]):
    """Remembers the last few values under keys that need not be hashable.

    Parameters
    ----------
    most
        How many to remember.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        # Replaced as a whole, so that threads need no lock.
        self._entries: tuple[tuple[Key, Value], ...] = ()

    def find(self, is_same: Callable[[Key], bool]) -> Value | None:
        """Return the value of the latest key that passes."""
        for key, value in self._entries:
            if is_same(key):
                return value
        return None

    def add(self, key: Key, value: Value) -> None:
        """Remember a value, and forget the oldest of many."""
        self._entries = ((key, value), *self._entries[: self._most - 1])
