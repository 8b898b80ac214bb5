# SPDX-License-Identifier: Apache-2.0
"""Arrow device arrays to columns and tables of pylibcudf."""

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


cdef class ImportPlace:
    """Where the buffers of an import are allocated, freed and read; they keep it alive.

    Parameters
    ----------
    mr
        The resource that they are of.
    stream
        The stream that they are freed on.
    reader
        Another stream that reads them, or None.
    """

    def __cinit__(self, mr, stream, reader):
        self.mr = mr
        self.freed_on = stream
        self.read_on = reader
        # Named now: on another thread these may be other streams.
        self.stream = stream_of(stream)
        self.reader = self.stream if reader is None else stream_of(reader)

    cdef shared_ptr[const void] released_in_order(self, shared_ptr[const void] owner) except *:
        """Have an owner wait, once it goes, for the work of all streams that read what it owns."""
        if owner.get() == NULL:
            return owner
        return core.release_after(move(owner), self.stream, self.reader)


cdef class Lender:
    """A producer's memory that columns borrow: released when the last of them is gone."""

    cdef shared_ptr[const void] owner
    cdef ImportPlace place

    def __dealloc__(self):
        drop_share(self.owner)


cdef class ImportedSpan(Span):
    """Memory of an imported column.

    rmm's own `DeviceBuffer` needs a driver; this needs none. Freeing it may release the producer.
    """

    #: Of a `device_buffer`; none of what is borrowed.
    cdef shared_ptr[const void] owner
    cdef object kept

    def __dealloc__(self):
        if self.owner.get() != NULL:
            drop_share(self.owner)


cdef ImportedSpan wrap_buffer(unique_ptr[device_buffer] buffer, ImportPlace place):
    if buffer.get() == NULL or buffer.get().size() == 0:
        return None
    cdef ImportedSpan self = ImportedSpan.__new__(ImportedSpan)
    self.ptr = <uintptr_t>buffer.get().data()
    self.size = buffer.get().size()
    cdef shared_ptr[device_buffer] owner
    owner.reset(buffer.release())
    self.owner = place.released_in_order(static_pointer_cast[const_void, device_buffer](owner))
    self.kept = place
    return self


cdef ImportedSpan borrow(const void* memory, size_t size, Lender lender):
    if size == 0:
        return None
    cdef ImportedSpan self = ImportedSpan.__new__(ImportedSpan)
    self.ptr = <uintptr_t>memory
    self.size = size
    self.kept = lender
    return self


# Making a DataType goes through the Python enum of type ids: slower than all the rest of a column.
cdef dict _dtypes = {}


cdef DataType wrap_type(data_type c_type):
    # Type ids stay below 64, and Python keeps ints this small.
    key = <int>c_type.id() + 64 * c_type.scale()
    dtype = _dtypes.get(key)
    if dtype is None:
        dtype = _dtypes[key] = DataType.from_libcudf(c_type)
    return dtype


cdef Column wrap_column(
    unique_ptr[column] storage, size_type offset, size_type size, ImportPlace place
):
    # Filled in rather than called: the constructor would check again what C++ vouches for.
    cdef Column self = Column.__new__(Column)
    self._data_type = wrap_type(storage.get().type())
    self._size = size
    self._offset = offset
    self._null_count = storage.get().null_count()
    cdef column_contents contents = storage.get().release()
    self._data = wrap_buffer(move(contents.data), place)
    self._mask = wrap_buffer(move(contents.null_mask), place)
    self._children = []
    cdef size_type i, child_size
    for i in range(<size_type>contents.children.size()):
        child_size = contents.children[i].get().size()
        self._children.append(wrap_column(move(contents.children[i]), 0, child_size, place))
    self._num_children = <size_type>contents.children.size()
    return self


