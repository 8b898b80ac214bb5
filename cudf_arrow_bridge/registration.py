# SPDX-License-Identifier: Apache-2.0
"""Registration of accessors with cuDF and of serializers with Dask, in either import order."""

from __future__ import annotations

from .import_hook import run_after_import

_ACCESSOR = "arrow_device"


def register_when_imported() -> None:
    """Register with cuDF, cudf.pandas and Dask now, or when they are imported."""
    # cudf.pandas creates the proxies of cuDF's classes when it is activated.
    run_after_import("cudf.pandas._wrappers.pandas", _register_accessors_of_proxies)
    run_after_import("cudf", _register_accessors)
    run_after_import("distributed.protocol", _register_serializers)


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

    from .frames.proxies import proxy_class

    _register_accessors()
    for cls in (cudf.DataFrame, cudf.Series, cudf.Index):
        setattr(proxy_class(cls), _ACCESSOR, vars(cls)[_ACCESSOR])


def _register_serializers() -> None:
    from dask.sizeof import sizeof
    from distributed.protocol.cuda import cuda_deserialize, cuda_serialize
    from distributed.protocol.serialize import dask_deserialize, dask_serialize

    for dispatcher in (
        *(dask_serialize, dask_deserialize),
        *(cuda_serialize, cuda_deserialize),
        sizeof,
    ):
        dispatcher.register_lazy("cudf_arrow_bridge", _import_serializers)


def _import_serializers() -> None:
    from .dask import serializers  # noqa: F401
