# SPDX-License-Identifier: Apache-2.0
"""Dtype hints: properties of a cuDF dtype that its Arrow type cannot express, as JSON.

The Arrow type determines most dtypes, whose hint is None. Other dtypes need a hint: pandas' masked
dtypes, string dtypes other than the default, ``pd.ArrowDtype``, and nested dtypes that contain one
of them. A hint is used only if it is compatible with its Arrow type.
"""

from __future__ import annotations

import base64
from typing import Any

import cudf
import numpy as np
import pyarrow as pa

from ..arrow.metadata import child_fields
from . import real_pandas as pd
from .cudf_private import (
    DEFAULT_STRING_DTYPE,
    categorical_dtype,
    category_values,
    cudf_dtype_from_pa_type,
)
from .labels import Json, decode_string_dtype, encode_string_dtype


def child_dtypes(dtype: Any) -> dict[str, Any] | None:
    """Return the names and dtypes of the elements of a list, or the fields of a struct or interval.

    Return None for other dtypes.
    """
    if isinstance(dtype, cudf.ListDtype):
        return {"item": dtype.element_type}
    if isinstance(dtype, (cudf.StructDtype, cudf.IntervalDtype)):
        return dict(dtype.fields)
    if isinstance(dtype, pd.ArrowDtype):
        arrow_type = dtype.pyarrow_dtype
        if pa.types.is_list(arrow_type) or pa.types.is_struct(arrow_type):
            return {field.name: pd.ArrowDtype(field.type) for field in child_fields(arrow_type)}
    return None


def dtype_hint(dtype: Any) -> Json:
    """Return the hint for a cuDF or pandas dtype, or None if its Arrow type determines it."""
    if isinstance(dtype, np.dtype):
        return "object" if dtype.kind == "O" else None
    if isinstance(dtype, pd.ArrowDtype):
        schema = pa.schema([pa.field("", dtype.pyarrow_dtype)])
        return {"arrow": base64.b64encode(schema.serialize().to_pybytes()).decode()}
    if isinstance(dtype, pd.StringDtype):
        form = encode_string_dtype(dtype)
        return None if form == encode_string_dtype(DEFAULT_STRING_DTYPE) else form
    if hasattr(dtype, "numpy_dtype"):
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


def with_hint(dtype: Any, hint: Json) -> Any:
    """Return the dtype that a hint specifies for a column.

    Parameters
    ----------
    dtype
        The dtype that the Arrow type of the column determines. In columns of Arrow's null type it
        is ``object``, otherwise strings have the default string dtype.
    hint
        The result of :func:`dtype_hint`, parsed from JSON. The hint of the categories of a
        categorical is ignored.

    Raises
    ------
    Exception
        If the hint is not compatible with the dtype, or is not a result of :func:`dtype_hint`.
    """
    is_string = dtype in (DEFAULT_STRING_DTYPE, np.dtype(object))
    match hint:
        case None:
            return dtype
        case "object" if is_string:
            return np.dtype(object)
        case {"string": _} if is_string:
            return decode_string_dtype(hint)
        case str():
            masked = pd.pandas_dtype(hint)
            if getattr(masked, "numpy_dtype", None) == dtype:
                return masked
        case {"arrow": str(text)}:
            arrow_type = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))).field(0).type
            if cudf_dtype_from_pa_type(arrow_type) == dtype:
                return pd.ArrowDtype(arrow_type)
        case {"category": _, "ordered": ordered} if isinstance(dtype, cudf.CategoricalDtype):
            # In cuDF, `ordered` can also be None, which Arrow cannot express.
            return categorical_dtype(category_values(dtype), None) if ordered is None else dtype
        case {"interval": inner, "closed": closed}:
            left, right = dtype.fields.items()
            if (left[0], right) == ("left", ("right", left[1])):
                return cudf.IntervalDtype(with_hint(left[1], inner), closed)
        case {"list": inner} if isinstance(dtype, cudf.ListDtype):
            return cudf.ListDtype(with_hint(dtype.element_type, inner))
        case {"struct": list(inner)} if isinstance(dtype, cudf.StructDtype):
            hints = dict(zip(dtype.fields, inner, strict=True))
            fields = {name: with_hint(field, hints[name]) for name, field in dtype.fields.items()}
            return cudf.StructDtype(fields)
    raise ValueError(f"expected a hint for {dtype}, got {hint!r}")
