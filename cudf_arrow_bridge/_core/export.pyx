# SPDX-License-Identifier: Apache-2.0
"""pylibcudf columns and tables to Arrow device arrays."""

from cpython.tuple cimport PyTuple_GetItem
from cuda.bindings.cyruntime cimport cudaStream_t, cudaStreamLegacy, cudaStreamPerThread
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.table.table_view cimport table_view
from pylibcudf.libcudf.types cimport size_type
from rmm.librmm.cuda_stream_ref cimport stream_ref
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.capsules cimport (
    array_to_capsule,
    device_array_to_capsule,
    schema_to_capsule,
)
from cudf_arrow_bridge._core.columns cimport add_views
from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport (
    ArrowSchema,
    column_metadata,
    shared_schema,
    unique_device_array,
    unique_schema,
)
from cudf_arrow_bridge._core.interpreter cimport share_object
from cudf_arrow_bridge._core.memory cimport resolve_resource, resource_of
from cudf_arrow_bridge._core.ordering cimport stream_of
from cudf_arrow_bridge._core.schema cimport (
    Schema,
    requested_from_capsule,
    to_column_metadata,
    to_key_values,
)


cdef class ExportedArray:
    """An exported array or a child of one: `cudf_arrow_bridge::device_array` for Python.

    The handle is changed only with the GIL. What runs without it takes a copy: another thread may
    release this object meanwhile.
    """

    @staticmethod
    cdef ExportedArray wrap(core.device_array array, object stream):
        cdef ExportedArray self = ExportedArray.__new__(ExportedArray)
        self.array = array
        self.stream = stream
        return self

    def share(self):
        """Make one more handle, which outlives `release` of this one."""
        return ExportedArray.wrap(self.array, self.stream)

    def device_array_capsule(self):
        """Make a new `ArrowDeviceArray` over this array, in a capsule."""
        cdef core.device_array handle = self.array
        cdef unique_device_array array
        with nogil:
            array = move(handle.to_arrow())
        return device_array_to_capsule(array)

    def array_capsule(self):
        """Make a new `ArrowArray` over this array, in a capsule; for memory that the CPU can read.

        It has no event that its consumer could wait for, so this waits for the data.
        """
        cdef core.device_array handle = self.array
        cdef unique_device_array array
        with nogil:
            handle.wait()
            array = move(handle.to_arrow())
        return array_to_capsule(array)

    def to_host(self, stream):
        """Copy the array and its children to host memory, and wait for that."""
        cdef stream_ref c_stream = stream_of(stream)
        cdef core.device_array handle = self.array
        cdef core.device_array array
        with nogil:
            array = handle.to_host(c_stream)
        return ExportedArray.wrap(array, None)

    def release(self) -> None:
        """Drop this handle's share of the array."""
        cdef core.device_array array = self.array
        self.array.reset()
        with nogil:
            array.reset()

    @property
    def is_released(self) -> bool:
        return self.array.is_released()

    @property
    def device_type(self) -> int:
        return self.array.location().device_type

    @property
    def device_id(self) -> int:
        return self.array.location().device_id

    @property
    def length(self) -> int:
        return self.array.length()

    @property
    def null_count(self) -> int:
        return self.array.null_count()

    @property
    def offset(self) -> int:
        return self.array.offset()

    @property
    def children(self) -> list:
        return [
            ExportedArray.wrap(self.array.child(i), self.stream)
            for i in range(self.array.num_children())
        ]

    @property
    def dictionary(self):
        if not self.array.has_dictionary():
            return None
        return ExportedArray.wrap(self.array.dictionary(), self.stream)

    def buffers(self) -> list:
        """List name, address, size in bytes and whether zero-copy, for each buffer."""
        cdef core.device_array handle = self.array
        cdef vector[core.buffer_info] infos
        with nogil:
            infos = handle.buffers()
        return [
            (
                info.name.data()[:info.name.size()].decode(),
                <uintptr_t>info.address,
                info.size,
                info.zero_copy,
            )
            for info in infos
        ]


cdef class DescribedArray:
    """What a `DeviceArray` consists of; see there for the parameters."""

    def __init__(
        self,
        ExportedArray array not None,
        arrow_schema,
        str kind not None,
        tuple labels not None=(),
        first_row=None,
        exporter=None,
    ):
        self._exporter = exporter
        self._array = array
        self._arrow_schema = arrow_schema
        self._kind = kind
        self._labels = labels
        self._first_row = first_row

    def capsules(self) -> tuple:
        """Make a new `ArrowSchema` and a new `ArrowDeviceArray`, in capsules."""
        if not isinstance(self._arrow_schema, Schema):
            return self._arrow_schema.__arrow_c_schema__(), self._array.device_array_capsule()
        cdef shared_schema shared = (<Schema>self._arrow_schema).schema
        cdef core.device_array handle = self._array.array
        cdef unique_schema schema
        cdef unique_device_array array
        with nogil:
            array = move(handle.to_arrow())
            schema = move(shared.to_arrow())
        return schema_to_capsule(schema), device_array_to_capsule(array)


cdef class ExportInput:
    """The columns of one object to export.

    Parameters
    ----------
    kind
        ``"table"`` for a record batch, ``"column"`` for an array.
    columns
        The pylibcudf columns, which stay alive while the memory is in use. These references also
        make cuDF copy the memory before it writes there.
    num_rows
        The number of rows; a frame without columns can have some.
    schema_spec
        What their schema says beyond their types: a `SchemaSpec`.
    """

    def __init__(
        self, str kind not None, columns not None, size_type num_rows, schema_spec not None
    ):
        self.kind = kind
        self.columns = columns
        self.num_rows = num_rows
        self.schema_spec = schema_spec


