# SPDX-License-Identifier: Apache-2.0
"""pylibcudf's columns, put together without checking again what another column vouches for."""

from libc.stdint cimport int32_t, uintptr_t
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.libcudf.types cimport data_type


def array_interface(uintptr_t ptr, size_t size) -> dict:
    """Describe memory as bytes, in the protocol by which cuDF finds out a span's size.

    cuDF asks for it whatever the memory is, that of a machine without a GPU included.
    """
    return {
        "data": (ptr, False),
        "shape": (size,),
        "strides": None,
        "typestr": "|u1",
        "version": 3,
    }


cdef class HeldSpan:
    """Some memory as it was when somebody took hold of it, and what keeps it so.

    Parameters
    ----------
    ptr, size
        Where it is, and its bytes.
    owner
        Kept alive.
    """

    cdef readonly uintptr_t ptr
    cdef readonly size_t size
    cdef readonly object owner
    cdef object __weakref__

    def __init__(self, uintptr_t ptr, size_t size, owner):
        self.ptr = ptr
        self.size = size
        self.owner = owner

    @property
    def __cuda_array_interface__(self) -> dict:
        return array_interface(self.ptr, self.size)


def rebuild(Column column not None, take, list children) -> Column:
    """Make a column of the same rows, with other children.

    Parameters
    ----------
    column
        The column.
    take
        Makes the buffers of the result out of the column's.
    children
        The result's.
    """
    cdef Column made = Column.__new__(Column)
    made._data_type = column._data_type
    made._size = column._size
    made._offset = column._offset
    made._null_count = column._null_count
    made._data = None if column._data is None else take(column._data)
    made._mask = None if column._mask is None else take(column._mask)
    made._children = children
    made._num_children = len(children)
    return made


def rebuild_all(Column column not None, take) -> Column:
    """Make a column of the same rows, its children's buffers taken likewise."""
    return rebuild(column, take, [rebuild_all(child, take) for child in column._children])


cdef int add_types(vector[int32_t]& types, Column column) except -1:
    cdef data_type found = column._data_type.c_obj
    types.push_back(<int32_t>found.id())
    types.push_back(found.scale())
    types.push_back(column._num_children)
    for child in column._children:
        add_types(types, <Column?>child)
    return 0


def types_of(columns) -> bytes:
    """Describe the types of columns, and of all below: equal if and only if these are."""
    cdef vector[int32_t] types
    for column in columns:
        add_types(types, <Column?>column)
    return (<char*>types.data())[:types.size() * sizeof(int32_t)] if types.size() else b""
