# SPDX-License-Identifier: Apache-2.0
"""Some columns of tables: those that ``columns=`` names, and the index of frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from .._core.import_ import SourceArray, select_children
from .._core.schema import Schema, is_struct
from ..arrow.options import Kind, shown
from ..arrow.schemas import as_schema
from ..arrow.source_streams import SourceStream

__all__ = ["select_of_array", "select_of_stream"]


def select_of_array(
    source: SourceArray, columns: Any, kind: Kind, keeps_index: bool
) -> SourceArray:
    """Reduce an array to some of its columns; the others are not looked at.

    Parameters
    ----------
    source
        The array, which is consumed.
    columns
        What a caller gave as ``columns=``: the names of the fields, in the order of the result.
    kind
        What the array is imported as.
    keeps_index
        Whether the fields that the metadata names as a frame's index are kept, too.

    Raises
    ------
    TypeError, ValueError, KeyError
        If `columns` are not names, each of one field, or the array is no table.
    """
    capsule = source.schema_capsule
    selection = _Selection(capsule, source.labels, columns, kind, keeps_index)
    array = selection.of(source.array_capsule)
    return SourceArray(selection.schema, array, True, source.labels, source.first_row)


def select_of_stream(
    stream: SourceStream, columns: Any, kind: Kind, keeps_index: bool
) -> SourceStream:
    """Reduce each array of a stream to some of its columns; see `select_of_array`."""
    capsule = stream.schema.__arrow_c_schema__()
    selection = _Selection(capsule, stream.labels, columns, kind, keeps_index)
    return stream.mapped(Schema.copy_of(selection.schema), selection.of)


class _Selection:
    """Some columns of all arrays of one schema.

    Parameters
    ----------
    capsule
        The capsule of the schema.
    labels
        Labels without a JSON form, of arrays that this process exported.
    columns, kind, keeps_index
        See `select_of_array`.

    Attributes
    ----------
    schema
        The capsule of the schema of what is selected.
    """

    def __init__(
        self, capsule: object, labels: tuple[Any, ...], columns: Any, kind: Kind, keeps_index: bool
    ) -> None:
        if kind != "table" or not is_struct(capsule):
            raise ValueError(
                'columns= found for an array that is a column, a table expected: kind="table" '
                "imports a struct as one"
            )
        self._capsule = capsule
        whole = as_schema(capsule)
        self._positions = _positions_of(columns, whole.names)
        if keeps_index:
            # Importing cuDF takes a second; what is imported here becomes a frame of its.
            from ..frames.layout import index_levels

            levels = index_levels(whole, labels)
            self._positions = list(dict.fromkeys([*self._positions, *levels]))
        fields = [whole.field(position) for position in self._positions]
        self.schema = pa.schema(fields, whole.metadata).__arrow_c_schema__()

    def of(self, array: object) -> object:
        """Reduce the array in a capsule, which is returned."""
        select_children(self._capsule, array, self._positions)
        return array


def _positions_of(columns: Any, names: list[str]) -> list[int]:
    """Return the positions of the fields that a caller named."""
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        raise TypeError(f"{shown('columns', columns)} found, a list of names expected")
    columns = list(columns)
    for name in columns:
        if not isinstance(name, str):
            raise TypeError(
                f"columns: {shown('name', name)} found, strings expected, the names of Arrow's "
                f"fields: {_listed(names)}"
            )
    positions = {name: position for position, name in enumerate(names)}
    if unknown := [name for name in columns if name not in positions]:
        raise KeyError(f"columns={unknown} found, names among {_listed(names)} expected")
    if repeated := [name for name, count in Counter(columns).items() if count > 1]:
        raise ValueError(f"columns: {repeated} found more than once, each name once expected")
    counts = Counter(names)
    if ambiguous := [name for name in columns if counts[name] > 1]:
        raise ValueError(
            f"columns={ambiguous} found, of which there are several, names of one field expected"
        )
    return [positions[name] for name in columns]


def _listed(names: list[str]) -> str:
    """Return names for a message, the first ones of many."""
    return repr(names) if len(names) <= 20 else f"{names[:20]} and {len(names) - 20} more"