cdef Column wrap_borrowed(core.borrowed_column& borrowed, Lender lender):
    cdef Column self = Column.__new__(Column)
    self._data_type = wrap_type(borrowed.type)
    self._size = borrowed.size
    self._offset = borrowed.offset
    self._null_count = borrowed.null_count
    self._data = borrow(borrowed.data, borrowed.data_size, lender)
    self._mask = borrow(borrowed.mask, borrowed.mask_size, lender)
    self._children = []
    self._num_children = 0
    if borrowed.offsets != NULL:
        self._children.append(wrap_offsets(borrowed, lender))
        self._num_children = 1
    return self


cdef Column wrap_offsets(core.borrowed_column& borrowed, Lender lender):
    cdef Column self = Column.__new__(Column)
    self._data_type = wrap_type(borrowed.offsets_type)
    self._size = borrowed.offset + borrowed.size + 1
    self._data = borrow(borrowed.offsets, borrowed.offsets_size, lender)
    self._children = []
    return self


cdef list wrap_columns(core.borrowed_table& table, ImportPlace place):
    cdef Lender lender = Lender.__new__(Lender)
    cdef core.borrowed_column* found
    cdef size_t i
    lender.owner = place.released_in_order(move(table.owner))
    lender.place = place
    columns = []
    for i in range(table.columns.size()):
        found = &table.columns[i]
        if found.imported.storage.get() == NULL:
            columns.append(wrap_borrowed(dereference(found), lender))
        else:
            columns.append(
                wrap_column(
                    move(found.imported.storage),
                    found.imported.offset,
                    found.imported.size,
                    place,
                )
            )
    return columns


cdef class ImportCall:
    """What an import is called with, as C++ takes it."""

    cdef core.import_options options
    cdef device_async_resource_ref resource
    cdef ImportPlace place

    def __cinit__(self, stream, mr, object options):
        self.options.copy = options.copy
        self.options.sanitize = options.sanitize
        if options.validate == "full":
            self.options.validate = core.validation.full
        mr = resolve_resource(mr)
        self.resource = resource_of(mr)
        self.place = ImportPlace(mr, stream, options.reader)


def import_column(schema, array, stream, mr, object options):
    """Import an array; its capsule is spent, the schema's is not."""
    cdef ImportCall call = ImportCall(stream, mr, options)
    cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
    cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
    cdef core.imported_column imported
    with nogil:
        imported = move(
            core.from_arrow_device_column(
                dereference(c_schema), c_array, call.options, call.place.stream, call.resource
            )
        )
    return wrap_column(move(imported.storage), imported.offset, imported.size, call.place)


def import_table(schema, array, stream, mr, object options):
    """Import a struct array as columns and a number of rows, likewise."""
    cdef ImportCall call = ImportCall(stream, mr, options)
    cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
    cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
    cdef core.borrowed_table imported
    with nogil:
        imported = move(
            core.borrow_arrow_device_table(
                dereference(c_schema), c_array, call.options, call.place.stream, call.resource
            )
        )
    return wrap_columns(imported, call.place), imported.num_rows


cdef class ArrayImporter:
    """Imports arrays of one schema, which is looked at once."""

    cdef tuple how
    cdef unique_ptr[core.array_importer] importer

    def __init__(self, stream, mr, object options, Schema schema not None):
        cdef unique_schema c_schema
        self.how = (stream, mr, options)
        with nogil:
            c_schema = move(schema.schema.to_arrow())
            self.importer.reset(new core.array_importer(dereference(c_schema.get())))

    def import_column(self, array):
        """Import an array, as the function of this name does."""
        cdef ImportCall call = ImportCall(*self.how)
        cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
        cdef core.imported_column imported
        with nogil:
            imported = move(
                self.importer.get().column(
                    c_array, call.options, call.place.stream, call.resource
                )
            )
        return wrap_column(move(imported.storage), imported.offset, imported.size, call.place)

    def import_table(self, array):
        """Import a struct array, likewise."""
        cdef ImportCall call = ImportCall(*self.how)
        cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
        cdef core.borrowed_table imported
        with nogil:
            imported = move(
                self.importer.get().borrow_table(
                    c_array, call.options, call.place.stream, call.resource
                )
            )
        return wrap_columns(imported, call.place), imported.num_rows
