# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef object resolve_resource(object mr)
cdef int check_resource(object mr) except -1
cdef device_async_resource_ref resource_of(object resolved) except *
cpdef void hide_from_collector(object obj) noexcept
cdef core.stream_ref stream_of(object stream) except *
cdef core.copy_policy policy_of(object copy) except *
cdef str text_of(core.string_view text)
cdef list to_tuples(const vector[core.imported_column]& columns)
cdef shared_ptr[vector[core.copied_buffer]] from_tuples(tuple copied)
