# SPDX-License-Identifier: Apache-2.0
"""The device type of memory, and memory resources as C++ takes them."""

from libc.stdint cimport uintptr_t
from rmm.librmm.memory_resource cimport device_async_resource_ref
from rmm.pylibrmm.memory_resource cimport DeviceMemoryResource, get_current_device_resource

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


def has_gpu() -> bool:
    """Whether this process can use a CUDA device.

    False means that no driver is installed, or that there is no device. Any other failure of CUDA
    raises RuntimeError, as does a missing GPU where the environment's CUDF_ARROW_BRIDGE_REQUIRE_GPU
    is set.
    """
    return core.has_gpu()


def device_type(uintptr_t address) -> int:
    """Arrow's device type of the memory at an address (1: CPU, 2: CUDA, ...)."""
    return core.locate(<const void*>address).device_type


cdef object resolve_resource(object mr):
    """Return the resource given, else rmm's current one; without a GPU None, for host memory.

    The caller keeps the result alive as long as its memory is in use.
    """
    if mr is None and core.has_gpu():
        return get_current_device_resource()
    return mr


cdef int check_resource(object mr) except -1:
    """Refuse what a caller gave as ``mr=`` if it is neither None nor a memory resource."""
    if mr is not None and not isinstance(mr, DeviceMemoryResource):
        raise TypeError(
            f"mr of type {type(mr).__name__} found, an rmm.mr.DeviceMemoryResource expected, or "
            "None for rmm's current one"
        )
    return 0


cdef device_async_resource_ref resource_of(object resolved) except *:
    """Return the C++ reference to a result of `resolve_resource`."""
    if resolved is None:
        return core.host_memory_resource()
    check_resource(resolved)
    return (<DeviceMemoryResource>resolved).get_mr()
