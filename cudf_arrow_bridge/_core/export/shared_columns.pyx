# SPDX-License-Identifier: Apache-2.0
"""Sharing of the columns of cuDF frames with an export.

`frames/cudf_private.py` provides cuDF's classes, and the names of their attributes.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.set cimport PySet_Add, PySet_Discard
from libcpp.string cimport string
from pylibcudf.column cimport Column

from cudf_arrow_bridge._core.import_.columns cimport Span, add_types, main_span, rebuild_all


cdef extern from "Python.h":
    object PyWeakref_NewRef(object, PyObject*)
    size_t PyLong_AsSize_t(object) except? <size_t>-1


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


cdef class BufferSharer:
    """Shares cuDF buffers with one export; see `cudf_private.buffer_sharer`.

    Parameters
    ----------
    buffer, owner, spillable_owner, spill_lock
        cuDF's classes of buffers, of owners of memory, of owners of memory that can be spilled, and
        of the locks that prevent it.
    attributes
        The names of the attributes of a buffer (owner, offset, size), of an owner (address, users)
        and of a column (pylibcudf column, dtype).
    always_shared
        The set of users of memory that always has other users.
    attachment
        The attribute that this package sets on columns and owners.
    is_schema_only
        Whether the memory is not locked, unspilled or referenced. The spans then have an address
        that is never read.
    """

    cdef object buffer, owner, spillable_owner, spill_lock, always_shared
    cdef str owner_of_buffer, offset_of_buffer, size_of_buffer, address_of_owner, users_of_owner
    cdef str plc_column_of_column, dtype_of_column
    cdef str attachment
    cdef bint is_schema_only
    #: Created for the first spillable buffer.
    cdef object lock

    def __init__(
        self,
        buffer: type,
        owner: type,
        spillable_owner: type,
        spill_lock: type,
        attributes: tuple[str, ...],
        always_shared,
        str attachment not None,
        bint is_schema_only,
    ):
        self.buffer = buffer
        self.owner = owner
        self.spillable_owner = spillable_owner
        self.spill_lock = spill_lock
        self.owner_of_buffer, self.offset_of_buffer, self.size_of_buffer = attributes[:3]
        self.address_of_owner, self.users_of_owner = attributes[3:5]
        self.plc_column_of_column, self.dtype_of_column = attributes[5:]
        self.always_shared = always_shared
        self.attachment = attachment
        self.is_schema_only = is_schema_only

    def __call__(self, buffer) -> Any:
        """Share a buffer. Return any other object unchanged."""
        if type(buffer) is not self.buffer and not isinstance(buffer, self.buffer):
            return buffer
        cdef SharedSpan span = SharedSpan.__new__(SharedSpan)
        # Read these together, before the weak reference is created. That can run the garbage
        # collector, and so code that replaces the owner of the buffer.
        owner = getattr(buffer, self.owner_of_buffer)
        offset = getattr(buffer, self.offset_of_buffer)
        span.owner = owner
        span.size = PyLong_AsSize_t(getattr(buffer, self.size_of_buffer))
        if self.is_schema_only:
            # Nested columns that libcudf made have an empty buffer, whose address must be null.
            span.ptr = NO_ADDRESS if span.size != 0 else 0
            return span
        cdef bint plain = type(buffer) is self.buffer and type(owner) is self.owner
        if not plain and isinstance(owner, self.spillable_owner):
            if self.lock is None:
                self.lock = self.spill_lock()
            owner.spill_lock(self.lock)
            span.lock = self.lock
        references = getattr(owner, self.users_of_owner)
        if references is not self.always_shared:
            # Like `WeakSet.add`, but the span removes the reference itself, because a callback
            # in Python would be slower than the rest of this function.
            span.references = references.data
            reference = PyWeakref_NewRef(span, NULL)
            PySet_Add(span.references, reference)
            span.reference = reference
        if plain or span.lock is not None:
            # Bypass the properties: during a write in cuDF, they would copy the memory and replace
            # the owner.
            address = getattr(owner, self.address_of_owner)
            span.ptr = PyLong_AsSize_t(address) + PyLong_AsSize_t(offset)
        else:
            span.ptr = buffer.ptr
            span.size = buffer.size
        return span


cdef object attached_to(object column, object column_dtype, Column shared, str name):
    # The attribute of most objects is missing. An AttributeError would be slow.
    cdef object span = main_span(shared)
    if isinstance(span, SharedSpan):
        return (<SharedSpan>span).owner.__dict__.get(name)
    dtype, attachment = column.__dict__.get(name, (None, None))
    # If the dtype differs, the column object was changed in place and has other data.
    return attachment if dtype is column_dtype else None


def share_columns(
    columns: Iterable[Any], BufferSharer sharer not None
) -> tuple[list[Column], list[Any], bytes, dict[int, Any]]:
    """Share the buffers of cuDF columns, and collect their types.

    Returns
    -------
    tuple of (list of Column, list, bytes, dict)
        pylibcudf columns that share the buffers, the dtypes, the types (see `types_of`), and by
        position the attachments of columns: of their memory, or of the column if it has none.
    """
    cdef list shared_columns = []
    cdef list dtypes = []
    cdef dict attachments = {}
    cdef string types
    cdef Column shared
    for column in columns:
        dtype = getattr(column, sharer.dtype_of_column)
        shared = rebuild_all(<Column?>getattr(column, sharer.plc_column_of_column), sharer)
        attachment = attached_to(column, dtype, shared, sharer.attachment)
        if attachment is not None:
            attachments[len(shared_columns)] = attachment
        shared_columns.append(shared)
        dtypes.append(dtype)
        add_types(types, shared)
    return shared_columns, dtypes, <bytes>types, attachments
