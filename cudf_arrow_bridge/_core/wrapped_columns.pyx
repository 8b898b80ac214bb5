# SPDX-License-Identifier: Apache-2.0
"""What an import made or adopted, as pylibcudf columns."""

cimport cython
from cpython.ref cimport PyObject
from cython.operator cimport dereference
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr, static_pointer_cast, unique_ptr
from libcpp.utility cimport move
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column cimport column, column_contents
from pylibcudf.libcudf.types cimport data_type, size_type
from pylibcudf.types cimport DataType
from rmm.librmm.device_buffer cimport device_buffer

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.columns cimport Span
from cudf_arrow_bridge._core.interpreter cimport drop_share
from cudf_arrow_bridge._core.ordering cimport stream_of

ctypedef const void const_void

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(PyObject*)


@cython.no_gc_clear
cdef class ImportContext:
    """The memory resource and the streams of the buffers of an import, which keep it alive.

    Parameters
    ----------
    mr
        The resource that allocated the buffers.
    stream
        The CUDA stream that they are freed on.
    reader
        A second stream that reads them, or None.
    has_objects
        Whether resource or streams are objects of the caller's, which can refer to the buffers.
    """

    def __cinit__(self, mr, stream, reader, bint has_objects):
        self.mr = mr
        self.has_objects = has_objects
        self.freed_on = stream
        self.read_on = reader
        # Resolved on this thread: on another one these may be other streams.
        self.stream = stream_of(stream)
        self.reader = self.stream if reader is None else stream_of(reader)

    cdef shared_ptr[const void] released_in_order(self, shared_ptr[const void] owner) except *:
        """Return an owner whose memory is released after the work of both streams."""
        if owner.get() == NULL:
            return owner
        return core.release_after(move(owner), self.stream, self.reader)


# What an object keeps alive is not taken from it when a cycle is broken: it is used at the end. A
# cycle goes through an object of the caller's, which is broken instead.
@cython.no_gc_clear
cdef class ProducerMemory:
    """The memory of a producer's array, released when the last column that views it is gone."""

    cdef shared_ptr[const void] owner
    cdef ImportContext context

    def __dealloc__(self):
        drop_share(self.owner)


@cython.no_gc
cdef class ImportedSpan(Span):
    """A buffer of an imported column.

    Not rmm's `DeviceBuffer`, which needs a driver. Freeing it may release the producer's array.

    Python's garbage collector does not know of it: with as many columns as a wide table has, an
    import would otherwise make the collector run several times.
    """

    #: Of a `device_buffer`; empty for a view of `ProducerMemory`.
    cdef shared_ptr[const void] owner
    cdef object kept_alive

    def __dealloc__(self):
        if self.owner.get() != NULL:
            drop_share(self.owner)


@cython.no_gc_clear
cdef class TrackedSpan(ImportedSpan):
    """An `ImportedSpan` that the garbage collector knows of: it may be part of a cycle."""

    cdef object tracked

    def __dealloc__(self):
        # Here, before `tracked` goes, on which the memory is freed; not by the base class, later.
        if self.owner.get() != NULL:
            drop_share(self.owner)


cdef ImportedSpan make_span(uintptr_t ptr, size_t size, object kept_alive, bint tracked):
    cdef ImportedSpan self
    if tracked:
        self = TrackedSpan.__new__(TrackedSpan)
        (<TrackedSpan>self).tracked = kept_alive
    else:
        self = ImportedSpan.__new__(ImportedSpan)
        self.kept_alive = kept_alive
    self.ptr = ptr
    self.size = size
    return self


cdef ImportedSpan wrap_buffer(unique_ptr[device_buffer] buffer, ImportContext context):
    if buffer.get() == NULL or buffer.get().size() == 0:
        return None
    cdef ImportedSpan self = make_span(
        <uintptr_t>buffer.get().data(), buffer.get().size(), context, context.has_objects
    )
    cdef shared_ptr[device_buffer] owner
    owner.reset(buffer.release())
    self.owner = context.released_in_order(static_pointer_cast[const_void, device_buffer](owner))
    return self


