# SPDX-License-Identifier: Apache-2.0
"""What stands for a stream that has a schema and no batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .._core.schema import is_struct

__all__ = ["empty"]


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
