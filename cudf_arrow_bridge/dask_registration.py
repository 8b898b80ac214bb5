# SPDX-License-Identifier: Apache-2.0
"""How dask.distributed comes to know how device arrays travel, whoever is imported first."""

from __future__ import annotations

from .import_watcher import ImportWatcher

__all__ = ["register_with_dask"]


def register_with_dask() -> None:
    """Tell Dask's dispatchers who knows our classes, now or as soon as it is imported."""
    _WATCHER.start()


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


_WATCHER = ImportWatcher("distributed.protocol", _register)
