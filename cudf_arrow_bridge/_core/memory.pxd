# SPDX-License-Identifier: Apache-2.0

from rmm.librmm.memory_resource cimport device_async_resource_ref


cdef object resolve_resource(object mr)
cdef int check_resource(object mr) except -1
cdef device_async_resource_ref resource_of(object resolved) except *
