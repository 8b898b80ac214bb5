# SPDX-License-Identifier: Apache-2.0
"""Where an import comes from: the protocols that are tried, in order, and what they gave."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pyarrow as pa
import pylibcudf as plc

from .._core import import_ as _import
from .._core.capsules import device_array_capsule_from_array, length_of
from .._core.schema import is_struct, marks_table
from ..cuda.streams import Stream
from .device_array import DeviceArray, as_field, as_schema

__all__ = [
    "ImportOptions",
    "Kind",
    "Source",
    "Validation",
    "as_kind",
    "open_source",
    "speaks_array",
]

Kind = Literal["table", "column"]
Validation = Literal["minimal", "full"]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to import, as `from_arrow_device` documents it.

    Attributes
    ----------
    copy, validate, sanitize
        As there.
    reader
        Another stream that the result is read on. What is freed on the stream of the import is
        freed behind the work of this one, too.

    Raises
    ------
    ValueError
        If an option has a value that it cannot have.
    """

    copy: bool = False
    validate: Validation = "minimal"
    sanitize: bool = True
    reader: Stream | None = None

    def __post_init__(self) -> None:
        if self.validate not in get_args(Validation):
            raise ValueError(f"validate={self.validate!r} found, 'minimal' or 'full' expected")


@dataclass(slots=True)
class Source:
    """One array that a producer handed over.

    Attributes
    ----------
    schema_capsule, array_capsule
        ``arrow_schema`` and ``arrow_device_array``; an import spends the latter.
    known_table
        Whether the object is known to be a table, whatever its schema's flags.
    labels
        Labels of a `DeviceArray` of this process.
    first_row
        Of a batch of a stream: its first row, counted as the schema's metadata counts them; None
        of an array that stands alone.
    """

    schema_capsule: object
    array_capsule: object
    known_table: bool
    labels: tuple[Any, ...]
    first_row: int | None = None

    def kind(self, wanted: Kind | None) -> Kind:
        """Decide whether this is a table or a column; never by the data.

        Parameters
        ----------
        wanted
            What the caller says it is, None if nothing.

        Raises
        ------
        ValueError
            If `wanted` is neither.
        """
        if (given := as_kind(wanted)) is not None:
            return given
        if self.known_table and is_struct(self.schema_capsule):
            return "table"
        return "table" if marks_table(self.schema_capsule) else "column"

    def length(self) -> int:
        """Return the number of rows that the array claims."""
        return length_of(self.array_capsule)

    def import_table(
        self, stream: Stream, mr: Any, options: ImportOptions
    ) -> tuple[list[plc.Column], int]:
        """Import the columns of a record batch, and its number of rows."""
        return _import.import_table(self.schema_capsule, self.array_capsule, stream, mr, options)

    def import_column(self, stream: Stream, mr: Any, options: ImportOptions) -> plc.Column:
        """Import an array."""
        return _import.import_column(self.schema_capsule, self.array_capsule, stream, mr, options)

    def schema(self) -> pa.Schema:
        """Return a record batch's schema."""
        return as_schema(self.schema_capsule)

    def field(self) -> pa.Field:
        """Return an array's field."""
        return as_field(self.schema_capsule)


def as_kind(wanted: Kind | None) -> Kind | None:
    """Check what a caller gave as ``kind=``."""
    if wanted not in (None, "table", "column"):
        raise ValueError(f"kind={wanted!r} found, 'table' or 'column' expected")
    return wanted


def _pair(answer: Any) -> tuple[object, object]:
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise TypeError(f"{answer!r} found, a pair of PyCapsules expected")
    schema, array = answer
    return schema, array


def _device_array(obj: Any) -> tuple[object, object]:
    return _pair(obj.__arrow_c_device_array__())


def _host_array(obj: Any) -> tuple[object, object]:
    schema, array = _pair(obj.__arrow_c_array__())
    return schema, device_array_capsule_from_array(array)


#: The protocols in the order of preference: device memory first.
_PROTOCOLS: tuple[tuple[str, Callable[[Any], tuple[object, object]]], ...] = (
    ("__arrow_c_device_array__", _device_array),
    ("__arrow_c_array__", _host_array),
)


def speaks_array(obj: Any) -> bool:
    """Say whether an object has one of the protocols of arrays."""
    return any(hasattr(obj, name) for name, _ in _PROTOCOLS)


def open_source(obj: Any) -> Source:
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
    for name, ask in _PROTOCOLS:
        if hasattr(obj, name):
            schema, array = ask(obj)
            ours = isinstance(obj, DeviceArray)
            labels, first_row = (obj._labels, obj._first_row) if ours else ((), None)
            return Source(schema, array, _is_known_table(obj), labels, first_row)
    streams = [n for n in ("__arrow_c_device_stream__", "__arrow_c_stream__") if hasattr(obj, n)]
    hint = f"; it has {', '.join(streams)}: use to_arrow_device_stream" if streams else ""
    raise TypeError(
        f"an object of type {type(obj).__name__} found, one with "
        f"{' or '.join(name for name, _ in _PROTOCOLS)} expected{hint}"
    )


def _is_known_table(obj: Any) -> bool:
    if isinstance(obj, DeviceArray):
        return obj._kind == "table"
    cudf = sys.modules.get("cudf")
    known = (plc.Table, pa.RecordBatch) + (() if cudf is None else (cudf.DataFrame,))
    return isinstance(obj, known)
