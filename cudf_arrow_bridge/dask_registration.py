# SPDX-License-Identifier: Apache-2.0
"""Registration of device arrays with dask.distributed, in either import order."""

from __future__ import annotations

from .import_hook import run_after_import

__all__ = ["register_with_dask"]


def register_with_dask() -> None:
    """Register our serializers with Dask's dispatchers now, or when Dask is imported."""
    run_after_import("distributed.protocol", _register)


def _register() -> None:
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
