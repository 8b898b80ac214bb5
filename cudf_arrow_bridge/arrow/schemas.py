# SPDX-License-Identifier: Apache-2.0
"""Schemas of any library, as pyarrow reads them and as capsules."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .._core.schema import Schema, is_struct

__all__ = ["as_capsule", "as_field", "as_schema", "check_shape", "empty"]


def as_capsule(schema: Any) -> Any:
    """Return the capsule of a schema: of None none, and of a capsule itself."""
    if not hasattr(schema, "__arrow_c_schema__"):
        return schema
    return schema.__arrow_c_schema__()


def as_field(schema: Any) -> pa.Field:
    """Read a schema, or a copy of the one in a capsule, as a field."""
    return pa.field(_with_method(schema))


def as_schema(schema: Any) -> pa.Schema:
    """Read the schema of a record batch, likewise."""
    return pa.schema(_with_method(schema))


def _with_method(schema: Any) -> Any:
    # Copies name every field: pyarrow insists on what the specification leaves open.
    return schema if hasattr(schema, "__arrow_c_schema__") else Schema.copy_of(schema)


def check_shape(wanted: pa.DataType, own: pa.DataType) -> None:
    """Refuse a requested type of another number of fields."""
    if not pa.types.is_struct(wanted) or not pa.types.is_struct(own):
        return
    if wanted.num_fields != own.num_fields:
        raise ValueError(
            f"a requested schema of {wanted.num_fields} fields found, {own.num_fields} expected"
        )


def empty(schema: Any) -> pa.RecordBatch | pa.Array:
    """Return no rows of a schema, as a record batch where it is a struct.

    Parameters
    ----------
    schema
        Anything with ``__arrow_c_schema__``.
    """
    if not is_struct(schema.__arrow_c_schema__()):
        return _no_rows(pa.field(schema).type)
    form = pa.schema(schema)
    return pa.RecordBatch.from_arrays([_no_rows(field.type) for field in form], schema=form)


def _no_rows(type_: pa.DataType) -> pa.Array:
    return pa.chunked_array([], type_).combine_chunks()
