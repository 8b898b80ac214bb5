# SPDX-License-Identifier: Apache-2.0
"""Hints: what an Arrow type does not say of a cuDF dtype, as JSON.

Most dtypes follow from the Arrow type and need no hint (None). Others do: pandas' masked dtypes,
the several string dtypes, ``pd.ArrowDtype``, and nested dtypes that contain one of them. A hint
counts only where it fits the Arrow type that it comes with.
"""

from __future__ import annotations

import base64
from typing import Any

import cudf
import numpy as np
import pyarrow as pa

from ..arrow.metadata import storage_type_of
from . import real_pandas as pd
from .cudf_private import DEFAULT_STRING_DTYPE
from .labels import Json, decode_string_dtype, encode_string_dtype

__all__ = [
    "dtype_hint",
    "element_dtype",
    "field_dtypes",
    "fits",
    "hinted_arrow_type",
    "interval_dtype",
    "is_interval_type",
    "leaf_dtype",
]

_MASKED: dict[str, tuple[Any, pa.DataType]] = {
    str(dtype): (dtype, arrow_type)
    for dtype, arrow_type in (
        (pd.Int8Dtype(), pa.int8()),
        (pd.Int16Dtype(), pa.int16()),
        (pd.Int32Dtype(), pa.int32()),
        (pd.Int64Dtype(), pa.int64()),
        (pd.UInt8Dtype(), pa.uint8()),
        (pd.UInt16Dtype(), pa.uint16()),
        (pd.UInt32Dtype(), pa.uint32()),
        (pd.UInt64Dtype(), pa.uint64()),
        (pd.Float32Dtype(), pa.float32()),
        (pd.Float64Dtype(), pa.float64()),
        (pd.BooleanDtype(), pa.bool_()),
    )
}


def interval_dtype(dtype: Any) -> tuple[Any, str | None] | None:
    """Return an interval's subtype and closed side, None for other dtypes."""
    if isinstance(dtype, cudf.IntervalDtype):
        return dtype.subtype, dtype.closed
    if isinstance(dtype, pd.ArrowDtype) and is_interval_type(dtype.pyarrow_dtype):
        return pd.ArrowDtype(dtype.pyarrow_dtype.subtype), dtype.pyarrow_dtype.closed
    return None


def is_interval_type(arrow_type: pa.DataType) -> bool:
    """Say whether an Arrow type is pandas' interval extension."""
    return (
        isinstance(arrow_type, pa.ExtensionType) and arrow_type.extension_name == "pandas.interval"
    )


def field_dtypes(dtype: Any) -> dict[str, Any] | None:
    """Return the dtypes of a struct's fields, None for other dtypes."""
    if isinstance(dtype, cudf.StructDtype):
        return dict(dtype.fields)
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_struct(dtype.pyarrow_dtype):
        return {field.name: pd.ArrowDtype(field.type) for field in dtype.pyarrow_dtype}
    return None


def element_dtype(dtype: Any) -> tuple[str, Any] | None:
    """Return the name and the dtype of a list's elements, None for other dtypes."""
    if isinstance(dtype, cudf.ListDtype):
        return "item", dtype.element_type
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_list(dtype.pyarrow_dtype):
        field = dtype.pyarrow_dtype.value_field
        return field.name, pd.ArrowDtype(field.type)
    return None


def dtype_hint(dtype: Any) -> Json:
    """Return the hint for a dtype of cuDF or pandas, None if its Arrow type says all."""
    if isinstance(dtype, np.dtype):
        return "object" if dtype.kind == "O" else None
    if isinstance(dtype, pd.ArrowDtype):
        schema = pa.schema([pa.field("", dtype.pyarrow_dtype)])
        return {"arrow": base64.b64encode(schema.serialize().to_pybytes()).decode()}
    if isinstance(dtype, pd.StringDtype):
        if _same_string(dtype, DEFAULT_STRING_DTYPE):
            return None
        return encode_string_dtype(dtype)
    if str(dtype) in _MASKED:
        return str(dtype)
    if isinstance(dtype, (cudf.CategoricalDtype, pd.CategoricalDtype)):
        inner = dtype_hint(dtype.categories.dtype)
        if inner is None and dtype.ordered is not None:
            return None
        return {"category": inner, "ordered": dtype.ordered}
    if isinstance(dtype, cudf.IntervalDtype):
        return {"interval": dtype_hint(dtype.subtype), "closed": dtype.closed}
    if isinstance(dtype, cudf.ListDtype):
        inner = dtype_hint(dtype.element_type)
        return None if inner is None else {"list": inner}
    if isinstance(dtype, cudf.StructDtype):
        fields = [dtype_hint(field) for field in dtype.fields.values()]
        return {"struct": fields} if any(field is not None for field in fields) else None
    return None


