# SPDX-License-Identifier: Apache-2.0
"""Export of pylibcudf columns and tables as Arrow device arrays."""

from cuda.bindings.cyruntime cimport cudaStream_t, cudaStreamLegacy, cudaStreamPerThread
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.types cimport size_type
from pylibcudf.table cimport Table
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport (
    check_resource,
    from_tuples,
    policy_of,
    resolve_resource,
    resource_of,
    stream_of,
)
from cudf_arrow_bridge._core.export.exported_array cimport DescribedArray, ExportedArray
from cudf_arrow_bridge._core.import_.columns cimport add_views, types_of
from cudf_arrow_bridge._core.import_.imported_fields cimport fields_key
from cudf_arrow_bridge._core.interpreter cimport share_object
from cudf_arrow_bridge._core.schema cimport Schema, SchemaSpec, cache_spec, cached_spec

from cudf_arrow_bridge._core.protocols import ColumnMetadata


cdef class ExportInput:
    """The columns of one object to export.

    `kind` is ``"table"`` for a record batch, ``"column"`` for an array. A table without columns can
    have rows. The export references the columns while their memory is in use. These references also
    make cuDF copy the memory before it writes to it. `copied` has the address, size and reason of
    each piece of memory that was allocated because the memory of the source could not be shared.
    `freed_on` is the stream that frees the columns, if it is known. It waits for the stream of the
    export before an array releases the columns.
    """

    cdef readonly str kind  # type: Kind
    cdef readonly tuple columns  # type: tuple[Column, ...]
    cdef readonly size_type num_rows
    cdef readonly SchemaSpec schema_spec
    cdef readonly tuple copied  # type: tuple[CopiedBuffer, ...]
    cdef readonly object freed_on  # type: Stream | None

    def __init__(
        self,
        str kind not None: Kind,
        columns not None: Sequence[Column],
        size_type num_rows,
        SchemaSpec schema_spec not None,
        copied: Sequence[CopiedBuffer] = (),
        freed_on: Stream | None = None,
    ):
        self.kind = kind
        self.columns = tuple(columns)
        self.num_rows = num_rows
        self.schema_spec = schema_spec
        self.copied = tuple(copied)
        self.freed_on = freed_on

    cdef bint is_copied(self) except -1:
        """Return whether all memory of the columns was allocated for this export."""
        addresses = {address for address, *_ in self.copied}
        levels = list(self.columns)
        for column in levels:
            levels += column.children()
            for span in (column.data(), column.null_mask()):
                if span is not None and span.size and span.ptr not in addresses:
                    return False
        return True


def pylibcudf_input(obj, spec_of: Callable[[Kind, tuple[Column, ...]], SchemaSpec]) -> Any:
    """Return the `ExportInput` of a pylibcudf column or table, or None for any other object."""
    cdef str kind = "column" if isinstance(obj, Column) else "table"
    cdef tuple columns
    cdef size_type num_rows
    if isinstance(obj, Column):
        columns, num_rows = (obj,), (<Column>obj)._size
    elif isinstance(obj, Table):
        columns, num_rows = tuple((<Table>obj)._columns), (<Table>obj)._num_rows
    else:
        return None
    fields = fields_key(columns)
    key = kind, types_of(columns), fields
    spec = cached_spec(key)
    if spec is None:
        if any(fields):
            spec = spec_of(kind, columns)
        else:
            # The core names the fields of a table by position.
            spec = SchemaSpec([ColumnMetadata()] if kind == "column" else [], {})
        cache_spec(key, spec, None)
    return ExportInput(kind, columns, num_rows, spec)


cdef class ExportArguments:
    """The arguments of exports, converted to C++ types; see `to_arrow_device`.

    If `mr` is None, each export uses rmm's current resource.

    Raises
    ------
    TypeError
        If `mr` is neither a memory resource nor None.
    ValueError
        If `copy` is not None, False or True.
    """

    cdef readonly object stream  # type: Stream
    cdef readonly bint compact
    cdef readonly bint managed_as_cuda
    cdef readonly object mr  # type: Any
    cdef readonly object copy  # type: bool | None
    cdef core.copy_policy copy_policy
    cdef bint is_freed_by_thread

    def __cinit__(
        self,
        stream not None: Stream,
        bint compact=False,
        bint managed_as_cuda=False,
        mr=None,
        copy: bool | None = None,
    ):
        check_resource(mr)
        self.stream = stream
        self.mr = mr
        self.copy = copy
        self.copy_policy = policy_of(copy)
        self.compact = compact
        self.managed_as_cuda = managed_as_cuda
        self.is_freed_by_thread = stream.is_freed_by_thread


