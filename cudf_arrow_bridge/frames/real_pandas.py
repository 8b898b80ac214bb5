# SPDX-License-Identifier: Apache-2.0
"""What this package uses of pandas, as itself: while cudf.pandas is active, pandas gives proxies.

cuDF takes and gives real pandas objects. Each name is imported by itself, since the attributes of a
module are proxies again as soon as it is asked for them.
"""

from __future__ import annotations

from .proxies import without_proxies

with without_proxies():
    from pandas import (
        NA,
        ArrowDtype,
        BooleanDtype,
        Categorical,
        CategoricalDtype,
        DataFrame,
        DatetimeTZDtype,
        Flags,
        Float32Dtype,
        Float64Dtype,
        Index,
        Int8Dtype,
        Int16Dtype,
        Int32Dtype,
        Int64Dtype,
        Interval,
        IntervalDtype,
        MultiIndex,
        NaT,
        Period,
        RangeIndex,
        Series,
        StringDtype,
        Timedelta,
        Timestamp,
        UInt8Dtype,
        UInt16Dtype,
        UInt32Dtype,
        UInt64Dtype,
        __version__,
        get_option,
    )
    from pandas.api.extensions import ExtensionDtype
    from pandas.api.types import infer_dtype, is_extension_array_dtype, pandas_dtype

__all__ = [
    "NA",
    "ArrowDtype",
    "BooleanDtype",
    "Categorical",
    "CategoricalDtype",
    "DataFrame",
    "DatetimeTZDtype",
    "ExtensionDtype",
    "Flags",
    "Float32Dtype",
    "Float64Dtype",
    "Index",
    "Int8Dtype",
    "Int16Dtype",
    "Int32Dtype",
    "Int64Dtype",
    "Interval",
    "IntervalDtype",
    "MultiIndex",
    "NaT",
    "Period",
    "RangeIndex",
    "Series",
    "StringDtype",
    "Timedelta",
    "Timestamp",
    "UInt8Dtype",
    "UInt16Dtype",
    "UInt32Dtype",
    "UInt64Dtype",
    "__version__",
    "get_option",
    "infer_dtype",
    "is_extension_array_dtype",
    "pandas_dtype",
]
