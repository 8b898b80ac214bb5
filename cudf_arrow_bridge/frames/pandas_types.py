# SPDX-License-Identifier: Apache-2.0
"""What the ``pandas`` metadata says about a column's type."""

from __future__ import annotations

from functools import cache
from typing import Any

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa

from .cudf_private import codes_dtype
from .dtypes import element_dtype, field_dtypes, interval_dtype
from .labels import Json

__all__ = ["pandas_type"]

_ARROW_NAMES = {"float": "float32", "double": "float64", "string": "unicode", "null": "empty"}


def pandas_type(dtype: Any) -> tuple[str, str, Json]:
    """Return a dtype's ``pandas_type``, ``numpy_type`` and ``metadata``."""
    if isinstance(dtype, cudf.CategoricalDtype):
        codes = np.dtype(f"i{codes_dtype(dtype).itemsize}")
        metadata = {"num_categories": len(dtype.categories), "ordered": bool(dtype.ordered)}
        return "categorical", str(codes), metadata
    if isinstance(dtype, pd.DatetimeTZDtype):
        return "datetimetz", f"datetime64[{dtype.unit}]", {"timezone": str(dtype.tz)}
    if isinstance(dtype, np.dtype):
        return _plain(dtype)
    kind, metadata = _kind(dtype)
    return kind, _numpy_type(dtype), metadata


@cache
def _plain(dtype: np.dtype[Any]) -> tuple[str, str, Json]:
    # Most columns are of these few; NumPy takes its time to name a dtype.
    if dtype.kind == "O":
        return "unicode", "object", None
    kind = {"M": "datetime", "m": "timedelta"}.get(dtype.kind)
    return kind or str(dtype), str(dtype), None


def _kind(dtype: Any) -> tuple[str, Json]:
    if (element := element_dtype(dtype)) is not None:
        return f"list[{pandas_type(element[1])[0]}]", None
    if field_dtypes(dtype) is not None or interval_dtype(dtype) is not None:
        return "object", None
    decimal = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else dtype
    if hasattr(decimal, "precision"):
        return "decimal", {"precision": int(decimal.precision), "scale": int(decimal.scale)}
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow_kind(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.StringDtype):
        return "unicode", None
    return str(dtype.numpy_dtype), None


def _arrow_kind(arrow_type: pa.DataType) -> tuple[str, Json]:
    if pa.types.is_timestamp(arrow_type):
        zone = arrow_type.tz
        return ("datetime", None) if zone is None else ("datetimetz", {"timezone": zone})
    if pa.types.is_duration(arrow_type):
        return "timedelta", None
    if pa.types.is_large_string(arrow_type):
        return "unicode", None
    return _ARROW_NAMES.get(str(arrow_type), str(arrow_type)), None


def _numpy_type(dtype: Any) -> str:
    """Return a dtype's string if pandas would know it by that, else ``object``."""
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return "string" if dtype.storage == "pyarrow" else f"string[{dtype.storage}]"
    try:
        known = pd.api.types.pandas_dtype(str(dtype))
    except (TypeError, ValueError, NotImplementedError):
        return "object"
    # pandas can say an interval only where the Arrow field says so too.
    return "object" if isinstance(known, pd.IntervalDtype) else str(known)
