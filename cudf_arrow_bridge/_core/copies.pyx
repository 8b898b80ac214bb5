# SPDX-License-Identifier: Apache-2.0
"""Whether data may be copied, and what was."""

from libc.stdint cimport int64_t, uintptr_t
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.vector cimport vector

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef core.copy_policy policy_of(object copy) except *:
    """Return what a caller gave as ``copy=`` as C++ takes it."""
    if copy is None:
        return core.copy_policy.as_needed
    if copy is False:
        return core.copy_policy.never
    if copy is True:
        return core.copy_policy.always
    raise ValueError(f"copy={copy!r} found, None, False or True expected")


cdef str text_of(core.string_view text):
    return text.data()[:text.size()].decode()


cdef list to_tuples(const vector[core.made_memory]& made):
    """List address, size and reason of memory that was made."""
    return [
        (<uintptr_t>made[i].address, made[i].size, text_of(made[i].reason))
        for i in range(made.size())
    ]


#: The few reasons there are, as C++ keeps views of them.
cdef dict reasons = {}


cdef shared_ptr[vector[core.made_memory]] from_tuples(tuple made):
    """Do the opposite of `to_tuples`."""
    cdef shared_ptr[vector[core.made_memory]] result = make_shared[vector[core.made_memory]]()
    cdef core.made_memory memory
    cdef bytes text
    cdef uintptr_t address
    for address, size, reason in made:
        text = reasons.setdefault(reason, reason.encode())
        memory.address = <const void*>address
        memory.size = <int64_t>size
        memory.reason = core.string_view(<const char*>text, <size_t>len(text))
        result.get().push_back(memory)
    return result
