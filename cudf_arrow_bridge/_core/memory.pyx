# SPDX-License-Identifier: Apache-2.0
"""What memory is and whose."""

from libc.stdint cimport uintptr_t

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
