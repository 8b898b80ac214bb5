# SPDX-License-Identifier: Apache-2.0
"""A pylibcudf column that came from Arrow as a cuDF column, converted where cuDF insists."""

from __future__ import annotations

import json
from typing import Any

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pylibcudf as plc

from .._core.columns import rebuild
from ..arrow.metadata import EXTENSION_METADATA, EXTENSION_NAME, storage
from ..cuda.residency import Place
from . import convert
from .cudf_private import (
    DEFAULT_STRING_DTYPE,
    ColumnBase,
    codes_dtype,
    compatible_timezone,
    make_column,
)
from .dtypes import fits, is_interval_type, leaf_dtype, type_of
from .labels import Json
from .origins import remember

__all__ = ["incoming"]

_NUMPY = {
    plc.TypeId.INT8: "int8",
    plc.TypeId.INT16: "int16",
    plc.TypeId.INT32: "int32",
    plc.TypeId.INT64: "int64",
    plc.TypeId.UINT8: "uint8",
    plc.TypeId.UINT16: "uint16",
    plc.TypeId.UINT32: "uint32",
    plc.TypeId.UINT64: "uint64",
    plc.TypeId.FLOAT32: "float32",
    plc.TypeId.FLOAT64: "float64",
    plc.TypeId.BOOL8: "bool",
    plc.TypeId.TIMESTAMP_SECONDS: "datetime64[s]",
    plc.TypeId.TIMESTAMP_MILLISECONDS: "datetime64[ms]",
    plc.TypeId.TIMESTAMP_MICROSECONDS: "datetime64[us]",
    plc.TypeId.TIMESTAMP_NANOSECONDS: "datetime64[ns]",
    plc.TypeId.DURATION_SECONDS: "timedelta64[s]",
    plc.TypeId.DURATION_MILLISECONDS: "timedelta64[ms]",
    plc.TypeId.DURATION_MICROSECONDS: "timedelta64[us]",
    plc.TypeId.DURATION_NANOSECONDS: "timedelta64[ns]",
}
_DECIMALS = {
    plc.TypeId.DECIMAL32: (cudf.Decimal32Dtype, 9),
    plc.TypeId.DECIMAL64: (cudf.Decimal64Dtype, 18),
    plc.TypeId.DECIMAL128: (cudf.Decimal128Dtype, 38),
}
_NESTED = (plc.TypeId.LIST, plc.TypeId.STRUCT, plc.TypeId.DICTIONARY32)
_DAYS = {
    plc.TypeId.TIMESTAMP_DAYS: plc.TypeId.TIMESTAMP_SECONDS,
    plc.TypeId.DURATION_DAYS: plc.TypeId.DURATION_SECONDS,
}


def incoming(column: plc.Column, field: pa.Field, form: Json, place: Place) -> ColumnBase:
    """Return a column that came from Arrow as a cuDF column.

    Zero-copy, but for what cuDF cannot hold: days become seconds, codes of another width than cuDF
    wants are widened or narrowed, a null array becomes a string column without values, and a
    dictionary becomes its plain values where cuDF has no category: inside lists and structs, and
    where null is among the dictionary's values.

    What the column was in Arrow is remembered with its memory, and that is what it leaves as again.

    Parameters
    ----------
    column
        The column as imported.
    field
        The field it came with. Its name begins the path in errors.
    form
        The hint for its dtype, ignored where it doesn't fit the field.
    place
        Where conversions run.

    Raises
    ------
    TypeError
        If no cuDF frame can hold such a column.
    """
    made = _hinted(column, field, form, place)
    if made is None:
        made = make_column(*_incoming(column, field, None, place, field.name, True))
    remember(made, field)
    return made


def _hinted(column: plc.Column, field: pa.Field, form: Json, place: Place) -> ColumnBase | None:
    if form is None or not fits(form, field.type):
        return None
    try:
        return make_column(*_incoming(column, field, form, place, field.name, True))
    except (TypeError, ValueError, NotImplementedError):
        # The hint asks for what cuDF does not have; without it the column may do.
        return None


def _incoming(
    column: plc.Column, field: pa.Field, form: Json, place: Place, path: str, top: bool
) -> tuple[plc.Column, Any]:
    """Return the column as cuDF stores it, and its dtype."""
    type_id = column.type().id()
    arrow_type = storage(field.type)
    if type_id == plc.TypeId.DICTIONARY32:
        return _dictionary(column, arrow_type, form, place, path, top)
    if type_id == plc.TypeId.LIST:
        column, dtype = _list(column, arrow_type, form, place, path)
    elif type_id == plc.TypeId.STRUCT:
        column, dtype = _struct(column, field, form, place, path)
    elif type_id == plc.TypeId.STRING:
        dtype = leaf_dtype(form, DEFAULT_STRING_DTYPE)
    elif type_id == plc.TypeId.EMPTY:
        # As cuDF takes pa.nulls(): its default string type, and inside a nested one, object.
        column = convert.all_null_strings(column.size(), place)
        dtype = leaf_dtype(form, DEFAULT_STRING_DTYPE if top else np.dtype(object))
    elif type_id in _DECIMALS:
        make, most = _DECIMALS[type_id]
        precision = arrow_type.precision if pa.types.is_decimal(arrow_type) else most
        dtype = make(precision, -column.type().scale())
    else:
        if type_id in _DAYS:
            column = convert.days_to_seconds(column, _DAYS[type_id], place)
            type_id = _DAYS[type_id]
        if type_id not in _NUMPY:
            raise _unsupported(path, f"{field.type} as libcudf's {type_id.name}")
        dtype = leaf_dtype(form, np.dtype(_NUMPY[type_id]))
        if pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
            dtype = _zoned(arrow_type, path)
    if isinstance(form, dict) and "arrow" in form:
        dtype = pd.ArrowDtype(type_of(form))
    return column, dtype


