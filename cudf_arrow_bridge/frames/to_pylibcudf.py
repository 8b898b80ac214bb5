# SPDX-License-Identifier: Apache-2.0
"""Conversion of cuDF columns to pylibcudf columns and the metadata of Arrow fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import cudf
import pyarrow as pa
import pylibcudf as plc

from .._core.export.shared_columns import BufferSharer, share_columns
from .._core.import_.imported_fields import arrow_children, has_own_nulls
from .._core.protocols import ColumnMetadata
from ..arrow.metadata import (
    BRIDGE_KEY,
    EXTENSION_METADATA,
    EXTENSION_NAME,
    child_fields,
    own_metadata,
    storage_type_of,
)
from . import real_pandas as pd
from .convert import DICTIONARY, with_children, with_rows_of
from .cudf_private import attached_to_memory, category_values
from .dtypes import child_dtypes
from .from_pylibcudf import timezone_dtype


def column_to_pylibcudf(
    column: plc.Column,
    dtype: Any,
    name: str,
    sharer: BufferSharer,
    field: pa.Field | None = None,
    parent: plc.Column | None = None,
) -> tuple[plc.Column, ColumnMetadata]:
    """Return a cuDF column and its metadata for an export, without copying data.

    A categorical becomes a dictionary. Its codes become signed if the signed type of the same width
    can store all of them. An interval becomes a struct with pandas' extension metadata.

    Parameters
    ----------
    column, dtype
        The column, as cuDF stores it, with buffers that are shared with the export, and its dtype.
    name
        The name of the Arrow field.
    sharer
        The function that shares the buffers of categories; see `cudf_private.buffer_sharer`.
    field
        The imported field, or None. The export uses it as far as the type of the column allows.
    parent
        The parent struct, if any.
    """
    result, metadata = _convert(column, dtype, name, sharer, field)
    # A conversion to another time zone shares the memory, which keeps the field.
    if field is None or _zone_of(field) not in (None, metadata.timezone):
        return result, metadata
    return result, replace(
        metadata,
        nullable=field.nullable or has_own_nulls(column, parent),
        metadata={**_kept_metadata(field), **metadata.metadata},
        imported_schema=field.__arrow_c_schema__(),
    )


def _convert(
    column: plc.Column, dtype: Any, name: str, sharer: BufferSharer, field: pa.Field | None
) -> tuple[plc.Column, ColumnMetadata]:
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_null(dtype.pyarrow_dtype):
        size = column.size()
        empty = plc.Column(plc.DataType(plc.TypeId.EMPTY), size, None, None, size, 0, [])
        return empty, ColumnMetadata(name)
    if isinstance(dtype, cudf.CategoricalDtype):
        return _convert_category(column, dtype, name, sharer)
    dtypes = child_dtypes(dtype)
    if dtypes is None:
        leaf = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else dtype
        timezone = str(getattr(leaf, "tz", None) or "")
        if timezone and field is not None and (zone := _zone_of(field)):
            # The dtype has UTC for a fixed offset, which an export restores.
            restored = str(timezone_dtype(storage_type_of(field.type)).tz) == timezone
            timezone = zone if restored else timezone
        return column, ColumnMetadata(
            name, timezone=timezone, precision=getattr(leaf, "precision", None) or 0
        )
    children = arrow_children(column)
    fields = _imported_child_fields(field, len(children))
    is_struct = column.type().id() == plc.TypeId.STRUCT
    converted = []
    for child, child_field, (child_name, child_dtype) in zip(
        children, fields, dtypes.items(), strict=True
    ):
        imported = attached_to_memory(child, child_field)
        if not is_struct and imported is not None:
            child_name = imported.name
        parent = column if is_struct else None
        converted.append(
            column_to_pylibcudf(child, child_dtype, str(child_name), sharer, imported, parent)
        )
    offsets = [] if is_struct else column.children()[:1]
    extension = _interval_extension(dtype) if isinstance(dtype, cudf.IntervalDtype) else {}
    return (
        with_children(column, [*offsets, *(child for child, _ in converted)]),
        ColumnMetadata(
            name, metadata=extension, children=tuple(metadata for _, metadata in converted)
        ),
    )


def _zone_of(field: pa.Field) -> str | None:
    zone: str | None = getattr(storage_type_of(field.type), "tz", None)
    return zone


def _imported_child_fields(field: pa.Field | None, count: int) -> Sequence[pa.Field | None]:
    """Return the imported fields of the children of a list or struct, or Nones."""
    fields = [] if field is None else child_fields(field.type)
    if field is not None and pa.types.is_dictionary(storage_type_of(field.type)):
        # The dictionary was decoded. The column has the children of the values.
        fields = child_fields(fields[0].type)
    return fields if len(fields) == count else [None] * count


def _convert_category(
    column: plc.Column, dtype: cudf.CategoricalDtype, name: str, sharer: BufferSharer
) -> tuple[plc.Column, ColumnMetadata]:
    (values,), (value_dtype,), _, fields = share_columns([category_values(dtype)], sharer)
    values, metadata = column_to_pylibcudf(values, value_dtype, "", sharer, fields.get(0))
    codes_type = column.type()
    if values.size() <= 1 << (8 * plc.types.size_of(codes_type) - 1):
        # The signed type of the same width: INT8 for UINT8.
        codes_type = plc.DataType(plc.TypeId[codes_type.id().name.removeprefix("U")])
    # The codes start at the start of the buffer. The dictionary column has the offset.
    codes = plc.Column(codes_type, column.offset() + column.size(), column.data(), None, 0, 0, [])
    dictionary = with_rows_of(column, DICTIONARY, None, [codes, values])
    return dictionary, ColumnMetadata(name, ordered=bool(dtype.ordered), children=(metadata,))


def _interval_extension(dtype: cudf.IntervalDtype) -> dict[bytes, bytes]:
    """Return the metadata of pandas' extension type for intervals, if it supports the subtype."""
    # pandas parses the subtype with pa.type_for_alias, which does not support time zones and
    # decimals. Peers then get a struct. Our own metadata still identifies the interval.
    try:
        alias = str(pa.from_numpy_dtype(getattr(dtype.subtype, "numpy_dtype", dtype.subtype)))
        if str(pa.type_for_alias(alias)) != alias:
            return {}
    except (TypeError, ValueError, NotImplementedError, pa.ArrowException):
        return {}
    # In cuDF, a missing closed side means "right".
    parameters = json.dumps({"subtype": alias, "closed": dtype.closed or "right"})
    return {EXTENSION_NAME: b"pandas.interval", EXTENSION_METADATA: parameters.encode()}


def _kept_metadata(field: pa.Field) -> Mapping[bytes, bytes]:
    """Return the metadata of an imported field that an export keeps."""
    metadata = dict(own_metadata(field))
    metadata.pop(BRIDGE_KEY, None)
    if metadata.get(EXTENSION_NAME) == b"pandas.interval":
        # The export creates this metadata from the dtype.
        del metadata[EXTENSION_NAME]
        metadata.pop(EXTENSION_METADATA, None)
    return metadata
