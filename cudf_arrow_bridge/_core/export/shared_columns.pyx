# SPDX-License-Identifier: Apache-2.0
"""Sharing of the columns of cuDF frames with an export.

`frames/cudf_private.py` provides the names of cuDF's classes and attributes.
"""

cimport cython
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject_GetAttr
from cpython.ref cimport PyObject
from cpython.set cimport PySet_Add, PySet_Discard
from libcpp.string cimport string
from pylibcudf.column cimport Column

from cudf_arrow_bridge._core.import_.columns cimport Span, add_types, main_span_of


cdef extern from "Python.h":
    dict PyObject_GenericGetDict(object, void*)
    object PyWeakref_NewRef(object, PyObject*)
    size_t PyLong_AsSize_t(object) except? <size_t>-1


cdef class CudfLayout:
    """The classes and attributes of cuDF's columns and buffers, as keyword arguments."""

    #: Attributes of a column: the pylibcudf column, which has cuDF buffers, and the dtype.
    cdef public object plc_column, dtype
    #: The class of buffers, and their attributes: the owner, the offset in its memory, the size.
    cdef public object buffer, owner, offset, size
    #: The class of owners, and their attributes: the address, and the ``WeakSet`` of users of the
    #: memory. `always_shared` is the value of `references` for memory that always has other users.
    cdef public object buffer_owner, ptr, references, always_shared
    #: The class of owners that can be spilled, and the class of the locks that prevent it.
    cdef public object spillable_owner, spill_lock
    #: The attribute that this package sets on owners, and a function that returns the attachment of
    #: a column without memory, or None.
    cdef public object attachment, attached_to_column

    def __init__(self, **members):
        for name, value in members.items():
            setattr(self, name, value)


# Owners do not reference their spans, so no cycle is possible. Otherwise the garbage collector
# would run in every export of a wide frame.
@cython.no_gc
cdef class SharedSpan(Span):
    """A cuDF buffer that an export shares. cuDF counts it as a reference to the memory.

    It references the owner of the memory and the lock that prevents spilling, if any.
    """

    cdef readonly object owner
    cdef object lock
    #: The set of weak references to users of the memory, and the weak reference to this span.
    cdef object references
    cdef object reference

    def __dealloc__(self):
        if self.reference is not None:
            PySet_Discard(self.references, self.reference)


#: The address of buffers in schema-only columns, which are not read. libcudf rejects null for data.
cdef size_t NO_ADDRESS = 256


cdef object member(dict members, object name):
    """Return an attribute of an object from its ``__dict__``."""
    cdef PyObject* value = PyDict_GetItemWithError(members, name)
    if value == NULL:
        raise AttributeError(name)
    return <object>value


cdef class BufferSharer:
    """Shares cuDF buffers with one export; see `cudf_private.buffer_sharer`.

    If it `is_schema_only`, the memory is not locked, unspilled or referenced, and the spans have an
    address that is never read.
    """

    cdef CudfLayout layout
    cdef bint is_schema_only
    #: Created for the first spillable buffer.
    cdef object lock

    def __init__(self, CudfLayout layout not None, bint is_schema_only=False):
        self.layout = layout
        self.is_schema_only = is_schema_only

    def __call__(self, buffer):
        """Share a buffer. Return any other object unchanged."""
        return self.share(buffer)

    cdef object share(self, object buffer):
        cdef CudfLayout layout = self.layout
        cdef bint plain = type(buffer) is layout.buffer
        if not plain and not isinstance(buffer, layout.buffer):
            return buffer
        owner = PyObject_GetAttr(buffer, layout.owner)
        plain = plain and type(owner) is layout.buffer_owner
        cdef SharedSpan span = SharedSpan.__new__(SharedSpan)
        span.owner = owner
        if self.is_schema_only:
            span.size = PyLong_AsSize_t(PyObject_GetAttr(buffer, layout.size))
            # Nested columns that libcudf made have an empty buffer, whose address must be null.
            span.ptr = NO_ADDRESS if span.size != 0 else 0
            return span
        if not plain and isinstance(owner, layout.spillable_owner):
            if self.lock is None:
                self.lock = layout.spill_lock()
            owner.spill_lock(self.lock)
            span.lock = self.lock
        # Read these together with the owner, before the weak reference is created. That can run the
        # garbage collector, and so code that replaces the owner of the buffer.
        offset = PyObject_GetAttr(buffer, layout.offset)
        size = PyObject_GetAttr(buffer, layout.size)
        cdef dict members = PyObject_GenericGetDict(owner, NULL)
        references = member(members, layout.references)
        if references is not layout.always_shared:
            # Like `WeakSet.add`, but the span removes the reference itself, because a callback
            # in Python would be slower than the rest of this function.
            span.references = references.data
            reference = PyWeakref_NewRef(span, NULL)
            PySet_Add(span.references, reference)
            span.reference = reference
        if plain or span.lock is not None:
            # Bypass the properties: during a write in cuDF, they would copy the memory and replace
            # the owner.
            span.ptr = PyLong_AsSize_t(member(members, layout.ptr))
            span.ptr += PyLong_AsSize_t(offset)
            span.size = PyLong_AsSize_t(size)
        else:
            span.ptr = buffer.ptr
            span.size = buffer.size
        return span

    cdef Column share_column(self, Column column):
        """Copy a column object and its children with shared buffers."""
        cdef Column result = Column.__new__(Column)
        result._data_type = column._data_type
        result._size = column._size
        result._offset = column._offset
        result._null_count = column._null_count
        result._num_children = column._num_children
        if column._num_children == 0:
            result._children = column._children
        else:
            result._children = [self.share_column(<Column?>child) for child in column._children]
        result._data = None if column._data is None else self.share(column._data)
        result._mask = None if column._mask is None else self.share(column._mask)
        return result

    cdef object attached_to(self, object column, Column shared):
        cdef object span = main_span_of(shared)
        if span is None:
            return self.layout.attached_to_column(column)
        cdef dict members = PyObject_GenericGetDict((<SharedSpan?>span).owner, NULL)
        cdef PyObject* attachment = PyDict_GetItemWithError(members, self.layout.attachment)
        return None if attachment == NULL else <object>attachment


def share_columns(columns, BufferSharer sharer not None):
    """Share the buffers of cuDF columns, and collect their types.

    Returns
    -------
    tuple of (list of Column, list, bytes, dict)
        pylibcudf columns that share the buffers, the dtypes, the types (see `types_of`), and by
        position the attachments of columns: of their memory, or of the column if it has none.
    """
    cdef CudfLayout layout = sharer.layout
    cdef list shared_columns = []
    cdef list dtypes = []
    cdef dict attachments = {}
    cdef string types
    cdef Column shared
    for column in columns:
        dtypes.append(PyObject_GetAttr(column, layout.dtype))
        shared = sharer.share_column(
            <Column?>PyObject_GetAttr(column, layout.plc_column)
        )
        shared_columns.append(shared)
        add_types(types, shared)
        attachment = sharer.attached_to(column, shared)
        if attachment is not None:
            attachments[len(shared_columns) - 1] = attachment
    return shared_columns, dtypes, <bytes>types, attachments