cdef class ExportCall:
    """The arguments of one export, converted to C++ types."""

    cdef vector[column_view] views
    cdef core.export_input input
    cdef core.export_options options
    cdef core.stream_ref stream
    cdef device_async_resource_ref resource
    cdef shared_ptr[const void] owner
    cdef Schema schema

    def __cinit__(self, ExportInput export_input, ExportArguments arguments, requested_schema):
        cdef bint is_table = export_input.kind == "table"
        add_views(self.views, export_input.columns)
        if is_table:
            self.input = core.export_input(self.views, export_input.num_rows)
        else:
            self.input = core.export_input(self.views[0])
        mr = resolve_resource(arguments.mr)
        self.schema = export_input.schema_spec.schema_of(
            self.views, is_table, export_input.num_rows, requested_schema
        )
        self.options.schema = self.schema.schema
        self.options.compact = arguments.compact
        self.options.managed_as_cuda = arguments.managed_as_cuda
        self.options.copy = arguments.copy_policy
        if export_input.copied:
            self.options.copied = from_tuples(export_input.copied)
        if arguments.copy_policy == core.copy_policy.always:
            if export_input.copied and arguments.mr is None and export_input.is_copied():
                # The memory is a copy already, in the resource of copies.
                self.options.copy = core.copy_policy.as_needed
            self.options.copy_owner = share_object((mr, arguments.stream))
        self.stream = stream_of(arguments.stream)
        self.resource = resource_of(mr)
        # Converted buffers are freed on the stream by the resource, so both must outlive them.
        freed_on = export_input.freed_on
        self.owner = share_object((freed_on, export_input.columns, mr, arguments.stream))
        cdef core.stream_ref readers = self.stream
        cdef core.stream_ref of_thread = core.stream_ref(<cudaStream_t>cudaStreamPerThread)
        if arguments.is_freed_by_thread:
            # If the export uses the default stream of this thread, the readers are on that stream.
            # Otherwise they can be on the default stream of any thread; the legacy default stream
            # waits for all of them.
            if arguments.stream.handle != cudaStreamPerThread:
                readers = core.stream_ref(<cudaStream_t>cudaStreamLegacy)
            self.owner = core.release_after(move(self.owner), of_thread, readers)
        if freed_on is not None:
            self.owner = core.release_after(move(self.owner), stream_of(freed_on), readers)


cdef class InputExporter:
    """Exports the columns of one object, again for each requested schema."""

    cdef readonly ExportInput export_input
    cdef readonly ExportArguments arguments

    def __cinit__(self, ExportInput export_input not None, ExportArguments arguments not None):
        self.export_input = export_input
        self.arguments = arguments

    def export(self, requested_schema, type array_type not None: type[Array]) -> Array:
        """Export the columns as a `DeviceArray`, which is passed as `array_type`.

        The array and all that share its memory reference the columns and the stream.
        `requested_schema` is the capsule of a schema, which is not consumed, or None.
        """
        cdef ExportCall call = ExportCall(self.export_input, self.arguments, requested_schema)
        cdef core.device_array array
        with nogil:
            array = move(
                core.to_arrow_device(
                    call.input, call.owner, call.options, call.stream, call.resource
                )
            )
        # Skip the constructor, which would parse the arguments again.
        cdef DescribedArray result = <DescribedArray?>array_type.__new__(array_type)
        # A copy does not keep its source. A later export starts from the copy.
        result._source = None if self.arguments.copy else self
        result._arguments = self.arguments
        result._array = ExportedArray.wrap(move(array), self.arguments.stream)
        result._arrow_schema = call.schema
        result._kind = self.export_input.kind
        result._labels = self.export_input.schema_spec.labels
        return result


def schema_of_input(ExportInput export_input not None) -> Schema:
    """Return the schema that columns are exported with, without reading their memory."""
    cdef vector[column_view] views
    add_views(views, export_input.columns)
    return export_input.schema_spec.schema_of(
        views, export_input.kind == "table", export_input.num_rows, None
    )


cdef class BatchSource:
    """The source of the batches of a stream: wraps `cudf_arrow_bridge::batch_source`."""


def export_slices(
    ExportInput export_input not None,
    size_type max_rows,
    ExportArguments arguments not None,
    requested_schema,
) -> BatchSource:
    """Return a source that exports batches of at most `max_rows` rows on demand.

    The source and its batches keep the columns and the stream alive. `requested_schema` is the
    capsule of a schema, which is not consumed, or None.
    """
    cdef BatchSource result = BatchSource.__new__(BatchSource)
    cdef ExportCall call = ExportCall(export_input, arguments, requested_schema)
    with nogil:
        result.source = move(
            core.slices(
                call.input, call.owner, max_rows, call.options, call.stream, call.resource
            )
        )
    return result


def single_batch(Schema schema not None, ExportedArray array not None) -> BatchSource:
    """Return a source of one array that is already exported."""
    cdef BatchSource result = BatchSource.__new__(BatchSource)
    cdef core.stream_batch batch
    if array.array.is_released():
        # A released array would signal the end of the stream.
        raise ValueError("the array is released")
    batch.schema = schema.schema
    batch.array = array.array
    result.source = move(core.single(batch))
    return result
