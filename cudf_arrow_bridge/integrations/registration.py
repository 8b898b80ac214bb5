# SPDX-License-Identifier: Apache-2.0
"""Registration with the layer of arrays, and with cuDF, Dask and dask-cuda in any import order."""

from __future__ import annotations

import importlib.abc
import sys
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from ..arrow import higher_layers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_ACCESSOR = "arrow_device"


def register_all() -> None:
    """Set the functions of higher layers, and register with cuDF, cudf.pandas, Dask and dask-cuda.

    Register with these libraries now, or when they are imported.
    """
    higher_layers.functions = _array_functions
    # cudf.pandas creates the proxies of cuDF's classes when it is activated.
    run_after_import("cudf.pandas._wrappers.pandas", _register_accessors_of_proxies)
    run_after_import("cudf", _register_accessors)
    run_after_import("distributed.protocol", _register_serializers)
    run_after_import("dask_cuda.is_device_object", _register_device_objects)


def _array_functions() -> ModuleType:
    # Imported when it is needed, because the import takes long.
    from . import array_functions

    return array_functions


def _register_accessors() -> None:
    import cudf
    from cudf.api import extensions

    from .accessors import ArrowDeviceAccessor

    for cls, register in (
        (cudf.DataFrame, extensions.register_dataframe_accessor),
        (cudf.Series, extensions.register_series_accessor),
        (cudf.Index, extensions.register_index_accessor),
    ):
        if getattr(cls, _ACCESSOR, None) is not ArrowDeviceAccessor:
            register(_ACCESSOR)(ArrowDeviceAccessor)


def _register_accessors_of_proxies() -> None:
    import cudf

    from ..frames.proxies import proxy_class

    _register_accessors()
    for cls in (cudf.DataFrame, cudf.Series, cudf.Index):
        setattr(proxy_class(cls), _ACCESSOR, vars(cls)[_ACCESSOR])


def _register_serializers() -> None:
    from dask.sizeof import sizeof
    from distributed.protocol.cuda import cuda_deserialize, cuda_serialize
    from distributed.protocol.serialize import dask_deserialize, dask_serialize

    register = partial(import_module, ".dask_serializers", __package__)
    for dispatcher in (dask_serialize, dask_deserialize, cuda_serialize, cuda_deserialize, sizeof):
        dispatcher.register_lazy("cudf_arrow_bridge", register)


def _register_device_objects() -> None:
    from dask_cuda.is_device_object import is_device_object

    # By default it asks for ``__cuda_array_interface__``, which arrays of several buffers do not
    # have, and which keeps the memory of other arrays alive.
    @is_device_object.register_lazy("cudf_arrow_bridge")  # type: ignore[untyped-decorator]
    def register() -> None:
        from ..arrow.device_array import DeviceArray
        from ..ipc.pickling import ON_DEVICE

        is_device_object.register(DeviceArray, lambda array: array.device_type in ON_DEVICE)


def run_after_import(module: str, run: Callable[[], None]) -> None:
    """Run a function now if a module is loaded, otherwise directly after it is imported."""
    hook = _Hook(module, run)
    if module in sys.modules:
        run()
    elif hook not in sys.meta_path:
        sys.meta_path.insert(0, hook)


@dataclass(frozen=True)
class _Hook(importlib.abc.MetaPathFinder):
    module: str
    run: Callable[[], None]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module with the other finders and run the function after it is loaded."""
        if fullname != self.module:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((found for found in specs if found is not None), None)
        if spec is None or spec.loader is None:
            return spec
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self.run()

        # Set only on this loader instance, which keeps its class and other methods.
        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
