# SPDX-License-Identifier: Apache-2.0
"""Construction of pylibcudf columns without the constructor's checks, and views of them."""

cimport cython
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int32_t, uintptr_t
from libcpp.memory cimport shared_ptr, static_pointer_cast, unique_ptr
from libcpp.string cimport string
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.gpumemoryview cimport gpumemoryview
from pylibcudf.libcudf.column.column cimport column as libcudf_column, column_contents
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.types cimport bitmask_type, data_type, size_type, type_id
from pylibcudf.libcudf.utilities.traits cimport is_fixed_width
from pylibcudf.table cimport Table
from pylibcudf.types cimport DataType
from rmm.librmm.device_buffer cimport device_buffer
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport hide_from_collector, resource_of, stream_of
from cudf_arrow_bridge._core.interpreter cimport drop_share, share_object

ctypedef const void const_void

cdef extern from * nogil:
    """
    #include <rmm/device_buffer.hpp>
    static bool is_from(rmm::device_buffer& buffer, rmm::device_async_resource_ref resource)
    {
      return buffer.memory_resource() == resource;
    }
    """
    bint is_from(device_buffer&, device_async_resource_ref)


cdef class Span:
    """A buffer with the interface that pylibcudf and cuDF expect. Subclasses own the memory."""

    def __dealloc__(self):
        Py_XDECREF(self.field)

    @property
    def nbytes(self) -> int:
        return self.size

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # cuDF reads the size from this interface, also for host memory.
        return {
            "data": (self.ptr, False),
            "shape": (self.size,),
            "strides": None,
            "typestr": "|u1",
            "version": 3,
        }


cdef class OwningSpan(Span):
    """A span that references the owner of its memory."""

    def __init__(self, uintptr_t ptr, size_t size, owner):
        self.ptr = ptr
        self.size = size
        self.owner = owner


cdef uintptr_t address_of(object span) except? 1:
    # For known types, do not read the Python attribute, which is slower than the rest of a view.
    if span is None:
        return 0
    if isinstance(span, Span):
        return (<Span>span).ptr
    if isinstance(span, gpumemoryview):
        return (<gpumemoryview>span).ptr
    return span.ptr


cdef int add_view(vector[column_view]& views, Column column) except -1:
    cdef vector[column_view] children
    if column._num_children:
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
    """Append views of columns. Equivalent to `Column.view`, but faster."""
    views.reserve(views.size() + len(columns))
    for column in columns:
        add_view(views, <Column?>column)
    return 0


cpdef Table table_of(object columns: Iterable[Column], size_type num_rows):
    """Return a table of columns that all have `num_rows` rows."""
    # Skip the constructor, which would check the columns.
    cdef Table table = Table.__new__(Table)
    table._columns = tuple(columns)
    table._num_rows = num_rows
    return table


cpdef Column rebuild(Column column, make_span: Callable[[Any], Any], list children: list[Column]):
    """Copy a column object with other children, and `make_span(buffer)` instead of each buffer.

    cuDF requires a data buffer of each column of a fixed width, also of a column without rows.
    """
    cdef Column result = Column.__new__(Column)
    result._data_type = column._data_type
    result._size = column._size
    result._offset = column._offset
    result._null_count = column._null_count
    cdef data_type dtype = column._data_type.c_obj
    cdef object data = column._data
    # libcudf's `is_fixed_width` throws for EMPTY.
    if data is None and dtype.id() != type_id.EMPTY and is_fixed_width(dtype):
        data = Span.__new__(Span)
    result._data = None if data is None else make_span(data)
    result._mask = None if column._mask is None else make_span(column._mask)
    result._children = children
    result._num_children = <size_type>len(children)
    return result


cpdef Column rebuild_all(Column column, make_span: Callable[[Any], Any]):
    """Copy a column object and its children, with a new span for each buffer; see `rebuild`."""
    children = [rebuild_all(<Column?>child, make_span) for child in column._children]
    return rebuild(column, make_span, children)


@cython.nonecheck(True)
cpdef object main_span(Column column):  # type: Any
    """Return the buffer that identifies one level of a column: its offsets, or its data.

    Return None for a column without rows, and for a struct, whose data is in its children.
    """
    cdef type_id id = column._data_type.c_obj.id()
    if id == type_id.STRING or id == type_id.LIST:
        return (<Column?>column._children[0])._data if column._children else None
    # A struct that libcudf made has an empty data buffer.
    return None if id == type_id.STRUCT else column._data


cdef void add_number(string& types, int32_t number) noexcept:
    types.append(<const char*>&number, sizeof(number))


cdef int add_types(string& types, Column column) except -1:
    add_number(types, <int32_t>column._data_type.c_obj.id())
    add_number(types, column._data_type.c_obj.scale())
    add_number(types, column._num_children)
    if column._num_children:
        for child in column._children:
            add_types(types, <Column?>child)
    return 0


cpdef bytes types_of(object columns: Iterable[Column]):
    """Encode the types of columns and their children. Equal bytes mean equal types."""
    cdef string types
    for column in columns:
        add_types(types, <Column?>column)
    return <bytes>types


@cython.no_gc_clear
cdef class ImportContext:
    """The memory resource and the streams of the buffers of an import. The buffers reference it.

    The buffers are freed on `stream`; `reader` is a second stream that reads them, or None.
    `copies` is whether the import copies all memory.
    """

    def __cinit__(self, mr, stream, reader, bint copies):
        self.mr = mr
        self.copies = copies
        self.freed_on = stream
        self.read_on = reader
        # Resolve now, since per-thread default streams are different on other threads.
        self.stream = stream_of(stream)
        self.reader = self.stream if reader is None else stream_of(reader)

    cdef shared_ptr[const void] released_in_order(self, shared_ptr[const void] owner) except *:
        """Return an owner that releases the memory after the work on both streams."""
        return core.release_after(move(owner), self.stream, self.reader)