cdef ImportedSpan view_memory(const void* address, size_t size, ProducerMemory memory):
    if size == 0:
        return None
    return make_span(<uintptr_t>address, size, memory, memory.context.has_objects)


# Cached, as making a DataType goes through a Python enum, slower than all the rest of a column.
cdef dict _dtypes = {}


cdef DataType wrap_type(data_type c_type):
    # One int for both: ids are below 64, so id 27 with scale -2 is 27 - 128 = -101. Python keeps
    # ints from -5 to 256 preallocated, which covers every type that is not a decimal.
    key = <int>c_type.id() + 64 * c_type.scale()
    dtype = _dtypes.get(key)
    if dtype is None:
        dtype = _dtypes[key] = DataType.from_libcudf(c_type)
    return dtype


cdef Column wrap_column(
    unique_ptr[column] storage, size_type offset, size_type size, ImportContext context
):
    # Without its constructor, which would repeat checks that C++ has made.
    cdef Column self = Column.__new__(Column)
    self._data_type = wrap_type(storage.get().type())
    self._size = size
    self._offset = offset
    self._null_count = storage.get().null_count()
    cdef column_contents contents = storage.get().release()
    self._data = wrap_buffer(move(contents.data), context)
    self._mask = wrap_buffer(move(contents.null_mask), context)
    self._children = []
    cdef size_type i, child_size
    for i in range(<size_type>contents.children.size()):
        child_size = contents.children[i].get().size()
        self._children.append(wrap_column(move(contents.children[i]), 0, child_size, context))
    self._num_children = <size_type>contents.children.size()
    return self


cdef void untrack(Column made, ProducerMemory memory) noexcept:
    """Leave a column out of what the garbage collector looks through, if no cycle can hold it."""
    if not memory.context.has_objects:
        PyObject_GC_UnTrack(<PyObject*>made)


cdef Column wrap_borrowed(
    core.borrowed_column& borrowed, ProducerMemory memory, list no_children
):
    cdef Column self = Column.__new__(Column)
    self._data_type = wrap_type(borrowed.type)
    self._size = borrowed.size
    self._offset = borrowed.offset
    self._null_count = borrowed.null_count
    self._data = view_memory(borrowed.data, borrowed.data_size, memory)
    self._mask = view_memory(borrowed.mask, borrowed.mask_size, memory)
    if borrowed.offsets == NULL:
        self._children = no_children
        self._num_children = 0
    else:
        self._children = [wrap_offsets(borrowed, memory, no_children)]
        self._num_children = 1
    untrack(self, memory)
    return self


cdef Column wrap_offsets(
    core.borrowed_column& borrowed, ProducerMemory memory, list no_children
):
    cdef Column self = Column.__new__(Column)
    self._data_type = wrap_type(borrowed.offsets_type)
    self._size = borrowed.offset + borrowed.size + 1
    self._data = view_memory(borrowed.offsets, borrowed.offsets_size, memory)
    self._children = no_children
    untrack(self, memory)
    return self


cdef list wrap_columns(core.borrowed_table& table, ImportContext context):
    cdef ProducerMemory memory = ProducerMemory.__new__(ProducerMemory)
    cdef core.borrowed_column* borrowed
    cdef size_t i
    memory.owner = context.released_in_order(move(table.owner))
    memory.context = context
    columns = []
    no_children = []  # one for all, as each would be one more object for the garbage collector
    for i in range(table.columns.size()):
        borrowed = &table.columns[i]
        if borrowed.imported.storage.get() == NULL:
            columns.append(wrap_borrowed(dereference(borrowed), memory, no_children))
        else:
            columns.append(
                wrap_column(
                    move(borrowed.imported.storage),
                    borrowed.imported.offset,
                    borrowed.imported.size,
                    context,
                )
            )
    return columns
