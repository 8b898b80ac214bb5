# SPDX-License-Identifier: Apache-2.0
"""Many arrays of one schema as one: on the GPU by libcudf, without one by pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pylibcudf as plc

from ._schema import Schema
from .importer import Importer
from .residency import has_gpu
from .sources import Kind, Source

__all__ = ["MAX_ROWS", "concatenate"]

#: What `cudf::size_type` counts to.
MAX_ROWS = (1 << 31) - 1


def concatenate(
    arrays: Sequence[Source], schema: Schema, kind: Kind, importer: Importer
) -> tuple[list[plc.Column], int]:
    """Import arrays as the columns of one table, or as one column, and a number of rows.

    A single array is adopted as it is.

    Raises
    ------
    OverflowError
        If what they hold together does not fit into one column.
    """
    if len(arrays) == 1:
        return importer.bring(arrays[0], kind)
    if not arrays or not has_gpu():
        return importer.bring(_on_host(arrays, schema, kind), kind)
    brought = [importer.bring(array, kind) for array in arrays]
    num_rows = sum(rows for _, rows in brought)
    columns = [
        plc.concatenate.concatenate(list(parts), importer.stream, importer.mr)
        for parts in zip(*(columns for columns, _ in brought), strict=True)
    ]
    return columns, num_rows


class _Handed:
    """An array as pyarrow takes it."""

    def __init__(self, schema: Schema, array: object) -> None:
        self._schema = schema
        self._array = array

    def __arrow_c_device_array__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> tuple[object, object]:
        return self._schema.__arrow_c_schema__(), self._array


def _on_host(arrays: Sequence[Source], schema: Schema, kind: Kind) -> Source:
    handed = [_Handed(schema, array.array_capsule) for array in arrays]
    try:
        joined = _join_tables(handed, schema) if kind == "table" else _join(handed, schema)
    except pa.ArrowInvalid as error:
        raise OverflowError(f"{error}: import the stream with concat=False") from error
    _, capsule = joined.__arrow_c_device_array__()
    return Source(schema.__arrow_c_schema__(), capsule, kind == "table", ())


def _join_tables(handed: Sequence[_Handed], schema: Schema) -> pa.RecordBatch:
    batches = [pa.record_batch(array) for array in handed]
    form = pa.schema(schema)
    if not form.names:
        rows = sum(batch.num_rows for batch in batches)
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    columns = [
        _one_chunk(pa.chunked_array([batch.column(i) for batch in batches], field.type))
        for i, field in enumerate(form)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=form)


def _join(handed: Sequence[_Handed], schema: Schema) -> pa.Array:
    return _one_chunk(pa.chunked_array([pa.array(array) for array in handed], pa.field(schema).type))


def _one_chunk(chunks: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.array([], chunks.type)
