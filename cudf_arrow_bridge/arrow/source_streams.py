# SPDX-License-Identifier: Apache-2.0
"""Where an import of a stream comes from: its arrays, one at a time, and their one schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from .._core.schema import Schema, check_same, is_struct
from .._core.stream_import import StreamReader
from .options import Kind, as_kind
from .sources import STREAM_PROTOCOLS, Source, open_source, speaks_array

__all__ = ["IncomingStream", "open_stream", "speaks_stream"]


class IncomingStream:
    """Arrays of one schema, each of them taken over when it is asked for.

    Parameters
    ----------
    schema
        The schema of all.
    arrays
        Gives ``arrow_device_array`` PyCapsules, which an import spends.
    labels
        Labels of a stream of this process.
    reader
        Released when this object is.
    """

    def __init__(
        self,
        schema: Schema,
        arrays: Iterator[object],
        labels: tuple[Any, ...],
        reader: StreamReader | None = None,
    ) -> None:
        self.schema = schema
        self.arrays = arrays
        self.labels = labels
        self._reader = reader

    def sources(self) -> Iterator[Source]:
        """Give each array with a schema of its own."""
        known_table = is_struct(self.schema.__arrow_c_schema__())
        first_row = 0
        for array in self.arrays:
            schema = self.schema.__arrow_c_schema__()
            source = Source(schema, array, known_table, self.labels, first_row)
            del array
            first_row += source.length()
            yield source
            del source

    def kind(self, wanted: Kind | None) -> Kind:
        """Decide whether this is a stream of tables: any stream of structs is."""
        found: Kind = "table" if is_struct(self.schema.__arrow_c_schema__()) else "column"
        return as_kind(wanted) or found

    def release(self) -> None:
        """Release what was not pulled."""
        self.arrays = iter(())
        if self._reader is not None:
            self._reader.release()


def speaks_stream(obj: Any) -> bool:
    """Say whether an object has one of the protocols of streams."""
    return any(hasattr(obj, name) for name in STREAM_PROTOCOLS)


def open_stream(obj: Any) -> IncomingStream:
    """Ask an object for its stream of arrays.

    Parameters
    ----------
    obj
        Anything with ``__arrow_c_device_stream__`` or ``__arrow_c_stream__``, or an iterable of
        objects with ``__arrow_c_device_array__`` or ``__arrow_c_array__``.

    Raises
    ------
    TypeError
        If the object is none of these.
    ValueError
        If an iterable is empty: nothing says what its schema would be.
    """
    for name in STREAM_PROTOCOLS:
        if hasattr(obj, name):
            reader = StreamReader(getattr(obj, name)())
            schema = reader.schema()
            labels = () if reader.notes is None else reader.notes.labels
            return IncomingStream(schema, iter(reader.next, None), labels, reader)
    if speaks_array(obj):
        return _of_arrays(iter((obj,)))
    if isinstance(obj, Iterable) and not isinstance(obj, str | bytes):
        return _of_arrays(iter(obj))
    raise TypeError(
        f"an object of type {type(obj).__name__} found, one with "
        f"{' or '.join(STREAM_PROTOCOLS)}, or an iterable of arrays, expected"
    )


def _of_arrays(objects: Iterator[Any]) -> IncomingStream:
    try:
        first = open_source(next(objects))
    except StopIteration:
        raise ValueError("no array found, at least one expected in an iterable") from None
    schema = Schema.copy_of(first.schema_capsule)

    def rest() -> Iterator[object]:
        for obj in objects:
            source = open_source(obj)
            check_same(first.schema_capsule, source.schema_capsule)
            yield source.array_capsule

    return IncomingStream(schema, chain([first.array_capsule], rest()), first.labels)