#: Memory of an earlier call's views. glibc's malloc consolidates its freed small chunks before it
#: serves a request of more than 1 KiB, which takes longer than making the views.
cdef vector[column_view] spare_views
#: Memory of more views is given back.
cdef size_t MAX_SPARE_VIEWS = 10_000


cdef class ExportCall:
    """The arguments of an export as C++ takes them."""

    cdef vector[column_view] views
    cdef core.export_input input
    cdef core.export_options options
    cdef stream_ref stream
    cdef device_async_resource_ref resource
    cdef shared_ptr[const void] owner

    @staticmethod
    cdef ExportCall of(ExportInput export_input, options, requested_schema):
        """Convert the arguments of `export_array` that have these names."""
        cdef ExportCall self = ExportCall.__new__(ExportCall)
        # Not unpacked: of a named tuple, that takes an iterator.
        stream = <object>PyTuple_GetItem(options, 0)
        cdef tuple columns = tuple(export_input.columns)
        self.views.swap(spare_views)
        add_views(self.views, columns)
        if export_input.kind == "table":
            self.input = core.export_input(self.views, export_input.num_rows)
        else:
            self.input = core.export_input(self.views[0])
        mr = resolve_resource(None)
        self.options.schema = schema_of(self.views, export_input, requested_schema)
        self.options.compact = <object>PyTuple_GetItem(options, 1)
        self.options.managed_as_cuda = <object>PyTuple_GetItem(options, 2)
        self.stream = stream_of(stream)
        self.resource = resource_of(mr)
        # Conversions are freed on the stream and by the resource, which must live as long.
        self.owner = share_object((columns, mr, stream))
        if stream.is_freed_by_thread:
            self.owner = released_after_readers(move(self.owner), stream.handle)
        return self

    def __dealloc__(self):
        self.views.clear()
        if spare_views.capacity() < self.views.capacity() <= MAX_SPARE_VIEWS:
            self.views.swap(spare_views)


cdef shared_ptr[const void] released_after_readers(
    shared_ptr[const void] owner, uintptr_t handle
) except *:
    """Release memory that is freed on a per-thread default stream after the work that reads it.

    If the export runs on this thread's default stream, that work is there. Otherwise it may be on
    the default stream of any thread; the legacy default stream comes after all of them.
    """
    cdef uintptr_t freed_on = cudaStreamPerThread
    cdef uintptr_t read_on = freed_on if handle == freed_on else cudaStreamLegacy
    return core.release_after(
        move(owner), stream_ref(<cudaStream_t>freed_on), stream_ref(<cudaStream_t>read_on)
    )


cdef shared_schema schema_of(
    vector[column_view]& views, ExportInput export_input, requested_schema
) except *:
    """Make the schema of columns and their `SchemaSpec`, which keeps it unless one is requested."""
    spec = export_input.schema_spec
    if requested_schema is None and spec.schema is not None:
        return (<Schema?>spec.schema).schema
    cdef bint is_table = export_input.kind == "table"
    cdef size_type num_rows = export_input.num_rows
    cdef vector[column_metadata] fields
    for field in spec.fields:
        fields.push_back(to_column_metadata(field))
    cdef vector[core.pair[core.string, core.string]] metadata
    metadata = to_key_values(spec.metadata)
    cdef const ArrowSchema* c_requested = requested_from_capsule(requested_schema)
    cdef shared_schema schema
    with nogil:
        if is_table:
            schema = move(
                core.make_schema(table_view(views, num_rows), fields, metadata, c_requested)
            )
        else:
            schema = move(core.make_schema(views[0], fields[0], c_requested))
    if requested_schema is None:
        spec.schema = Schema.wrap(schema)
    return schema


def export_array(
    ExportInput export_input not None, options, requested_schema, exporter, make_result
):
    """Export columns, which live as long as anything made from the array, as does the stream.

    Parameters
    ----------
    export_input
        The columns.
    options
        The `ExportOptions`.
    requested_schema
        The capsule of a schema, which is not consumed, or None.
    exporter
        That of the result.
    make_result
        Makes the result, with the parameters of `DeviceArray`.
    """
    cdef ExportCall call = ExportCall.of(export_input, options, requested_schema)
    cdef core.device_array array
    with nogil:
        array = move(
            core.to_arrow_device(call.input, call.owner, call.options, call.stream, call.resource)
        )
    spec = export_input.schema_spec
    return make_result(
        ExportedArray.wrap(array, <object>PyTuple_GetItem(options, 0)),
        spec.schema if requested_schema is None else Schema.wrap(call.options.schema),
        export_input.kind,
        spec.labels,
        None,
        exporter,
    )


cdef class BatchSource:
    """Batches of a stream: `cudf_arrow_bridge::batch_source` for Python."""


def export_slices(
    ExportInput export_input not None, size_type max_rows, options, requested_schema
) -> BatchSource:
    """Split an `ExportInput` into batches of at most `max_rows` rows, exported on demand.

    The columns and the stream live as long as the source and anything made from its
    batches. `requested_schema` is the capsule of a schema, which is not consumed, or None.
    """
    cdef BatchSource result = BatchSource.__new__(BatchSource)
    cdef ExportCall call = ExportCall.of(export_input, options, requested_schema)
    with nogil:
        result.source = move(
            core.slices(
                call.input, call.owner, max_rows, call.options, call.stream, call.resource
            )
        )
    return result


def single_batch(Schema schema not None, ExportedArray array not None) -> BatchSource:
    """Make a source of one array that is exported already."""
    cdef BatchSource result = BatchSource.__new__(BatchSource)
    cdef core.stream_batch batch
    batch.schema = schema.schema
    batch.array = array.array
    result.source = move(core.single(batch))
    return result
