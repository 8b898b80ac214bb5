# SPDX-License-Identifier: Apache-2.0
"""Import of Arrow device arrays, and of columns of this process, as pylibcudf columns."""

from cython.operator cimport dereference
from libcpp.memory cimport unique_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from rmm.librmm.memory_resource cimport device_async_resource_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport (
    check_resource,
    policy_of,
    resolve_resource,
    resource_of,
    to_tuples,
)
from cudf_arrow_bridge._core.capsules cimport (
    device_array_capsule_from_array,
    device_array_from_capsule,
    schema_from_capsule,
)
from cudf_arrow_bridge._core.export.exported_array cimport DescribedArray
from cudf_arrow_bridge._core.import_.columns cimport ImportContext, wrap_columns
from cudf_arrow_bridge._core.schema cimport Schema, marks_table

from pyarrow import RecordBatch

from cudf_arrow_bridge._core.export.array_exporter import InputExporter


cdef class ImportArguments:
    """The arguments of imports, converted to C++ types; see `from_arrow_device`.

    `reader` is a second stream that reads the results, or None. Buffers are freed on the stream of
    the import, after the work on both streams. If `mr` is None, each import uses rmm's current
    resource.
    """

    def __cinit__(
        self,
        stream: Stream,
        reader: Stream | None,
        mr,
        copy: bool | None,
        validate: str = "minimal",
        bint sanitize=True,
    ):
        check_resource(mr)
        self.options.copy = policy_of(copy)
        self.options.sanitize = sanitize
        self.options.borrow = True
        if validate == "full":
            self.options.validate = core.validation.full
        self.stream = stream
        self.reader = reader
        self.mr = mr

    cpdef ImportContext context(self):
        """Return the context of an import on the calling thread."""
        return ImportContext(
            resolve_resource(self.mr),
            self.stream,
            self.reader,
            self.options.copy == core.copy_policy.always,
        )


cdef class ArrayImporter:
    """An importer of arrays of one schema, which is parsed once. It is thread-safe."""

    cdef unique_ptr[core.array_importer] importer
    #: A cache of objects that other modules derive from the schema, each with its own key.
    cdef readonly dict derived

    def __cinit__(self, schema):
        cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
        self.derived = {}
        with nogil:
            self.importer.reset(new core.array_importer(dereference(c_schema)))

    @property
    def schema(self) -> Schema:
        return Schema.wrap(self.importer.get().schema())

    def check(self, array, bint is_table) -> None:
        """Check the array in a capsule, as an import does before it follows a pointer."""
        cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
        with nogil:
            self.importer.get().check(c_array, is_table)

    def import_array(
        self, array, bint is_table, ImportArguments arguments not None
    ) -> tuple[list[Column], int, list[tuple[int, int, str]]]:
        """Import the array in a capsule, which is consumed, or its children if it is a table.

        Return the columns, their number of rows, and the address, size and reason of each piece of
        memory that was allocated instead of shared.
        """
        cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
        cdef ImportContext context = arguments.context()
        cdef device_async_resource_ref resource = resource_of(context.mr)
        cdef core.imported_table imported
        # An upload copies all memory. With a GPU, each import has its own context.
        if c_array.device_type == core.ARROW_DEVICE_CPU and core.has_gpu():
            context.copies = True
        with nogil:
            imported = move(
                self.importer.get().import_array(
                    c_array, is_table, arguments.options, context.stream, resource
                )
            )
        return wrap_columns(imported, context), imported.num_rows, to_tuples(imported.columns)


def select_children(schema, array, vector[size_t] positions: Sequence[int]) -> None:
    """Reduce the struct array in a capsule to the children at `positions`, in place.

    `schema` is the capsule of the schema of the whole array, which is not consumed. No position may
    occur twice.
    """
    cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
    cdef core.ArrowDeviceArray* c_array = device_array_from_capsule(array)
    with nogil:
        core.select_children(dereference(c_schema), c_array, positions)


#: The importers of recent schemas. The tuple is replaced as a whole, so that no lock is needed.
cdef tuple newest_importers = ()
cdef Py_ssize_t MAX_IMPORTERS = 16


