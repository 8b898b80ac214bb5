# SPDX-License-Identifier: Apache-2.0
"""pylibcudf's columns, put together without checking again what another column vouches for."""

from libc.stdint cimport int32_t, uintptr_t
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.gpumemoryview cimport gpumemoryview
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.types cimport bitmask_type, data_type, size_type, type_id
from pylibcudf.table cimport Table


cdef class Span:
    """Some memory, as pylibcudf and cuDF take it; who keeps it alive is up to the kind of span."""

    @property
    def nbytes(self) -> int:
        return self.size

    @property
    def __cuda_array_interface__(self) -> dict:
        # cuDF finds out the size by it, whatever the memory is.
        return {
            "data": (self.ptr, False),
            "shape": (self.size,),
            "strides": None,
            "typestr": "|u1",
            "version": 3,
        }


cdef class HeldSpan(Span):
    """Some memory as it was when somebody took hold of it, and what keeps it so.

    Parameters
    ----------
    ptr, size
        Where it is, and its bytes.
    owner
        Kept alive.
    lock
        What keeps the memory where it is, kept alive, too.
    """

    cdef readonly object owner
    cdef object lock

    def __init__(self, uintptr_t ptr, size_t size, owner, lock=None):
        self.ptr = ptr
        self.size = size
        self.owner = owner
        self.lock = lock


cdef uintptr_t address_of(object span) except? 1:
    # The attribute costs more than the rest of a column.
    if span is None:
        return 0
    if isinstance(span, Span):
        return (<Span>span).ptr
    if isinstance(span, gpumemoryview):
        return (<gpumemoryview>span).ptr
    return span.ptr


cdef int add_view(vector[column_view]& views, Column column) except -1:
    """View a column as `Column.view` does, in a fraction of its time for spans that are known."""
    cdef vector[column_view] children
    if column._num_children:  # asking a list how long it is costs more
        for child in column._children:
            add_view(children, <Column?>child)
    views.emplace_back(
        column._data_type.c_obj,
        column._size,
        <const void*>address_of(column._data),
        <const bitmask_type*>address_of(column._mask),
        column._null_count,
        column._offset,
        move(children),
    )
    return 0


def table_of(columns, size_type num_rows) -> Table:
    """Make a table of columns that are known to have so many rows."""
    # Filled in rather than called: the constructor would look at each column again.
    cdef Table made = Table.__new__(Table)
    made._columns = tuple(columns)
    made._num_rows = num_rows
    return made


cpdef Column rebuild(Column column, take, list children):
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
    made._num_children = <size_type>len(children)
    return made


cpdef Column rebuild_all(Column column, take):
    """Make a column of the same rows, its children's buffers taken likewise."""
    return rebuild(column, take, [rebuild_all(<Column?>child, take) for child in column._children])


def main_span(Column column not None):
    """Return the memory that tells a level of a column from others: offsets, or else data.

    None where there are no rows, and for a struct, which has none of its own.
    """
    cdef type_id id = column._data_type.c_obj.id()
    if id == type_id.STRING or id == type_id.LIST:
        return (<Column?>column._children[0])._data if column._children else None
    return column._data


cdef int add_types(vector[int32_t]& types, Column column) except -1:
    cdef data_type found = column._data_type.c_obj
    types.push_back(<int32_t>found.id())
    types.push_back(found.scale())
    types.push_back(column._num_children)
    if column._num_children:
        for child in column._children:
            add_types(types, <Column?>child)
    return 0


def types_of(columns) -> bytes:
    """Describe the types of columns, and of all below: equal if and only if these are."""
    cdef vector[int32_t] types
    types.reserve(3 * len(columns))
    for column in columns:
        add_types(types, <Column?>column)
    return (<char*>types.data())[:types.size() * sizeof(int32_t)] if types.size() else b""