# `no_gc_clear`: __dealloc__ uses the referenced objects, so breaking a cycle must not clear them.
@cython.no_gc_clear
cdef class ProducerMemory:
    """The memory of a producer's array, released when the last column that uses it is deleted."""

    cdef shared_ptr[const void] owner
    cdef ImportContext context

    def __dealloc__(self):
        drop_share(self.owner)


@cython.no_gc
cdef class ImportedSpan(Span):
    """A buffer of an imported column. Freeing it can release the producer's array.

    It replaces rmm's `DeviceBuffer`, which requires a driver. The garbage collector tracks neither
    it nor its column, since otherwise it would run several times during the import of a wide table.
    """

    #: The owner of a `device_buffer`; null for a view of `ProducerMemory`.
    cdef shared_ptr[const void] owner
    cdef object kept_alive

    def __dealloc__(self):
        if self.owner.get() != NULL:
            drop_share(self.owner)


cdef ImportedSpan make_span(uintptr_t ptr, size_t size, object kept_alive):
    cdef ImportedSpan self = ImportedSpan.__new__(ImportedSpan)
    self.kept_alive = kept_alive
    self.ptr = ptr
    self.size = size
    return self


cdef ImportedSpan wrap_buffer(unique_ptr[device_buffer] buffer, ImportContext context):
    if buffer.get() == NULL or buffer.get().size() == 0:
        return None
    cdef ImportedSpan self = make_span(
        <uintptr_t>buffer.get().data(), buffer.get().size(), context
    )
    # Adopted memory has a resource of its own.
    self.is_allocated = context.copies or is_from(buffer.get()[0], resource_of(context.mr))
    cdef shared_ptr[device_buffer] owner
    owner.reset(buffer.release())
    self.owner = context.released_in_order(static_pointer_cast[const_void, device_buffer](owner))
    return self


cdef ImportedSpan view_memory(const void* address, size_t size, ProducerMemory memory):
    if size == 0:
        return None
    cdef ImportedSpan self = make_span(<uintptr_t>address, size, memory)
    self.is_allocated = memory.context.copies
    return self


cdef bint is_as_imported(Column column) except -1:
    """Return whether an import of the exported column would have its type and null count."""
    # Days are exported as seconds. libcudf takes an unknown null count, -1, for no nulls.
    if column._data_type.c_obj.id() == type_id.DURATION_DAYS or column._null_count < 0:
        return False
    for child in column._children:
        if not is_as_imported(<Column?>child):
            return False
    return True


def share_columns(
    tuple columns not None: tuple[Column, ...], ImportContext context not None
) -> list[Column] | None:
    """Return columns over the memory of other columns, which is released as that of an import.

    Return None if the columns have to be exported and imported, which converts, uploads or rejects
    them.
    """
    cdef ProducerMemory memory = ProducerMemory.__new__(ProducerMemory)
    cdef vector[column_view] views
    for column in columns:
        if not is_as_imported(<Column?>column):
            return None
    add_views(views, columns)
    if not core.can_share(views):
        return None
    memory.owner = context.released_in_order(share_object(columns))
    memory.context = context

    def share(span):
        return make_span(span.ptr, span.size, memory)

    return [rebuild_all(column, share) for column in columns]


# Cached, since DataType uses a Python enum, which is slower than the rest of a column.
cdef dict _dtypes = {}


cdef DataType wrap_type(data_type c_type):
    # One int for both: ids are less than 64, so id 27 with scale -2 is 27 - 128 = -101.
    key = <int>c_type.id() + 64 * c_type.scale()
    dtype = _dtypes.get(key)
    if dtype is None:
        dtype = _dtypes[key] = DataType.from_libcudf(c_type)
    return dtype


cdef Column wrap_column(
    unique_ptr[libcudf_column] storage, size_type offset, size_type size, ImportContext context
):
    # Skip the constructor, which would repeat the checks of the C++ core.
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


cdef Column wrap_borrowed(
    const column_view& view, size_t data_size, ProducerMemory memory, list no_children
):
    """Return a column over the data, the mask and the offsets of a view."""
    cdef Column self = Column.__new__(Column)
    self._data_type = wrap_type(view.type())
    self._size = view.size()
    self._offset = view.offset()
    self._null_count = view.null_count()
    self._data = view_memory(view.head[char](), data_size, memory)
    if view.nullable():
        self._mask = view_memory(
            view.null_mask(), (<size_t>self._offset + <size_t>self._size + 7) // 8, memory
        )
    self._children = no_children
    cdef column_view offsets
    cdef size_t width
    if view.num_children() > 0:
        offsets = view.child(0)
        width = 8 if offsets.type().id() == type_id.INT64 else 4
        self._children = [wrap_borrowed(offsets, offsets.size() * width, memory, no_children)]
        self._num_children = 1
    hide_from_collector(self)
    return self


cdef list wrap_columns(core.imported_table& table, ImportContext context):
    cdef ProducerMemory memory = None
    cdef core.imported_column* column
    cdef size_t i
    columns = []
    no_children = []  # shared, since the garbage collector would track each list
    for i in range(table.columns.size()):
        column = &table.columns[i]
        if column.storage.get() != NULL:
            columns.append(wrap_column(move(column.storage), column.offset, column.size, context))
            continue
        if memory is None:
            # The borrowed columns of a table have the same owner.
            memory = ProducerMemory.__new__(ProducerMemory)
            memory.owner = context.released_in_order(column.owner)
            memory.context = context
        columns.append(wrap_borrowed(column.borrowed, column.data_size, memory, no_children))
    return columns
