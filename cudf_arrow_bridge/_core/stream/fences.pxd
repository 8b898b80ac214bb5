# SPDX-License-Identifier: Apache-2.0

from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport fence_set


cdef class FenceSet:
    cdef fence_set fences
