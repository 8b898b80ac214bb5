# SPDX-License-Identifier: Apache-2.0
"""Columns and tables of pylibcudf to Arrow device arrays."""

from cuda.bindings.cyruntime cimport cudaStream_t, cudaStreamLegacy, cudaStreamPerThread
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.table.table_view cimport table_view
from pylibcudf.libcudf.types cimport size_type
from rmm.librmm.cuda_stream_ref cimport stream_ref
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.capsules cimport array_to_capsule, device_array_to_capsule
from cudf_arrow_bridge._core.columns cimport add_view
from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport (
    ArrowSchema,
    column_metadata,
    shared_schema,
    unique_device_array,
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
    """One level of an exported tree: `cudf_arrow_bridge::device_array` as Python sees it."""

    @staticmethod
    cdef ExportedArray wrap(core.device_array array, object stream):
        cdef ExportedArray self = ExportedArray.__new__(ExportedArray)
        self.array = array
        self.stream = stream
        return self

    def share(self):
        """Make one more handle, which `release` of this one leaves alone."""
        return ExportedArray.wrap(self.array, self.stream)

    def device_array_capsule(self):
        """Make one more live `ArrowDeviceArray`, in a capsule."""
        cdef unique_device_array array
        with nogil:
            array = move(self.array.to_arrow())
        return device_array_to_capsule(array)

    def array_capsule(self):
        """Make one more live `ArrowArray`, in a capsule, of host-accessible memory.

        It has no event for its consumer to wait for, so this waits.
        """
        cdef unique_device_array array
        with nogil:
            self.array.wait()
            array = move(self.array.to_arrow())
        return array_to_capsule(array)

    def to_host(self, stream):
        """Bring this level and all below to host memory; wait for that."""
        cdef stream_ref c_stream = stream_of(stream)
        cdef core.device_array array
        with nogil:
            array = self.array.to_host(c_stream)
        return ExportedArray.wrap(array, None)

    def release(self) -> None:
        """Drop this handle's share of the tree."""
        cdef core.device_array array
        with nogil:
            array = move(self.array)
            self.array.reset()
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
        cdef vector[core.buffer_info] infos
        with nogil:
            infos = self.array.buffers()
        return [
            (
                info.name.data()[:info.name.size()].decode(),
                <uintptr_t>info.address,
                info.size,
                info.zero_copy,
            )
            for info in infos
        ]


cdef class ExportCall:
    """What an export is called with, as C++ takes it: `Parts`, and how to export them."""

    cdef bint is_table
    #: The one column of an array, too.
    cdef table_view table
    cdef core.export_options options
    cdef stream_ref stream
    cdef device_async_resource_ref resource
    cdef shared_ptr[const void] owner

    def __cinit__(self, parts, how):
        cdef tuple columns = tuple(parts.columns)
        cdef vector[column_view] views
        views.reserve(len(columns))
        for column in columns:
            add_view(views, <Column?>column)
        self.is_table = parts.kind == "table"
        self.table = table_view(views, parts.num_rows)
        mr = resolve_resource(None)
        self.options.compact = how.compact
        self.options.managed_as_cuda = how.managed_as_cuda
        self.stream = stream_of(how.stream)
        self.resource = resource_of(mr)
        # The stream and the resource are in use as long as what they were used for.
        self.owner = share_object((columns, parts.owners, mr, how.stream))
        if how.stream.is_freed_by_thread:
            self.owner = released_after_readers(move(self.owner), how.stream.handle)


cdef shared_ptr[const void] released_after_readers(
    shared_ptr[const void] owner, uintptr_t handle
) except *:
    """Free what is freed on the thread's default stream behind the work of the thread it is of.

    That is the one that exports on its own default stream. For any other handle it may be any.
    """
    cdef uintptr_t freed = cudaStreamPerThread
    cdef uintptr_t read = freed if handle == freed else cudaStreamLegacy
    return core.release_after(
        move(owner), stream_ref(<cudaStream_t>freed), stream_ref(<cudaStream_t>read)
    )


cdef shared_schema schema_of(ExportCall call, description, requested) except *:
    """Make the schema of columns and their `Description`, unless one is known."""
    if requested is None and description.schema is not None:
        return (<Schema?>description.schema).schema
    cdef vector[column_metadata] fields
    for field in description.fields:
        fields.push_back(to_column_metadata(field))
    cdef vector[core.pair[core.string, core.string]] metadata
    metadata = to_key_values(description.metadata)
    cdef const ArrowSchema* c_requested = requested_from_capsule(requested)
    cdef shared_schema schema
    with nogil:
        if call.is_table:
            schema = move(core.make_schema(call.table, fields, metadata, c_requested))
        else:
            schema = move(core.make_schema(call.table.column(0), fields[0], c_requested))
    if requested is None:
        description.schema = Schema.wrap(schema)
    return schema


def export_parts(parts, how, requested):
    """Export `Parts`: the schema and the array.

    The owners and the stream are kept alive, beside the columns, as long as anything made from the
    array is. `requested` is the capsule of a schema, which stays what it was, or None.
    """
    cdef ExportCall call = ExportCall(parts, how)
    cdef shared_schema schema = schema_of(call, parts.description, requested)
    cdef core.device_array array
    with nogil:
        if call.is_table:
            array = move(
                core.to_arrow_device(
                    call.table, schema, call.owner, call.options, call.stream, call.resource
                )
            )
        else:
            array = move(
                core.to_arrow_device(
                    call.table.column(0),
                    schema,
                    call.owner,
                    call.options,
                    call.stream,
                    call.resource,
                )
            )
    return Schema.wrap(move(schema)), ExportedArray.wrap(array, how.stream)


cdef class BatchSource:
    """Batches for a stream: `cudf_arrow_bridge::batch_source` as Python sees it."""


def slice_parts(parts, size_type max_rows, how, requested) -> BatchSource:
    """Split `Parts` into batches that are exported, likewise, when they are asked for."""
    cdef BatchSource result = BatchSource.__new__(BatchSource)
    cdef ExportCall call = ExportCall(parts, how)
    cdef shared_schema schema = schema_of(call, parts.description, requested)
    with nogil:
        if call.is_table:
            result.source = move(
                core.slices(
                    call.table,
                    schema,
                    call.owner,
                    max_rows,
                    call.options,
                    call.stream,
                    call.resource,
                )
            )
        else:
            result.source = move(
                core.slices(
                    call.table.column(0),
                    schema,
                    call.owner,
                    max_rows,
                    call.options,
                    call.stream,
                    call.resource,
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
