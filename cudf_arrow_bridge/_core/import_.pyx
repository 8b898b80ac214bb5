# SPDX-License-Identifier: Apache-2.0
"""Arrow device arrays to pylibcudf columns and tables."""

cimport cython
from cpython.ref cimport PyObject
from cpython.tuple cimport PyTuple_GetItem
from cython.operator cimport dereference
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr, static_pointer_cast, unique_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column cimport column, column_contents
from pylibcudf.libcudf.types cimport data_type, size_type
from pylibcudf.table cimport Table
from pylibcudf.types cimport DataType
from rmm.librmm.device_buffer cimport device_buffer
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.capsules cimport (
    device_array_capsule_from_array,
    device_array_from_capsule,
    schema_from_capsule,
)
from cudf_arrow_bridge._core.columns cimport Span, table_of
from cudf_arrow_bridge._core.copies cimport policy_of, to_tuples
from cudf_arrow_bridge._core.exported_array cimport DescribedArray
from cudf_arrow_bridge._core.imported_fields cimport ImportedFields, remember
from cudf_arrow_bridge._core.interpreter cimport drop_share
from cudf_arrow_bridge._core.memory cimport check_resource, resolve_resource, resource_of
from cudf_arrow_bridge._core.ordering cimport stream_of
from cudf_arrow_bridge._core.schema cimport Schema, is_struct, marks_table

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
        The stream that they are freed on.
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


cdef class ImportArguments:
    """The arguments of imports, as C++ takes them; see `from_arrow_device`.

    Parameters
    ----------
    stream
        The stream of the imports.
    reader
        A second stream that reads the results, or None. Buffers are freed on the stream of the
        import, after the work of both.
    mr
        The memory resource of converted buffers; None for the one that is rmm's current one at the
        time of an import.
    copy
        None: copy what cannot be adopted; False: never; True: always.
    validate
        What to check before an array is used.
    sanitize
        Whether to leave nested nulls as libcudf expects them.

    Raises
    ------
    TypeError
        If `mr` is neither a memory resource nor None.
    ValueError
        If `copy` or `validate` is none of its values.
    """

    cdef core.import_options options
    cdef object stream
    cdef object reader
    cdef object mr
    cdef bint has_objects
    #: Where there is no GPU, all imports have the same.
    cdef ImportContext host_context

    def __cinit__(self, stream, reader, mr, copy, validate, bint sanitize):
        if validate not in ("minimal", "full"):
            raise ValueError(f"validate={validate!r} found, 'minimal' or 'full' expected")
        check_resource(mr)
        self.options.copy = policy_of(copy)
        self.options.sanitize = sanitize
        if validate == "full":
            self.options.validate = core.validation.full
        self.stream = stream
        self.reader = reader
        self.mr = mr
        # rmm's current resource and cuDF's stream are not the caller's.
        self.has_objects = mr is not None or stream.owner is not None

    cdef ImportContext context(self):
        """Return the context of an import on this thread."""
        mr = resolve_resource(self.mr)
        if mr is None and self.host_context is not None:
            return self.host_context
        cdef ImportContext context
        context = ImportContext(mr, self.stream, self.reader, self.has_objects)
        if mr is None and not self.stream.is_freed_by_thread:
            self.host_context = context
        return context


cdef class ArrayImporter:
    """Imports arrays of one schema, which is parsed once; any number of threads may use it.

    Parameters
    ----------
    schema
        The capsule of the schema, which is not consumed.
    """

    cdef unique_ptr[core.array_importer] importer
    #: What others derive from the schema, each under a key of its own.
    cdef readonly dict derived
    #: Once somebody asks for them.
    cdef ImportedFields fields

    def __cinit__(self, schema):
        cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
        self.derived = {}
        with nogil:
            self.importer.reset(new core.array_importer(dereference(c_schema)))

    @property
    def schema(self) -> Schema:
        return Schema.wrap(self.importer.get().schema())

    def import_array(self, array, bint is_table, ImportArguments arguments not None):
        """Import an array as columns and their number of rows; its capsule is consumed.

        Parameters
        ----------
        array
            The capsule of a device array.
        is_table
            Whether its children are the columns; else it is the one column.
        arguments
            The arguments of the import.
        """
        cdef ImportContext context = arguments.context()
        cdef core.borrowed_table imported
        self.borrow(imported, array, is_table, arguments, context)
        return wrap_columns(imported, context), imported.num_rows

    def import_and_tell(self, array, bint is_table, ImportArguments arguments not None):
        """Do what `import_array` does, and return also what was made instead of adopted.

        Returns
        -------
        tuple of (list of Column, int, list of tuple)
            The columns, their number of rows, and address, size and reason of each piece of memory.
        """
        cdef ImportContext context = arguments.context()
        cdef core.borrowed_table imported
        self.borrow(imported, array, is_table, arguments, context)
        return wrap_columns(imported, context), imported.num_rows, to_tuples(imported.made)

    cdef int borrow(
        self,
        core.borrowed_table& imported,
        array,
        bint is_table,
        ImportArguments arguments,
        ImportContext context,
    ) except -1:
        """Import the array in a capsule, which is consumed."""
        cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
        cdef device_async_resource_ref resource = resource_of(context.mr)
        with nogil:
            if is_table:
                imported = move(
                    self.importer.get().borrow_table(
                        c_array, arguments.options, context.stream, resource
                    )
                )
            else:
                imported = move(
                    self.importer.get().borrow_column(
                        c_array, arguments.options, context.stream, resource
                    )
                )
        return 0

    cdef ImportedFields fields_of_schema(self):
        if self.fields is None:
            self.fields = ImportedFields.of(self.importer.get().schema())
        return self.fields

    def table(self, list columns not None, size_type num_rows, first_row) -> Table:
        """Make a table of the columns of one array, which remember their fields from now on.

        Parameters
        ----------
        columns, num_rows
            The columns of an array of this schema, and their number of rows.
        first_row
            Without a meaning for tables.
        """
        remember(columns, self.fields_of_schema(), True)
        return table_of(columns, num_rows)

    def column(self, list columns not None, size_type num_rows, first_row) -> Column:
        """Return the one column of an array, which remembers its field from now on; see `table`."""
        remember(columns, self.fields_of_schema(), False)
        return columns[0]


