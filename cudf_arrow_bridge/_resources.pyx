# SPDX-License-Identifier: Apache-2.0
"""Memory resources: what `mr=` stands for."""

from rmm.librmm.memory_resource cimport device_async_resource_ref
from rmm.pylibrmm.memory_resource cimport DeviceMemoryResource, get_current_device_resource

from cudf_arrow_bridge cimport _core


cdef device_async_resource_ref resource_of(object mr) except *:
    """Resolve to the resource given, rmm's current one, or host memory without a GPU.

    The caller keeps `mr` alive as long as memory of it is in use.
    """
    if mr is None:
        if not _core.has_gpu():
            return _core.host_memory_resource()
        mr = get_current_device_resource()
    return (<DeviceMemoryResource?>mr).get_mr()
