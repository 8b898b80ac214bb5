# SPDX-License-Identifier: Apache-2.0
"""pandas objects and the proxies of cudf.pandas, each a cuDF or a pandas object.

Nothing of either is imported here.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeGuard

__all__ = [
    "as_proxy",
    "check_active",
    "is_pandas",
    "is_pandas_series",
    "is_proxy",
    "proxy_class",
    "without_proxies",
]

_CLASSES = ("DataFrame", "Series", "Index")


def is_proxy(obj: Any) -> TypeGuard[Any]:
    """Say whether an object is a proxy."""
    cudf_pandas = sys.modules.get("cudf.pandas")
    return cudf_pandas is not None and cudf_pandas.is_proxy_object(obj)


def is_pandas(obj: Any) -> TypeGuard[Any]:
    """Say whether an object that is no proxy is a frame, series or index of pandas."""
    return any(
        cls.__name__ in _CLASSES and cls.__module__.partition(".")[0] == "pandas"
        for cls in type(obj).__mro__
    )


def is_pandas_series(obj: Any) -> TypeGuard[Any]:
    """Say whether an object that is no proxy is a series of pandas."""
    return is_pandas(obj) and obj.ndim == 1 and hasattr(obj, "index")


def as_proxy(obj: Any) -> Any:
    """Return the proxy of a cuDF object, which stays where it is."""
    return sys.modules["cudf.pandas"].as_proxy_object(obj)


def check_active() -> None:
    """Refuse to make proxies where there are none.

    Raises
    ------
    ValueError
        If cudf.pandas is not active.
    """
    cudf_pandas = sys.modules.get("cudf.pandas")
    if cudf_pandas is None or not cudf_pandas.LOADED:
        raise ValueError(
            'to="cudf.pandas" found while cudf.pandas is not active, "cudf" expected; '
            "cudf.pandas.install(), %load_ext cudf.pandas and python -m cudf.pandas activate it"
        )


def proxy_class(cls: type) -> type:
    """Return the class of the proxies for a class of cuDF's."""
    final_types: dict[type, type] = sys.modules["cudf.pandas.fast_slow_proxy"].get_final_type_map()
    return final_types[cls]


def without_proxies() -> AbstractContextManager[Any]:
    """Return a context in which this thread finds real pandas where pandas is imported."""
    accelerator = sys.modules.get("cudf.pandas.module_accelerator")
    return nullcontext() if accelerator is None else accelerator.disable_module_accelerator()