def _dictionary(
    column: plc.Column, arrow_type: pa.DataType, form: Json, place: Place, path: str, top: bool
) -> tuple[plc.Column, Any]:
    _, values = column.children()
    codes = convert.codes_of(column)
    value_field = pa.field("", arrow_type.value_type)
    inner = form.get("category") if isinstance(form, dict) else None
    indexable = values.type().id() not in (plc.TypeId.LIST, plc.TypeId.DICTIONARY32)
    if top and indexable and values.null_count() == 0:
        categories = make_column(*_incoming(values, value_field, inner, place, path, False))
        remember(categories, value_field)
        unknown = isinstance(form, dict) and form.get("ordered", False) is None
        ordered = None if unknown else arrow_type.ordered
        dtype = cudf.CategoricalDtype(categories, ordered)
        return convert.codes(codes, codes_dtype(dtype), place), dtype
    if place.host and values.type().id() in _NESTED:
        raise _unsupported(path, f"a dictionary of {arrow_type.value_type}")
    values, dtype = _incoming(values, value_field, inner, place, path, top)
    return convert.decode(codes, values, place), dtype


def _list(
    column: plc.Column, arrow_type: pa.DataType, form: Json, place: Place, path: str
) -> tuple[plc.Column, Any]:
    if pa.types.is_map(arrow_type):
        entries = pa.struct([arrow_type.key_field, arrow_type.item_field])
        field = pa.field("entries", entries)
    elif hasattr(arrow_type, "value_field"):
        field = arrow_type.value_field
    else:
        # The bytes of the several binary types.
        field = pa.field("item", pa.uint8())
    offsets, values = column.children()
    values, dtype = _incoming(values, field, _part(form, "list"), place, f"{path}[]", False)
    return _with_children(column, [offsets, values]), cudf.ListDtype(dtype)


def _struct(
    column: plc.Column, field: pa.Field, form: Json, place: Place, path: str
) -> tuple[plc.Column, Any]:
    fields = list(storage(field.type))
    names = [child.name for child in fields]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise _unsupported(path, f"a struct with two fields named {twice!r}")
    interval = _part(form, "interval")
    forms = _part(form, "struct") or [interval] * len(fields)
    pairs = [
        _incoming(child, child_field, child_form, place, f"{path}.{child_field.name}", False)
        for child, child_field, child_form in zip(column.children(), fields, forms, strict=True)
    ]
    column = _with_children(column, [child for child, _ in pairs])
    dtypes = [dtype for _, dtype in pairs]
    if isinstance(form, dict) and "interval" in form:
        return column, cudf.IntervalDtype(dtypes[0], form["closed"])
    if names == ["left", "right"] and dtypes[0] == dtypes[1] and (closed := _closed(field)):
        return column, cudf.IntervalDtype(dtypes[0], closed)
    return column, cudf.StructDtype(dict(zip(names, dtypes, strict=True)))


def _part(form: Json, key: str) -> Json:
    return form.get(key) if isinstance(form, dict) else None


def _closed(field: pa.Field) -> str | None:
    """Return the closed side of an interval, None for any other field."""
    if is_interval_type(field.type):
        return str(field.type.closed)
    # Without pandas loaded when the schema was read, pyarrow leaves the extension in the metadata.
    metadata = field.metadata or {}
    if metadata.get(EXTENSION_NAME) != b"pandas.interval":
        return None
    try:
        closed = json.loads(metadata[EXTENSION_METADATA])["closed"]
    except (KeyError, TypeError, ValueError):
        return None
    return closed if closed in ("left", "right", "both", "neither") else None


def _zoned(arrow_type: pa.DataType, path: str) -> Any:
    try:
        return compatible_timezone(pd.DatetimeTZDtype(arrow_type.unit, arrow_type.tz))
    except (NotImplementedError, TypeError, KeyError, ValueError) as error:
        raise _unsupported(path, f"{arrow_type}, a time zone that cuDF does not take") from error


def _with_children(column: plc.Column, children: list[plc.Column]) -> plc.Column:
    return rebuild(column, lambda span: span, children)


def _unsupported(path: str, found: str) -> TypeError:
    return TypeError(
        f"{path}: found {found}, expected a type that a cuDF frame can hold; "
        'import with to="pylibcudf" instead'
    )
