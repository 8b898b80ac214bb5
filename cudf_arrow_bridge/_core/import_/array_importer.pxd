# SPDX-License-Identifier: Apache-2.0

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.import_.columns cimport ImportContext


cdef class ImportArguments:
    cdef core.import_options options
    cdef object stream
    cdef object reader
    cdef object mr

    cpdef ImportContext context(self)
