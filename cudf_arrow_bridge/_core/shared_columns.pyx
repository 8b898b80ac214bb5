# SPDX-License-Identifier: Apache-2.0
"""Columns of cuDF frames, shared with an export.

`frames/cudf_private.py` says what cuDF's columns and buffers are like: nothing here names them.
"""

cimport cython
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject_GetAttr
from cpython.ref cimport PyObject
from cpython.set cimport PySet_Add, PySet_Discard
from libcpp.string cimport string
from pylibcudf.column cimport Column

from cudf_arrow_bridge._core.columns cimport Span, add_types, main_span_of


cdef extern from "Python.h":
    dict PyObject_GenericGetDict(object, void*)
    object PyWeakref_NewRef(object, PyObject*)
    size_t PyLong_AsSize_t(object) except? <size_t>-1


cdef class CudfLayout:
    """The classes and attributes of cuDF's columns and buffers.

    Parameters
    ----------
    plc_column, dtype
        Attributes of a column: the pylibcudf column, whose buffers are cuDF's, and the dtype.
    buffer
        The class of buffers.
    owner, offset, size
        Attributes of a buffer: its owner, where it begins there, and how many bytes it has.
    buffer_owner
        The class of owners.
    ptr, references
        Attributes of an owner: its address, and the ``WeakSet`` of what refers to its memory.
    always_shared
        Stands in place of such a set where others always refer to the memory.
    spillable_owner, spill_lock
        The class of owners whose address may change, and that of the locks against it.
    attachment
        The attribute that this package gives to owners.
    attached_to_column
        Returns what is attached to a column without memory, None if nothing is.
    """

    cdef object plc_column, dtype
    cdef object buffer, owner, offset, size
    cdef object buffer_owner, ptr, references, always_shared
    cdef object spillable_owner, spill_lock
    cdef object attachment, attached_to_column

    def __init__(
        self,
        *,
        plc_column,
        dtype,
        buffer,
        owner,
        offset,
        size,
        buffer_owner,
        ptr,
        references,
        always_shared,
        spillable_owner,
        spill_lock,
        attachment,
        attached_to_column,
    ):
        self.plc_column = plc_column
        self.dtype = dtype
        self.buffer = buffer
        self.owner = owner
        self.offset = offset
        self.size = size
        self.buffer_owner = buffer_owner
        self.ptr = ptr
        self.references = references
        self.always_shared = always_shared
        self.spillable_owner = spillable_owner
        self.spill_lock = spill_lock
        self.attachment = attachment
        self.attached_to_column = attached_to_column


# No owner of memory refers to its spans, so there is nothing for the collector to break; it would
# run in every export of a wide frame.
@cython.no_gc
cdef class SharedSpan(Span):
    """A cuDF buffer that an export shares: one more reference to the memory while it lives.

    It keeps the owner of the memory alive, and the lock against spilling, if there is one.
    """

    cdef readonly object owner
    cdef object lock
    #: The references to the memory, and this one.
    cdef object references
    cdef object reference

    def __dealloc__(self):
        if self.reference is not None:
            PySet_Discard(self.references, self.reference)


#: Stands for the addresses of memory that nobody reads; libcudf refuses null.
cdef size_t NO_ADDRESS = 256


cdef object member(dict members, object name):
    """Return an attribute of an object from its ``__dict__``."""
    cdef PyObject* value = PyDict_GetItemWithError(members, name)
    if value == NULL:
        raise AttributeError(name)
    return <object>value


cdef class BufferSharer:
    """Shares cuDF buffers with one export; see `cudf_private.buffer_sharer`.

    Parameters
    ----------
    layout
        What buffers are like.
    is_schema_only
        Whether nobody will read the memory: it is then neither locked nor brought back nor
        referred to, and its address is not the true one.
    """

    cdef CudfLayout layout
    cdef bint is_schema_only
    #: Made for the first buffer that may be spilled.
    cdef object lock

    def __init__(self, CudfLayout layout not None, bint is_schema_only=False):
        self.layout = layout
        self.is_schema_only = is_schema_only

    def __call__(self, buffer):
        """Share a buffer; return anything else as it is."""
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
            span.ptr = NO_ADDRESS
            span.size = PyLong_AsSize_t(PyObject_GetAttr(buffer, layout.size))
            return span
        if not plain and isinstance(owner, layout.spillable_owner):
            if self.lock is None:
                self.lock = layout.spill_lock()
            owner.spill_lock(self.lock)
            span.lock = self.lock
        # With the owner, before the reference: making that may run the garbage collector, and so
        # somebody who gives the buffer another owner.
        offset = PyObject_GetAttr(buffer, layout.offset)
        size = PyObject_GetAttr(buffer, layout.size)
        cdef dict members = PyObject_GenericGetDict(owner, NULL)
        references = member(members, layout.references)
        if references is not layout.always_shared:
            # As `WeakSet.add` does, but the span takes the reference back itself: a callback
            # written in Python would take longer than all the rest.
            span.references = references.data
            reference = PyWeakref_NewRef(span, NULL)
            PySet_Add(span.references, reference)
            span.reference = reference
        if plain:
            # Without properties, which ask in vain whether somebody is about to write.
            span.ptr = PyLong_AsSize_t(member(members, layout.ptr))
            span.ptr += PyLong_AsSize_t(offset)
            span.size = PyLong_AsSize_t(size)
        else:
            span.ptr = buffer.ptr
            span.size = buffer.size
        return span

    cdef Column share_column(self, Column column):
        """Copy a column object and its children, with shared buffers."""
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


def share_columns(columns, BufferSharer sharer not None, unless):
    """Share all columns of a frame, and say what they are, in one pass.

    Parameters
    ----------
    columns
        The cuDF columns.
    sharer
        Shares their buffers.
    unless
        Classes of dtypes for which to return None.

    Returns
    -------
    tuple of (list of Column, list, bytes, dict) or None
        pylibcudf columns over the shared buffers, the dtypes, the types (see `types_of`), and by
        position what is attached to columns: to their memory, if they have any, else to them.
    """
    cdef CudfLayout layout = sharer.layout
    cdef list shared_columns = []
    cdef list dtypes = []
    cdef dict attachments = {}
    cdef string types
    cdef object last = None
    cdef Column shared
    for column in columns:
        dtype = PyObject_GetAttr(column, layout.dtype)
        if dtype is not last and isinstance(dtype, unless):
            return None
        last = dtype
        dtypes.append(dtype)
        shared = sharer.share_column(
            <Column?>PyObject_GetAttr(column, layout.plc_column)
        )
        shared_columns.append(shared)
        add_types(types, shared)
        attachment = sharer.attached_to(column, shared)
        if attachment is not None:
            attachments[len(shared_columns) - 1] = attachment
    return shared_columns, dtypes, <bytes>types, attachments
