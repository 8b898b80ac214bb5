# SPDX-License-Identifier: Apache-2.0
"""Frames of one shape leave under one schema: what was worked out for one serves the next."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cudf
import pandas as pd

from .._core.columns import types_of
from ..arrow.parts import Description, Recent
from .cudf_private import ColumnBase
from .layout import Index, Kind
from .origins import recall_all

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Shape", "described", "remember"]

#: Dtypes that leave something to the data: to categories, or to what nested columns came from.
_OPEN = (
    cudf.CategoricalDtype,
    cudf.IntervalDtype,
    cudf.ListDtype,
    cudf.StructDtype,
    pd.ArrowDtype,
)


@dataclass(frozen=True, eq=False)
class Shape:
    """All that the schema of a frame depends on.

    Attributes
    ----------
    kind
        What is exported.
    labels, names
        The labels of its columns; their names, which an Index can change.
    rows
        The names of the index of the rows, and its range if it is one.
    dtypes, types
        Of all columns, those of the index included: in cuDF and in libcudf.
    origins
        The fields that some came from, by position.
    nullable
        Whether each of these is to be marked so.
    """

    kind: Kind
    labels: pd.Index
    names: tuple[Hashable, ...]
    rows: tuple[Any, ...] | None
    dtypes: tuple[Any, ...]
    types: bytes
    origins: dict[int, pa.Field]
    nullable: list[bool]

    @classmethod
    def of(
        cls, kind: Kind, labels: pd.Index, rows: Index | None, columns: Sequence[ColumnBase]
    ) -> Shape | None:
        """Return the shape of some columns; None if their data has a say in the schema."""
        names = tuple(labels.names)
        if not all(map(_is_plain, names if rows is None else (*names, *rows.names))):
            return None
        dtypes = tuple([column.dtype for column in columns])
        if any(issubclass(kind, _OPEN) for kind in set(map(type, dtypes))):
            return None
        origins = recall_all(columns)
        nullable = [
            field.nullable or columns[position].null_count > 0
            for position, field in origins.items()
        ]
        types = types_of([column.plc_column for column in columns])
        index = None if rows is None else (*rows.names, _ends(rows.range))
        return cls(kind, labels, names, index, dtypes, types, origins, nullable)

    def equals(self, other: Shape) -> bool:
        """Say whether two frames leave under the same schema."""
        return (
            self.types == other.types
            and self.dtypes == other.dtypes
            and self.nullable == other.nullable
            and (self.kind, self.names, self.rows) == (other.kind, other.names, other.rows)
            and _same_labels(self.labels, other.labels)
            and self.origins.keys() == other.origins.keys()
            and all(map(_same_field, self.origins.values(), other.origins.values()))
        )


_known: Recent[Shape, Description] = Recent()


def described(shape: Shape) -> Description | None:
    """Return the description of an earlier frame of this shape."""
    return _known.find(shape.equals)


def remember(shape: Shape, description: Description) -> None:
    """Keep a description for the frames to come."""
    _known.add(shape, description)


def _is_plain(label: Hashable) -> bool:
    # Of other types, labels that are equal need not be the same.
    return label is None or type(label) is str


def _ends(span: range | None) -> tuple[int, int, int] | None:
    # Ranges of nothing are all equal, and yet have ends.
    return None if span is None else (span.start, span.stop, span.step)


def _same_labels(one: pd.Index, other: pd.Index) -> bool:
    if one is other:
        return True
    plain = isinstance(one, pd.RangeIndex) or isinstance(one.dtype, pd.StringDtype)
    return plain and type(one) is type(other) and one.dtype == other.dtype and one.equals(other)


def _same_field(one: pa.Field, other: pa.Field) -> bool:
    return one is other or one.equals(other, check_metadata=True)
