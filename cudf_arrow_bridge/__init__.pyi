# SPDX-License-Identifier: Apache-2.0
# The public names. Each module is imported when one of its names is used.

from . import dask as dask
from . import ipc as ipc
from . import polars as polars
from . import ray as ray
from ._core.interpreter import drain_releases as drain_releases
from ._load.build_info import __version__ as __version__
from .arrow.buffers import BufferInfo as BufferInfo
from .arrow.device_array import DeviceArray as DeviceArray
from .arrow.device_array_stream import DeviceArrayStream as DeviceArrayStream
from .arrow.fences import FenceResult as FenceResult
from .arrow.fences import Fences as Fences
from .arrow.report import ColumnReport as ColumnReport
from .async_.device_array_stream import AsyncDeviceArrayStream as AsyncDeviceArrayStream
from .async_.from_arrow import from_arrow_device_async as from_arrow_device_async
from .async_.to_arrow import to_arrow_device_async as to_arrow_device_async
from .cuda.residency import DeviceType as DeviceType
from .cuda.residency import has_gpu as has_gpu
from .from_arrow import from_arrow_device as from_arrow_device
from .from_arrow import from_arrow_device_stream as from_arrow_device_stream
from .from_arrow import iter_arrow_device_stream as iter_arrow_device_stream
from .integrations.protocol_methods import install_protocol as install_protocol
from .integrations.protocol_methods import uninstall_protocol as uninstall_protocol
from .tensors import from_cuda_array_interface as from_cuda_array_interface
from .tensors import from_dlpack as from_dlpack
from .to_arrow import to_arrow_device as to_arrow_device
from .to_arrow import to_arrow_device_stream as to_arrow_device_stream
