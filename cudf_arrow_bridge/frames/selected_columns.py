# SPDX-License-Identifier: Apache-2.0
"""Selection of columns by name, including the index of a frame."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..arrow.schemas import positions_of


def selected_positions(
    columns: Any, schema: pa.Schema, labels: tuple[Any, ...] = (), keeps_index: bool = True
) -> list[int]:
    """Return the positions of the selected fields, then of the index.

    Parameters
    ----------
    columns
        The ``columns`` argument of the caller.
    schema
        The schema. Its metadata specifies which fields are the index.
    labels
        The labels without a JSON form; see `SchemaSpec`.
    keeps_index
        Whether to return the positions of the index.

    Raises
    ------
    TypeError, ValueError, KeyError
        If `columns` are not names that each match exactly one field.
    """
    positions = positions_of(columns, schema.names)
    if not (keeps_index and schema.metadata):
        return positions
    # Imported here because importing cuDF takes about a second.
    from .layout import decode_schema

    row_index = decode_schema(schema, labels).row_index
    return positions if row_index is None else list(dict.fromkeys([*positions, *row_index.levels]))