def fits(hint: Json, arrow_type: pa.DataType) -> bool:
    """Say whether a hint describes a dtype that this Arrow type can carry."""
    if hint is None:
        return True
    if isinstance(hint, str):
        if hint == "object":
            return _is_string(arrow_type)
        return hint in _MASKED and arrow_type == _MASKED[hint][1]
    if not isinstance(hint, dict):
        return False
    match hint:
        case {"string": [str(), "NA" | "nan"]}:
            return _is_string(arrow_type)
        case {"arrow": str()}:
            hinted = hinted_arrow_type(hint)
            return hinted is not None and _same_column_type(hinted, arrow_type)
        case {"category": inner, "ordered": bool() | None}:
            return pa.types.is_dictionary(arrow_type) and fits(inner, arrow_type.value_type)
        case {"interval": inner, "closed": "left" | "right" | "both" | "neither" | None}:
            edges = storage_type_of(arrow_type)
            return (
                pa.types.is_struct(edges)
                and [field.name for field in edges] == ["left", "right"]
                and edges[0].type == edges[1].type
                and fits(inner, edges[0].type)
            )
        case {"list": inner}:
            return _is_list(arrow_type) and fits(inner, arrow_type.value_type)
        case {"struct": list(inner)}:
            return (
                pa.types.is_struct(arrow_type)
                and len(inner) == arrow_type.num_fields
                and all(
                    fits(field_hint, field.type)
                    for field_hint, field in zip(inner, arrow_type, strict=True)
                )
            )
    return False


def leaf_dtype(hint: Json, default: Any) -> Any:
    """Return the dtype of a column that is not nested: the hinted one, else the default."""
    if hint == "object":
        return np.dtype(object)
    if isinstance(hint, str):
        return _MASKED[hint][0]
    if isinstance(hint, dict) and "string" in hint:
        return decode_string_dtype(hint)
    return default


def hinted_arrow_type(hint: Json) -> pa.DataType | None:
    """Return the Arrow type in the hint of a ``pd.ArrowDtype``, None if it holds none."""
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(hint["arrow"]))).field(0).type
    except (KeyError, ValueError, OSError):
        return None


def _same_string(left: pd.StringDtype, right: pd.StringDtype) -> bool:
    missing = (left.na_value is pd.NA) == (right.na_value is pd.NA)
    return missing and bool(left.storage == right.storage)


def _is_string(arrow_type: pa.DataType) -> bool:
    # Null too: a peer may send a string column without values as one.
    return any(
        check(arrow_type)
        for check in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_null,
        )
    )


def _is_list(arrow_type: pa.DataType) -> bool:
    return any(
        check(arrow_type)
        for check in (
            pa.types.is_list,
            pa.types.is_large_list,
            pa.types.is_fixed_size_list,
            pa.types.is_list_view,
            pa.types.is_large_list_view,
        )
    )


def _same_column_type(hinted: pa.DataType, actual: pa.DataType) -> bool:
    """Say whether two Arrow types are equal, or such that cuDF has one column type for both."""
    if is_interval_type(hinted):
        return bool(storage_type_of(hinted).equals(storage_type_of(actual)))
    if _is_string(hinted) and not pa.types.is_null(hinted):
        return _is_string(actual) and not pa.types.is_null(actual)
    if pa.types.is_list(hinted):
        return _is_list(actual) and _same_column_type(hinted.value_type, actual.value_type)
    if pa.types.is_struct(hinted):
        return (
            pa.types.is_struct(actual)
            and [field.name for field in hinted] == [field.name for field in actual]
            and all(
                _same_column_type(left.type, right.type)
                for left, right in zip(hinted, actual, strict=True)
            )
        )
    return bool(hinted.equals(actual))
