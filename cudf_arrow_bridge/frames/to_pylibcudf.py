# SPDX-License-Identifier: Apache-2.0
"""A cuDF column as Arrow sees it: a pylibcudf column and the field that goes with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cudf
import pandas as pd
import pyarrow as pa
import pylibcudf as plc

from .._core.columns import rebuild, rebuild_all
from ..arrow.metadata import (
    EXTENSION_METADATA,
    EXTENSION_NAME,
    ColumnMetadata,
    child_fields,
    storage,
)
from .cudf_private import category_values, noted_on_memory
from .dtypes import element_dtype, field_dtypes, interval_dtype
from .origins import lasting_metadata, recall

__all__ = ["Share", "outgoing"]

#: Takes hold of the memory of one export; see `_cudf_private.sharer`.
Share = Callable[[Any], Any]

_UNSIGNED_TO_SIGNED = {
    plc.TypeId.UINT8: (plc.TypeId.INT8, 1 << 7),
    plc.TypeId.UINT16: (plc.TypeId.INT16, 1 << 15),
    plc.TypeId.UINT32: (plc.TypeId.INT32, 1 << 31),
    plc.TypeId.UINT64: (plc.TypeId.INT64, 1 << 63),
}


def outgoing(
    column: plc.Column, dtype: Any, name: str, share: Share, origin: pa.Field | None = None
) -> tuple[plc.Column, ColumnMetadata]:
    """Return a cuDF column as Arrow sees it, without copying anything.

    The offset stays what it is; the buffers are new references, which cuDF's copy-on-write
    respects. A category becomes a dictionary, an interval a struct that pandas' extension type
    marks. The codes of a category keep their width and go out signed when every code fits.

    Parameters
    ----------
    column
        The column, as cuDF stores it.
    dtype
        Its cuDF dtype.
    name
        The name of its field.
    share
        Takes hold of its memory.
    origin
        The field that it came from, to leave as again where its type still can.
    """
    made, field = _outgoing(column, dtype, name, share, _fields_below(origin, dtype))
    if origin is None:
        return made, field
    return made, replace(
        field,
        nullable=origin.nullable or column.null_count() > 0,
        metadata={**lasting_metadata(origin), **field.metadata},
        origin=origin.__arrow_c_schema__(),
    )


def _outgoing(
    column: plc.Column, dtype: Any, name: str, share: Share, below: list[pa.Field | None]
) -> tuple[plc.Column, ColumnMetadata]:
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_null(dtype.pyarrow_dtype):
        size = column.size()
        empty = plc.Column(plc.DataType(plc.TypeId.EMPTY), size, None, None, size, 0, [])
        return empty, ColumnMetadata(name)
    if isinstance(dtype, cudf.CategoricalDtype):
        return _category(column, dtype, name, share)
    if (interval := interval_dtype(dtype)) is not None:
        return _interval(column, *interval, name, share, below)
    if (element := element_dtype(dtype)) is not None:
        offsets, values = column.children()
        came = noted_on_memory(values, below[0] if below else None)
        values, field = outgoing(values, element[1], came.name if came else element[0], share, came)
        return (
            rebuild(column, share, [rebuild(offsets, share, []), values]),
            ColumnMetadata(name, children=(field,)),
        )
    if (fields := field_dtypes(dtype)) is not None:
        children, metadata = _children(column, fields, share, below)
        return rebuild(column, share, children), ColumnMetadata(name, children=metadata)
    return rebuild_all(column, share), ColumnMetadata(
        name, timezone=_timezone(dtype), precision=_precision(dtype)
    )


def _fields_below(origin: pa.Field | None, dtype: Any) -> list[pa.Field | None]:
    if origin is None:
        return []
    fields = child_fields(origin.type)
    if pa.types.is_dictionary(storage(origin.type)) and not isinstance(
        dtype, cudf.CategoricalDtype
    ):
        # The plain values are here, and what is below them.
        fields = child_fields(fields[0].type)
    return fields


def _children(
    column: plc.Column, dtypes: dict[str, Any], share: Share, below: list[pa.Field | None]
) -> tuple[list[plc.Column], tuple[ColumnMetadata, ...]]:
    children = column.children()
    inherited = below if len(below) == len(children) else [None] * len(children)
    pairs = [
        outgoing(child, dtype, str(name), share, noted_on_memory(child, field))
        for child, (name, dtype), field in zip(children, dtypes.items(), inherited, strict=True)
    ]
    return [child for child, _ in pairs], tuple(field for _, field in pairs)


def _category(
    column: plc.Column, dtype: cudf.CategoricalDtype, name: str, share: Share
) -> tuple[plc.Column, ColumnMetadata]:
    categories = category_values(dtype)
    values, field = outgoing(categories.plc_column, categories.dtype, "", share, recall(categories))
    type_id = column.type().id()
    signed, limit = _UNSIGNED_TO_SIGNED[type_id]
    codes = plc.Column(
        plc.DataType(signed if values.size() <= limit else type_id),
        # A dictionary's offset counts in its codes, which begin where the buffer does.
        column.offset() + column.size(),
        share(column.data()),
        None,
        0,
        0,
        [],
    )
    dictionary = plc.Column(
        plc.DataType(plc.TypeId.DICTIONARY32),
        column.size(),
        None,
        share(column.null_mask()),
        column.null_count(),
        column.offset(),
        [codes, values],
    )
    return dictionary, ColumnMetadata(name, ordered=bool(dtype.ordered), children=(field,))


def _interval(
    column: plc.Column,
    subtype: Any,
    closed: str | None,
    name: str,
    share: Share,
    below: list[pa.Field | None],
) -> tuple[plc.Column, ColumnMetadata]:
    children, fields = _children(column, {"left": subtype, "right": subtype}, share, below)
    alias = _alias(subtype)
    extension = {}
    if alias is not None:
        # What pandas' ArrowIntervalType writes; a missing side means "right" to cuDF too.
        description = json.dumps({"subtype": alias, "closed": closed or "right"})
        extension = {
            EXTENSION_NAME: b"pandas.interval",
            EXTENSION_METADATA: description.encode(),
        }
    return rebuild(column, share, children), ColumnMetadata(
        name, metadata=extension, children=fields
    )


def _alias(subtype: Any) -> str | None:
    """Return the name that pandas' extension type finds an interval's subtype by, if any."""
    # pandas reads it with pa.type_for_alias, which fails on zones and decimals; without the
    # extension a peer sees a plain struct, and our own metadata still says interval.
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
