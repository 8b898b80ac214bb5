# SPDX-License-Identifier: Apache-2.0
"""pylibcudf columns: made without the checks of their constructor, viewed, and described."""

from cpython.ref cimport Py_XDECREF
from cpython.tuple cimport PyTuple_GetItem
from libc.stdint cimport int32_t, uintptr_t
from libcpp.string cimport string
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.gpumemoryview cimport gpumemoryview
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.types cimport bitmask_type, data_type, size_type, type_id
from pylibcudf.table cimport Table


cdef class Span:
    """A buffer as pylibcudf and cuDF take it; subclasses keep the memory alive."""

    def __dealloc__(self):
        Py_XDECREF(self.fields)

    @property
    def nbytes(self) -> int:
        return self.size

    @property
    def __cuda_array_interface__(self) -> dict:
        # cuDF reads the size from this, of host memory too.
        return {
            "data": (self.ptr, False),
            "shape": (self.size,),
            "strides": None,
            "typestr": "|u1",
            "version": 3,
        }


cdef class OwningSpan(Span):
    """A span that keeps the owner of its memory alive.

    Parameters
    ----------
    ptr, size
        The address and the number of bytes.
    owner
        The owner of the memory.
    """

    def __init__(self, uintptr_t ptr, size_t size, owner):
        self.ptr = ptr
        self.size = size
        self.owner = owner


cdef uintptr_t address_of(object span) except? 1:
    # For the known types, without a Python attribute, which costs more than the rest of a view.
    if span is None:
        return 0
    if isinstance(span, Span):
        return (<Span>span).ptr
    if isinstance(span, gpumemoryview):
        return (<gpumemoryview>span).ptr
    return span.ptr


cdef int add_view(vector[column_view]& views, Column column) except -1:
    cdef vector[column_view] children
    if column._num_children:  # asking a list how long it is costs more
        add_views(children, tuple(column._children))
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


cdef int add_views(vector[column_view]& views, tuple columns) except -1:
    """View columns as `Column.view` does, but faster."""
    cdef Py_ssize_t i, size = len(columns)
    views.reserve(views.size() + size)
    for i in range(size):
        # In the stable ABI, a loop over the tuple would go through the protocol of sequences.
        add_view(views, <Column?>PyTuple_GetItem(columns, i))
    return 0


cpdef Table table_of(object columns, size_type num_rows):
    """Make a table of columns that all have `num_rows` rows."""
    # Without its constructor, which would check the columns.
    cdef Table table = Table.__new__(Table)
    table._columns = tuple(columns)
    table._num_rows = num_rows
    return table


cpdef Column rebuild(Column column, make_span, list children):
    """Copy a column object, with other buffers and children.

    Parameters
    ----------
    column
        The column.
    make_span
        Called with each buffer of the column; returns that of the result.
    children
        The children of the result.
    """
    cdef Column result = Column.__new__(Column)
    result._data_type = column._data_type
    result._size = column._size
    result._offset = column._offset
    result._null_count = column._null_count
    result._data = None if column._data is None else make_span(column._data)
    result._mask = None if column._mask is None else make_span(column._mask)
    result._children = children
    result._num_children = <size_type>len(children)
    return result


cpdef Column rebuild_all(Column column, make_span):
    """Copy a column object and its children, with a new span for each buffer; see `rebuild`."""
    children = [rebuild_all(<Column?>child, make_span) for child in column._children]
    return rebuild(column, make_span, children)


cdef object main_span_of(Column column):
    cdef type_id id = column._data_type.c_obj.id()
    if id == type_id.STRING or id == type_id.LIST:
        return (<Column?>column._children[0])._data if column._children else None
    return column._data


def main_span(Column column not None):
    """Return the buffer that identifies one level of a column: its offsets, else its data.

    None for a column without rows, and for a struct, which has neither.
    """
    return main_span_of(column)


cdef void add_number(string& types, int32_t number) noexcept:
    types.append(<const char*>&number, sizeof(number))


cdef int add_types(string& types, Column column) except -1:
    cdef data_type c_type = column._data_type.c_obj
    cdef int32_t scale = c_type.scale()
    cdef int32_t num_children = column._num_children
    # Ids are below 64; the bits above them say which numbers follow.
    types.push_back(
        <char>(<int>c_type.id() | (64 if scale != 0 else 0) | (128 if num_children != 0 else 0))
    )
    if scale != 0:
        add_number(types, scale)
    if num_children != 0:
        add_number(types, num_children)
        for child in column._children:
            add_types(types, <Column?>child)
    return 0


cpdef bytes types_of(object columns):
    """Encode the types of columns and their children, such that equal bytes mean equal types.

    Short, a byte for most columns: of memory blocks beyond 1 KiB, each makes glibc's malloc
    consolidate its freed small chunks, among them those of the structs that nanoarrow allocates.
    """
    cdef tuple all_columns = tuple(columns)
    cdef Py_ssize_t i, size = len(all_columns)
    cdef string types
    types.reserve(size)
    for i in range(size):
        add_types(types, <Column?>PyTuple_GetItem(all_columns, i))
    return <bytes>types
