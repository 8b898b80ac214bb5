# SPDX-License-Identifier: Apache-2.0
"""Exchange cuDF data with any Arrow library in device memory."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cudf_arrow_bridge import _load

_load.load_libraries()

from cudf_arrow_bridge import _build_info  # noqa: E402
from cudf_arrow_bridge._core.interpreter import drain_releases  # noqa: E402
from cudf_arrow_bridge.accessors import register_when_imported  # noqa: E402
from cudf_arrow_bridge.arrow.buffers import BufferInfo  # noqa: E402
from cudf_arrow_bridge.arrow.device_array import DeviceArray  # noqa: E402
from cudf_arrow_bridge.arrow.device_array_stream import DeviceArrayStream  # noqa: E402
from cudf_arrow_bridge.arrow.fences import FenceResult, Fences  # noqa: E402
from cudf_arrow_bridge.arrow.report import ColumnReport  # noqa: E402
from cudf_arrow_bridge.async_.device_array_stream import AsyncDeviceArrayStream  # noqa: E402
from cudf_arrow_bridge.cuda.residency import DeviceType, has_gpu  # noqa: E402
from cudf_arrow_bridge.dask_registration import register_with_dask  # noqa: E402
from cudf_arrow_bridge.from_arrow import (  # noqa: E402
    from_arrow_device,
    from_arrow_device_stream,
    iter_arrow_device_stream,
)
from cudf_arrow_bridge.from_arrow_async import from_arrow_device_async  # noqa: E402
from cudf_arrow_bridge.pickling import register_pickling  # noqa: E402
from cudf_arrow_bridge.protocol_methods import (  # noqa: E402
    install_protocol,
    uninstall_protocol,
)
from cudf_arrow_bridge.tensors import (  # noqa: E402
    from_cuda_array_interface,
    from_dlpack,
)
from cudf_arrow_bridge.to_arrow import to_arrow_device, to_arrow_device_stream  # noqa: E402
from cudf_arrow_bridge.to_arrow_async import to_arrow_device_async  # noqa: E402

if TYPE_CHECKING:
    from cudf_arrow_bridge import dask, ipc, ray

__version__ = _build_info.VERSION

__all__ = [
    "AsyncDeviceArrayStream",
    "BufferInfo",
    "ColumnReport",
    "DeviceArray",
    "DeviceArrayStream",
    "DeviceType",
    "FenceResult",
    "Fences",
    "__version__",
    "dask",
    "drain_releases",
    "from_arrow_device",
    "from_arrow_device_async",
    "from_arrow_device_stream",
    "from_cuda_array_interface",
    "from_dlpack",
    "has_gpu",
    "install_protocol",
    "ipc",
    "iter_arrow_device_stream",
    "ray",
    "to_arrow_device",
    "to_arrow_device_async",
    "to_arrow_device_stream",
    "uninstall_protocol",
]

register_when_imported()
register_with_dask()
register_pickling()


#: Modules that are slow to import or need optional packages. They are imported on first access.
_LAZY = ("dask", "ipc", "ray")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f"cudf_arrow_bridge.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
