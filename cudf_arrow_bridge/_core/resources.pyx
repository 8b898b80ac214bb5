# SPDX-License-Identifier: Apache-2.0
"""Memory resources and streams, as C++ takes them."""

from cuda.bindings.cyruntime cimport cudaStream_t
from libc.stdint cimport uintptr_t
from rmm.librmm.cuda_stream_ref cimport stream_ref
from rmm.librmm.memory_resource cimport device_async_resource_ref
from rmm.pylibrmm.memory_resource cimport DeviceMemoryResource, get_current_device_resource

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef object resolve_resource(object mr):
    """Resolve to the resource given, or rmm's current one; without a GPU, to None: host memory.

    The caller keeps the result alive as long as memory of it is in use.
    """
    if mr is None and core.has_gpu():
        return get_current_device_resource()
    return mr


cdef device_async_resource_ref resource_of(object resolved) except *:
    """Return what C++ takes for a resolved resource."""
    if resolved is None:
        return core.host_memory_resource()
    return (<DeviceMemoryResource?>resolved).get_mr()


cdef stream_ref stream_of(object stream) except *:
    """Return what C++ takes for a `Stream`, named on this thread; None: the default one."""
    handle = 0 if stream is None else stream.handle
    return stream_ref(<cudaStream_t><uintptr_t>handle)
