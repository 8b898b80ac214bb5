# SPDX-License-Identifier: Apache-2.0
"""Arrow device arrays to pylibcudf columns and tables."""

from cython.operator cimport dereference
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr, static_pointer_cast, unique_ptr
from libcpp.utility cimport move
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column cimport column, column_contents
from pylibcudf.libcudf.types cimport data_type, size_type
from pylibcudf.types cimport DataType
from rmm.librmm.device_buffer cimport device_buffer
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport unique_schema
from cudf_arrow_bridge._core.capsules cimport device_array_from_capsule, schema_from_capsule
from cudf_arrow_bridge._core.columns cimport Span
from cudf_arrow_bridge._core.interpreter cimport drop_share
from cudf_arrow_bridge._core.memory cimport resolve_resource, resource_of
from cudf_arrow_bridge._core.ordering cimport stream_of
from cudf_arrow_bridge._core.schema cimport Schema

ctypedef const void const_void


cdef class ImportContext:
    """The memory resource and the streams of the buffers of an import, which keep it alive.

    Parameters
    ----------
    mr
        The resource that allocated the buffers.
    stream
        The stream that they are freed on.
    reader
        A second stream that reads them, or None.
    """

    def __cinit__(self, mr, stream, reader):
        self.mr = mr
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


cdef class ProducerMemory:
    """The memory of a producer's array, released when the last column that views it is gone."""

    cdef shared_ptr[const void] owner
    cdef ImportContext context

    def __dealloc__(self):
        drop_share(self.owner)


cdef class ImportedSpan(Span):
    """A buffer of an imported column.

    Not rmm's `DeviceBuffer`, which needs a driver. Freeing it may release the producer's array.
    """

    #: Of a `device_buffer`; empty for a view of `ProducerMemory`.
    cdef shared_ptr[const void] owner
    cdef object kept_alive

    def __dealloc__(self):
        if self.owner.get() != NULL:
            drop_share(self.owner)


cdef ImportedSpan wrap_buffer(unique_ptr[device_buffer] buffer, ImportContext context):
    if buffer.get() == NULL or buffer.get().size() == 0:
        return None
    cdef ImportedSpan self = ImportedSpan.__new__(ImportedSpan)
    self.ptr = <uintptr_t>buffer.get().data()
    self.size = buffer.get().size()
    cdef shared_ptr[device_buffer] owner
    owner.reset(buffer.release())
    self.owner = context.released_in_order(static_pointer_cast[const_void, device_buffer](owner))
    self.kept_alive = context
    return self


cdef ImportedSpan view_memory(const void* address, size_t size, ProducerMemory memory):
    if size == 0:
        return None
    cdef ImportedSpan self = ImportedSpan.__new__(ImportedSpan)
    self.ptr = <uintptr_t>address
    self.size = size
    self.kept_alive = memory
    return self


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


cdef Column wrap_borrowed(core.borrowed_column& borrowed, ProducerMemory memory):
    cdef Column self = Column.__new__(Column)
    self._data_type = wrap_type(borrowed.type)
    self._size = borrowed.size
    self._offset = borrowed.offset
    self._null_count = borrowed.null_count
    self._data = view_memory(borrowed.data, borrowed.data_size, memory)
    self._mask = view_memory(borrowed.mask, borrowed.mask_size, memory)
    self._children = []
    self._num_children = 0
    if borrowed.offsets != NULL:
        self._children.append(wrap_offsets(borrowed, memory))
        self._num_children = 1
    return self


cdef Column wrap_offsets(core.borrowed_column& borrowed, ProducerMemory memory):
    cdef Column self = Column.__new__(Column)
    self._data_type = wrap_type(borrowed.offsets_type)
    self._size = borrowed.offset + borrowed.size + 1
    self._data = view_memory(borrowed.offsets, borrowed.offsets_size, memory)
    self._children = []
    return self


cdef list wrap_columns(core.borrowed_table& table, ImportContext context):
    cdef ProducerMemory memory = ProducerMemory.__new__(ProducerMemory)
    cdef core.borrowed_column* borrowed
    cdef size_t i
    memory.owner = context.released_in_order(move(table.owner))
    memory.context = context
    columns = []
    for i in range(table.columns.size()):
        borrowed = &table.columns[i]
        if borrowed.imported.storage.get() == NULL:
            columns.append(wrap_borrowed(dereference(borrowed), memory))
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


cdef class ImportCall:
    """The arguments of an import, as C++ takes them."""

    cdef core.import_options options
    cdef device_async_resource_ref resource
    cdef ImportContext context

    def __cinit__(self, stream, mr, object options):
        self.options.copy = options.copy
        self.options.sanitize = options.sanitize
        if options.validate == "full":
            self.options.validate = core.validation.full
        mr = resolve_resource(mr)
        self.resource = resource_of(mr)
        self.context = ImportContext(mr, stream, options.reader)


def import_column(schema, array, stream, mr, object options):
    """Import an array as a column. The capsule of the array is consumed, the schema's is not."""
    cdef ImportCall call = ImportCall(stream, mr, options)
    cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
    cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
    cdef core.imported_column imported
    with nogil:
        imported = move(
            core.from_arrow_device_column(
                dereference(c_schema), c_array, call.options, call.context.stream, call.resource
            )
        )
    return wrap_column(move(imported.storage), imported.offset, imported.size, call.context)


def import_table(schema, array, stream, mr, object options):
    """Import a struct array as columns and a number of rows.

    The capsule of the array is consumed, the schema's is not.
    """
    cdef ImportCall call = ImportCall(stream, mr, options)
    cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
    cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
    cdef core.borrowed_table imported
    with nogil:
        imported = move(
            core.borrow_arrow_device_table(
                dereference(c_schema), c_array, call.options, call.context.stream, call.resource
            )
        )
    return wrap_columns(imported, call.context), imported.num_rows


cdef class ArrayImporter:
    """Imports arrays of one schema, which is parsed once."""

    cdef tuple arguments
    cdef unique_ptr[core.array_importer] importer

    def __init__(self, stream, mr, object options, Schema schema not None):
        cdef unique_schema c_schema
        self.arguments = (stream, mr, options)
        with nogil:
            c_schema = move(schema.schema.to_arrow())
            self.importer.reset(new core.array_importer(dereference(c_schema.get())))

    def import_column(self, array):
        """Import an array as a column; its capsule is consumed."""
        cdef ImportCall call = ImportCall(*self.arguments)
        cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
        cdef core.imported_column imported
        with nogil:
            imported = move(
                self.importer.get().column(
                    c_array, call.options, call.context.stream, call.resource
                )
            )
        return wrap_column(move(imported.storage), imported.offset, imported.size, call.context)

    def import_table(self, array):
        """Import a struct array as columns and a number of rows; its capsule is consumed."""
        cdef ImportCall call = ImportCall(*self.arguments)
        cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
        cdef core.borrowed_table imported
        with nogil:
            imported = move(
                self.importer.get().borrow_table(
                    c_array, call.options, call.context.stream, call.resource
                )
            )
        return wrap_columns(imported, call.context), imported.num_rows
