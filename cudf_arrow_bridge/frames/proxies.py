# SPDX-License-Identifier: Apache-2.0
"""Detection of pandas objects and cudf.pandas proxies, without importing pandas or cudf.pandas."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeGuard

_CLASSES = ("DataFrame", "Series", "Index")


def unwrapped(obj: Any) -> Any:
    """Return the cuDF or pandas object that a cudf.pandas proxy wraps; other objects unchanged."""
    cudf_pandas = sys.modules.get("cudf.pandas")
    if cudf_pandas is None or not cudf_pandas.is_proxy_object(obj):
        return obj
    # The public `as_gpu_object` and `as_cpu_object` would copy the object to the GPU or CPU.
    return obj._fsproxy_wrapped


def is_pandas(obj: Any) -> TypeGuard[Any]:
    """Return whether an object, which is not a proxy, is a pandas frame, series or index."""
    for cls in type(obj).__mro__:
        package, *modules = cls.__module__.split(".")
        # The interchange protocol has another class DataFrame.
        if cls.__name__ in _CLASSES and package == "pandas" and "interchange" not in modules:
            return True
    return False


def as_proxy(obj: Any) -> Any:
    """Return a proxy of a cuDF object, without moving its memory."""
    return sys.modules["cudf.pandas"].as_proxy_object(obj)


def check_active() -> None:
    """Raise ValueError if cudf.pandas is not active."""
    cudf_pandas = sys.modules.get("cudf.pandas")
    if cudf_pandas is None or not cudf_pandas.LOADED:
        raise ValueError(
            'to="cudf.pandas": cudf.pandas is not active: use '
            "cudf.pandas.install(), %load_ext cudf.pandas or python -m cudf.pandas"
        )


def proxy_class(cls: type) -> type:
    """Return the proxy class of a cuDF class."""
    final_types: dict[type, type] = sys.modules["cudf.pandas.fast_slow_proxy"].get_final_type_map()
    return final_types[cls]


def without_proxies() -> AbstractContextManager[Any]:
    """Return a context in which this thread imports pandas itself, not proxies."""
    accelerator = sys.modules.get("cudf.pandas.module_accelerator")
    return nullcontext() if accelerator is None else accelerator.disable_module_accelerator()