def select_children(schema, array, vector[size_t] positions) -> None:
    """Reduce the struct array in a capsule to some of its children, which it then hands over alone.

    Parameters
    ----------
    schema
        The capsule of the schema of the whole array, which is not consumed.
    array
        The capsule of the device array.
    positions
        Which children, each once.
    """
    cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
    cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
    with nogil:
        core.select_children(dereference(c_schema), c_array, positions)


#: Those of the newest schemas. Replaced as a whole, so that threads need no lock.
cdef tuple newest_importers = ()
cdef Py_ssize_t MAX_IMPORTERS = 16


cpdef ArrayImporter importer_of(schema):
    """Return the importer of the schema in a capsule, which is not consumed.

    Those of the newest schemas are kept, since producers send many arrays of one schema.
    """
    global newest_importers
    cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
    cdef tuple importers = newest_importers
    cdef ArrayImporter importer
    cdef Py_ssize_t i
    for i in range(len(importers)):
        importer = <ArrayImporter>PyTuple_GetItem(importers, i)
        if importer.importer.get().has_schema(dereference(c_schema)):
            return importer
    importer = ArrayImporter(schema)
    newest_importers = (importer, *importers[: MAX_IMPORTERS - 1])
    return importer


cdef class SourceArray:
    """One array that a producer handed over.

    Parameters
    ----------
    schema_capsule, array_capsule
        ``arrow_schema`` and ``arrow_device_array``; an import consumes the latter.
    known_table
        Whether the object is known to be a table, whatever its schema's flags.
    labels
        Labels without a JSON form, of a `DeviceArray` that this process exported.
    first_row
        For a batch of a stream, the number of rows before it: where its part of a range index
        begins. None for a single array.
    """

    cdef readonly object schema_capsule
    cdef readonly object array_capsule
    cdef readonly tuple labels
    cdef readonly object first_row
    cdef bint known_table
    cdef ArrayImporter parsed

    def __init__(self, schema_capsule, array_capsule, bint known_table, tuple labels, first_row):
        self.schema_capsule = schema_capsule
        self.array_capsule = array_capsule
        self.known_table = known_table
        self.labels = labels
        self.first_row = first_row

    @property
    def kind(self) -> str:
        """Whether this is a table or a column: by object and schema, never by the data."""
        is_table = (
            is_struct(self.schema_capsule) if self.known_table else marks_table(self.schema_capsule)
        )
        return "table" if is_table else "column"

    @property
    def importer(self) -> ArrayImporter:
        """What imports arrays of this schema."""
        if self.parsed is None:
            self.parsed = importer_of(self.schema_capsule)
        return self.parsed

    @property
    def device_type(self) -> int:
        """Arrow's device type of the array's memory."""
        return device_array_from_capsule(self.array_capsule).device_type

    def length(self) -> int:
        """Return the number of rows that the array claims."""
        return device_array_from_capsule(self.array_capsule).array.length

    def __arrow_c_device_array__(self, requested_schema=None) -> tuple:
        """Hand over the capsules."""
        return self.schema_capsule, self.array_capsule


cdef tuple pair_of(capsules):
    if not isinstance(capsules, (tuple, list)) or len(capsules) != 2:
        raise TypeError(f"{capsules!r} found, a pair of PyCapsules expected")
    return tuple(capsules)


def find_array(obj, are_tables):
    """Ask an object for its array.

    Parameters
    ----------
    obj
        The object.
    are_tables
        Says whether objects of a class are known to be tables.

    Returns
    -------
    SourceArray or None
        None if the object has none of the protocols of arrays.
    """
    export = getattr(obj, "__arrow_c_device_array__", None)
    if export is not None:
        schema, array = pair_of(export())
    else:
        export = getattr(obj, "__arrow_c_array__", None)
        if export is None:
            return None
        schema, array = pair_of(export())
        array = device_array_capsule_from_array(array)
    cdef DescribedArray described
    if isinstance(obj, DescribedArray):
        described = <DescribedArray>obj
        return SourceArray(
            schema, array, described._kind == "table", described._labels, described._first_row
        )
    return SourceArray(schema, array, are_tables(type(obj)), (), None)
