# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport shared_ptr


cdef shared_ptr[const void] share_object(object shared) except *
cdef bint enter_interpreter() noexcept nogil
cdef void leave_interpreter() noexcept nogil
cdef void drop_share(shared_ptr[const void]& owner) noexcept
