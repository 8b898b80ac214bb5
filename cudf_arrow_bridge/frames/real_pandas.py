# SPDX-License-Identifier: Apache-2.0
"""The classes and functions of pandas itself, not their cudf.pandas proxies.

cuDF accepts and returns real pandas objects. The names are those of pandas, ``pandas.api.types``
and ``pandas.api.extensions``.
"""

from __future__ import annotations

from typing import Any

from .proxies import without_proxies


def __getattr__(name: str) -> Any:
    # Outside of the context, attributes of the pandas modules are proxies.
    with without_proxies():
        import pandas as pd

        modules = (pd, pd.api.types, pd.api.extensions)
        owner = next((module for module in modules if hasattr(module, name)), pd)
        value = globals()[name] = getattr(owner, name)
    return value