cpdef ArrayImporter importer_of(schema):
    """Return the importer of the schema in a capsule, which is not consumed.

    The importers of recent schemas are cached, since producers send many arrays of one schema.
    """
    global newest_importers
    cdef core.ArrowSchema* c_schema = schema_from_capsule(schema)
    cdef tuple importers = newest_importers
    cdef ArrayImporter importer
    for each in importers:
        importer = <ArrayImporter>each
        if importer.importer.get().has_schema(dereference(c_schema)):
            return importer
    importer = ArrayImporter(schema)
    newest_importers = (importer, *importers[: MAX_IMPORTERS - 1])
    return importer


cdef class SourceArray:
    """One array to import.

    Parameters
    ----------
    schema_capsule
        The ``arrow_schema`` capsule.
    array
        The ``arrow_device_array`` capsule of a producer, which an import consumes, or the exporter
        of an object of cuDF or pylibcudf, whose columns an import shares.
    known_kind
        Whether the object is known to be a table or a column. None: its schema decides.
    labels
        The labels of a `DeviceArray` of this process that cannot be represented in JSON.
    first_row
        For a batch of a stream, the number of rows before it, where its part of a range index
        starts. None for a single array.
    """

    cdef readonly object schema_capsule
    cdef readonly object array
    cdef readonly tuple labels
    cdef readonly object first_row  # type: int | None
    cdef readonly object known_kind  # type: Kind | None
    cdef ArrayImporter parsed

    def __init__(
        self,
        schema_capsule,
        array,
        known_kind: Kind | None,
        tuple labels,
        first_row: int | None,
    ):
        self.schema_capsule = schema_capsule
        self.array = array
        self.known_kind = known_kind
        self.labels = labels
        self.first_row = first_row

    @property
    def array_capsule(self) -> object:
        """The capsule of the array, exported if there is none."""
        return to_capsule(self.array)

    @property
    def kind(self) -> Kind:
        """Whether this is a table or a column. Depends on the object and the schema only."""
        if self.known_kind is not None:
            return self.known_kind
        return "table" if marks_table(self.schema_capsule) else "column"

    @property
    def importer(self) -> ArrayImporter:
        """The importer of arrays of this schema."""
        if self.parsed is None:
            self.parsed = importer_of(self.schema_capsule)
        return self.parsed

    @property
    def device_type(self) -> int:
        """Arrow's device type of the array's memory."""
        return device_array_from_capsule(self.array_capsule).device_type

    def length(self) -> int:
        """Return the number of rows."""
        return length_of(self.array)

    def __arrow_c_device_array__(self, requested_schema=None) -> tuple[object, object]:
        """Return the capsules."""
        return self.schema_capsule, self.array_capsule


def to_capsule(array) -> object:
    """Return the capsule of an array; see `SourceArray.array`."""
    if not isinstance(array, InputExporter):
        return array
    return array.export(None, DescribedArray)._array.device_array_capsule()


def length_of(array) -> int:
    """Return the number of rows of an array; see `SourceArray.array`."""
    if isinstance(array, InputExporter):
        return array.export_input.num_rows
    return device_array_from_capsule(array).array.length


def find_array(obj) -> SourceArray | None:
    """Return the array that an object of another library exports, or None if it exports none."""
    cdef DescribedArray described
    if isinstance(obj, SourceArray):
        return obj
    if isinstance(obj, DescribedArray):
        described = <DescribedArray>obj
        schema, array = described.capsules()
        return SourceArray(
            schema, array, described._kind, described._labels, described._first_row
        )
    export_of_device = getattr(obj, "__arrow_c_device_array__", None)
    export = export_of_device or getattr(obj, "__arrow_c_array__", None)
    if export is None:
        return None
    capsules = export()
    if not isinstance(capsules, (tuple, list)) or len(capsules) != 2:
        raise TypeError(f"expected a pair of PyCapsules, got {capsules!r}")
    schema, array = capsules
    if export_of_device is None:
        array = device_array_capsule_from_array(array)
    return SourceArray(schema, array, "table" if isinstance(obj, RecordBatch) else None, (), None)
