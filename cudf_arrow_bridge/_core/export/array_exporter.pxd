# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport unique_ptr

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef class BatchSource:
    cdef unique_ptr[core.batch_source] source
