# SPDX-License-Identifier: Apache-2.0

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef class FenceSet:
    cdef core.fence_set fences
