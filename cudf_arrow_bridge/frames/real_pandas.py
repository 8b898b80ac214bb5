# SPDX-License-Identifier: Apache-2.0
"""The pandas classes and functions that this package uses, not their cudf.pandas proxies.

cuDF accepts and returns real pandas objects. Each name is imported individually, because attributes
of the pandas module are proxies outside of the context.
"""

from __future__ import annotations

from .proxies import without_proxies

with without_proxies():
    from pandas import NA as NA
    from pandas import ArrowDtype as ArrowDtype
    from pandas import Categorical as Categorical
    from pandas import CategoricalDtype as CategoricalDtype
    from pandas import DataFrame as DataFrame
    from pandas import DatetimeTZDtype as DatetimeTZDtype
    from pandas import Flags as Flags
    from pandas import Index as Index
    from pandas import Interval as Interval
    from pandas import IntervalDtype as IntervalDtype
    from pandas import MultiIndex as MultiIndex
    from pandas import NaT as NaT
    from pandas import Period as Period
    from pandas import RangeIndex as RangeIndex
    from pandas import Series as Series
    from pandas import SparseDtype as SparseDtype
    from pandas import StringDtype as StringDtype
    from pandas import Timedelta as Timedelta
    from pandas import Timestamp as Timestamp
    from pandas import __version__ as __version__
    from pandas import get_option as get_option
    from pandas.api.extensions import ExtensionDtype as ExtensionDtype
    from pandas.api.types import infer_dtype as infer_dtype
    from pandas.api.types import is_extension_array_dtype as is_extension_array_dtype
    from pandas.api.types import pandas_dtype as pandas_dtype
