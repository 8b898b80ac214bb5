# SPDX-License-Identifier: Apache-2.0
"""cuDF columns as pylibcudf columns, with the metadata of their Arrow fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cudf
import pyarrow as pa
import pylibcudf as plc

from .._core.columns import rebuild, rebuild_all
from .._core.imported_fields import has_own_nulls
from ..arrow.metadata import (
    EXTENSION_METADATA,
    EXTENSION_NAME,
    ColumnMetadata,
    child_fields,
    storage_type_of,
)
from . import real_pandas as pd
from .cudf_private import attached_to_memory, category_values
from .dtypes import element_dtype, field_dtypes, interval_dtype
from .imported_fields import imported_field, kept_metadata

__all__ = ["ShareBuffer", "column_to_pylibcudf"]

#: Shares a buffer with an export; see `cudf_private.buffer_sharer`.
ShareBuffer = Callable[[Any], Any]

#: The signed type of each unsigned one, and the number of values whose codes fit it.
_UNSIGNED_TO_SIGNED = {
    plc.TypeId.UINT8: (plc.TypeId.INT8, 1 << 7),
    plc.TypeId.UINT16: (plc.TypeId.INT16, 1 << 15),
    plc.TypeId.UINT32: (plc.TypeId.INT32, 1 << 31),
    plc.TypeId.UINT64: (plc.TypeId.INT64, 1 << 63),
}


def column_to_pylibcudf(
    column: plc.Column,
    dtype: Any,
    name: str,
    share_buffer: ShareBuffer,
    field: pa.Field | None = None,
    parent: plc.Column | None = None,
) -> tuple[plc.Column, ColumnMetadata]:
    """Return a cuDF column and its metadata for an export, without copying data.

    The buffers are new references, so that cuDF copies before it writes. The offset stays. A
    category becomes a dictionary, whose codes become signed if all fit the signed type of their
    width. An interval becomes a struct with the metadata of pandas' extension type.

    Parameters
    ----------
    column
        The column, as cuDF stores it.
    dtype
        Its cuDF dtype.
    name
        The name of its Arrow field.
    share_buffer
        Shares a buffer with the export.
    field
        The field that it was imported with, or None. The export follows it as far as the type of
        the column allows.
    parent
        The struct that it is a child of, if any.
    """
    child_fields = _imported_child_fields(field, dtype)
    result, metadata = _convert(column, dtype, name, share_buffer, child_fields)
    if field is None:
        return result, metadata
    return result, replace(
        metadata,
        nullable=field.nullable or has_own_nulls(column, parent),
        metadata={**kept_metadata(field), **metadata.metadata},
        imported_schema=field.__arrow_c_schema__(),
    )


def _convert(
    column: plc.Column,
    dtype: Any,
    name: str,
    share_buffer: ShareBuffer,
    imported: list[pa.Field | None],
) -> tuple[plc.Column, ColumnMetadata]:
    """Convert a column; `imported` are the fields that its children were imported with, if any."""
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_null(dtype.pyarrow_dtype):
        size = column.size()
        empty = plc.Column(plc.DataType(plc.TypeId.EMPTY), size, None, None, size, 0, [])
        return empty, ColumnMetadata(name)
    if isinstance(dtype, cudf.CategoricalDtype):
        return _convert_category(column, dtype, name, share_buffer)
    if (interval := interval_dtype(dtype)) is not None:
        return _convert_interval(column, *interval, name, share_buffer, imported)
    if (element := element_dtype(dtype)) is not None:
        default_name, value_dtype = element
        offsets, values = column.children()
        field = attached_to_memory(values, imported[0] if imported else None)
        values, metadata = column_to_pylibcudf(
            values, value_dtype, field.name if field else default_name, share_buffer, field
        )
        return (
            rebuild(column, share_buffer, [rebuild(offsets, share_buffer, []), values]),
            ColumnMetadata(name, children=(metadata,)),
        )
    if (dtypes := field_dtypes(dtype)) is not None:
        children, children_metadata = _convert_children(column, dtypes, share_buffer, imported)
        return (
            rebuild(column, share_buffer, children),
            ColumnMetadata(name, children=children_metadata),
        )
    return rebuild_all(column, share_buffer), ColumnMetadata(
        name, timezone=_timezone(dtype), precision=_precision(dtype)
    )


def _imported_child_fields(field: pa.Field | None, dtype: Any) -> list[pa.Field | None]:
    """Return the fields that the children of a column were imported with, if any."""
    if field is None:
        return []
    fields = child_fields(field.type)
    if pa.types.is_dictionary(storage_type_of(field.type)) and not isinstance(
        dtype, cudf.CategoricalDtype
    ):
        # The dictionary was decoded: the children are those of its values.
        fields = child_fields(fields[0].type)
    return fields


def _convert_children(
    column: plc.Column,
    dtypes: dict[str, Any],
    share_buffer: ShareBuffer,
    imported: list[pa.Field | None],
) -> tuple[list[plc.Column], tuple[ColumnMetadata, ...]]:
    children = column.children()
    fields = imported if len(imported) == len(children) else [None] * len(children)
    converted = [
        column_to_pylibcudf(
            child, dtype, str(name), share_buffer, attached_to_memory(child, field), column
        )
        for child, (name, dtype), field in zip(children, dtypes.items(), fields, strict=True)
    ]
    return [child for child, _ in converted], tuple(metadata for _, metadata in converted)


def _convert_category(
    column: plc.Column, dtype: cudf.CategoricalDtype, name: str, share_buffer: ShareBuffer
) -> tuple[plc.Column, ColumnMetadata]:
    categories = category_values(dtype)
    values, metadata = column_to_pylibcudf(
        categories.plc_column, categories.dtype, "", share_buffer, imported_field(categories)
    )
    type_id = column.type().id()
    signed, limit = _UNSIGNED_TO_SIGNED[type_id]
    codes = plc.Column(
        plc.DataType(signed if values.size() <= limit else type_id),
        # The codes begin with their buffer; the dictionary column skips `offset` of them.
        column.offset() + column.size(),
        share_buffer(column.data()),
        None,
        0,
        0,
        [],
    )
    dictionary = plc.Column(
        plc.DataType(plc.TypeId.DICTIONARY32),
        column.size(),
        None,
        share_buffer(column.null_mask()),
        column.null_count(),
        column.offset(),
        [codes, values],
    )
    return dictionary, ColumnMetadata(name, ordered=bool(dtype.ordered), children=(metadata,))


def _convert_interval(
    column: plc.Column,
    subtype: Any,
    closed: str | None,
    name: str,
    share_buffer: ShareBuffer,
    imported: list[pa.Field | None],
) -> tuple[plc.Column, ColumnMetadata]:
    dtypes = {"left": subtype, "right": subtype}
    children, children_metadata = _convert_children(column, dtypes, share_buffer, imported)
    alias = _subtype_alias(subtype)
    extension = {}
    if alias is not None:
        # As pandas' ArrowIntervalType writes it. A missing closed side means "right" to cuDF.
        parameters = json.dumps({"subtype": alias, "closed": closed or "right"})
        extension = {
            EXTENSION_NAME: b"pandas.interval",
            EXTENSION_METADATA: parameters.encode(),
        }
    return rebuild(column, share_buffer, children), ColumnMetadata(
        name, metadata=extension, children=children_metadata
    )


def _subtype_alias(subtype: Any) -> str | None:
    """Return the name of an interval's subtype in pandas' extension type, None if it has none."""
    # pandas reads it with pa.type_for_alias, which fails on time zones and decimals. A peer then
    # sees a plain struct, without the extension; our own metadata still says interval.
    numpy_type = getattr(subtype, "numpy_dtype", subtype)
    try:
        alias = str(pa.from_numpy_dtype(numpy_type))
        return alias if str(pa.type_for_alias(alias)) == alias else None
    except (TypeError, ValueError, NotImplementedError, pa.ArrowException):
        return None


def _timezone(dtype: Any) -> str:
    if isinstance(dtype, pd.DatetimeTZDtype):
        return str(dtype.tz)
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_timestamp(dtype.pyarrow_dtype):
        return dtype.pyarrow_dtype.tz or ""
    return ""


def _precision(dtype: Any) -> int:
    arrow_type = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else None
    if arrow_type is not None and pa.types.is_decimal(arrow_type):
        return int(arrow_type.precision)
    return int(getattr(dtype, "precision", 0) or 0)
