# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef core.copy_policy policy_of(object copy) except *
cdef str text_of(core.string_view text)
cdef list to_tuples(const vector[core.made_memory]& made)
cdef shared_ptr[vector[core.made_memory]] from_tuples(tuple made)
