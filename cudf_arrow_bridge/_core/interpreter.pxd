# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport shared_ptr

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef shared_ptr[const void] share_object(object shared) except *
cpdef bint enter_interpreter() noexcept nogil
cpdef void leave_interpreter() noexcept nogil
cdef int ensure_gil_in_release(core.ArrowArray* array) except -1
cdef void drop_share(shared_ptr[const void]& owner) noexcept
