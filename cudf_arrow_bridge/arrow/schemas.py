# SPDX-License-Identifier: Apache-2.0
"""Schemas of any library, as pyarrow reads them and as capsules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from .._core.schema import Schema, is_struct, marks_table

__all__ = [
    "as_field",
    "as_schema",
    "as_schema_or_field",
    "check_num_fields",
    "empty",
    "unique_positions",
]


def as_field(schema: Any) -> pa.Field:
    """Read a schema as a field.

    Parameters
    ----------
    schema
        Anything with ``__arrow_c_schema__``, or a capsule, which is copied and stays usable.
    """
    return pa.field(_with_protocol(schema))


def as_schema(schema: Any) -> pa.Schema:
    """Read the schema of a record batch.

    Parameters
    ----------
    schema
        Anything with ``__arrow_c_schema__``, or a capsule, which is copied and stays usable.
    """
    return pa.schema(_with_protocol(schema))


def as_schema_or_field(capsule: object) -> pa.Schema | pa.Field:
    """Read the schema of record batches, or the field of other arrays, by the type alone."""
    return as_schema(capsule) if marks_table(capsule) else as_field(capsule)


def _with_protocol(schema: Any) -> Any:
    # The copy gives every field a name: pyarrow refuses a NULL name, which Arrow allows.
    return schema if hasattr(schema, "__arrow_c_schema__") else Schema.copy_of(schema)


def unique_positions(names: Sequence[str]) -> dict[str, int]:
    """Return the position of each name that occurs once, in one pass over wide schemas."""
    counts = Counter(names)
    return {name: position for position, name in enumerate(names) if counts[name] == 1}


def check_num_fields(requested: pa.DataType, own: pa.DataType) -> None:
    """Refuse a requested struct type with another number of fields."""
    if not pa.types.is_struct(requested) or not pa.types.is_struct(own):
        return
    if requested.num_fields != own.num_fields:
        raise ValueError(
            f"a requested schema of {requested.num_fields} fields found, {own.num_fields} expected"
        )


def empty(schema: Any) -> pa.RecordBatch | pa.Array:
    """Return a record batch without rows, or an empty array if the schema is not a struct.

    Parameters
    ----------
    schema
        Anything with ``__arrow_c_schema__``.
    """
    if not is_struct(schema.__arrow_c_schema__()):
        return _empty_array(pa.field(schema).type)
    arrow_schema = pa.schema(schema)
    arrays = [_empty_array(field.type) for field in arrow_schema]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema)


def _empty_array(arrow_type: pa.DataType) -> pa.Array:
    return pa.chunked_array([], arrow_type).combine_chunks()
