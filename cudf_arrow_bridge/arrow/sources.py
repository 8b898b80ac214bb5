# SPDX-License-Identifier: Apache-2.0
"""Arrays to import: the protocols that are tried, in order, and the capsules they give."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pylibcudf as plc

from .._core.capsules import device_array_capsule_from_array, length_of
from .._core.import_ import ArrayImporter, ImportArguments, importer_of
from .._core.schema import is_struct, marks_table
from .device_array import DeviceArray
from .options import Kind, check_kind
from .schemas import as_field, as_schema

__all__ = [
    "STREAM_PROTOCOLS",
    "ImportedColumns",
    "SourceArray",
    "find_array",
    "has_array_protocol",
    "import_columns",
    "open_array",
]

#: Columns, and their number of rows.
ImportedColumns = tuple[list[plc.Column], int]

#: The protocols of streams in the order of preference: device memory first.
STREAM_PROTOCOLS = ("__arrow_c_device_stream__", "__arrow_c_stream__")


@dataclass(slots=True)
class SourceArray:
    """One array that a producer handed over.

    Attributes
    ----------
    schema_capsule, array_capsule
        ``arrow_schema`` and ``arrow_device_array``; an import consumes the latter.
    known_table
        Whether the object is known to be a table, whatever its schema's flags.
    labels
        Labels without a JSON form, of a `DeviceArray` that this process exported.
    first_row
        For a batch of a stream, the number of rows before it: where its part of a range index
        begins. None for a single array.
    """

    schema_capsule: object
    array_capsule: object
    known_table: bool
    labels: tuple[Any, ...]
    first_row: int | None = None

    def kind(self, requested: Kind | None) -> Kind:
        """Decide by object and schema, never by the data, whether this is a table or a column.

        Parameters
        ----------
        requested
            What the caller says it is, or None.

        Raises
        ------
        ValueError
            If `requested` is neither.
        """
        if (kind := check_kind(requested)) is not None:
            return kind
        if self.known_table and is_struct(self.schema_capsule):
            return "table"
        return "table" if marks_table(self.schema_capsule) else "column"

    def length(self) -> int:
        """Return the number of rows that the array claims."""
        return length_of(self.array_capsule)

    def importer(self) -> ArrayImporter:
        """Return what imports arrays of this schema."""
        return importer_of(self.schema_capsule)

    def schema(self) -> pa.Schema:
        """Return a record batch's schema."""
        return as_schema(self.schema_capsule)

    def field(self) -> pa.Field:
        """Return an array's field."""
        return as_field(self.schema_capsule)


def _pair(capsules: Any) -> tuple[object, object]:
    if not isinstance(capsules, (tuple, list)) or len(capsules) != 2:
        raise TypeError(f"{capsules!r} found, a pair of PyCapsules expected")
    schema, array = capsules
    return schema, array


#: The protocols of arrays in the order of preference.
_ARRAY_PROTOCOLS = ("__arrow_c_device_array__", "__arrow_c_array__")


def has_array_protocol(obj: Any) -> bool:
    """Say whether an object has one of the protocols of arrays."""
    return any(hasattr(obj, name) for name in _ARRAY_PROTOCOLS)


def first_row_of(obj: Any) -> int:
    """Return the number of rows before an object in the object of which it is a batch."""
    if isinstance(obj, DeviceArray):
        return obj._first_row or 0
    return (obj.first_row or 0) if isinstance(obj, SourceArray) else 0


def find_array(obj: Any) -> SourceArray | None:
    """Ask an object for its array; None if it has none of the protocols of arrays."""
    if (export := getattr(obj, "__arrow_c_device_array__", None)) is not None:
        schema, array = _pair(export())
    elif (export := getattr(obj, "__arrow_c_array__", None)) is not None:
        schema, array = _pair(export())
        array = device_array_capsule_from_array(array)
    else:
        return None
    if isinstance(obj, DeviceArray):
        return SourceArray(schema, array, obj._kind == "table", obj._labels, obj._first_row)
    return SourceArray(schema, array, _are_tables(type(obj)), (), None)


def open_array(obj: Any) -> SourceArray:
    """Ask an object for its array.

    Parameters
    ----------
    obj
        Anything with ``__arrow_c_device_array__`` or ``__arrow_c_array__``.

    Raises
    ------
    TypeError
        If the object has neither.
    """
    if (source := find_array(obj)) is not None:
        return source
    streams = [name for name in STREAM_PROTOCOLS if hasattr(obj, name)]
    hint = f"; it is a stream, with {', '.join(streams)}" if streams else ""
    raise TypeError(
        f"an object of type {type(obj).__name__} found, one with "
        f"{' or '.join(_ARRAY_PROTOCOLS)} expected{hint}"
    )


def import_columns(
    importer: ArrayImporter, array_capsule: object, kind: Kind, arguments: ImportArguments
) -> ImportedColumns:
    """Import an array as the columns of a table, or as one column; its capsule is consumed."""
    if kind == "table":
        return importer.import_table(array_capsule, arguments)
    column = importer.import_column(array_capsule, arguments)
    return [column], column.size()


@lru_cache
def _are_tables(cls: type) -> bool:
    """Say whether objects of a class are known to be tables."""
    cudf = sys.modules.get("cudf")
    known = (plc.Table, pa.RecordBatch) + (() if cudf is None else (cudf.DataFrame,))
    return issubclass(cls, known)
