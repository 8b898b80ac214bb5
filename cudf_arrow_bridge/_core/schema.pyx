# SPDX-License-Identifier: Apache-2.0
"""Arrow schemas, created from columns and `ColumnMetadata`, and the type table of the C++ core."""

from cpython.pycapsule cimport PyCapsule_CheckExact
from cython.operator cimport dereference
from libc.string cimport strcmp
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.libcudf.column.column_view cimport column_view
from pylibcudf.libcudf.table.table_view cimport table_view
from pylibcudf.libcudf.types cimport size_type

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport text_of
from cudf_arrow_bridge._core.capsules cimport schema_from_capsule, schema_to_capsule

from pylibcudf.types import TypeId


cdef core.column_metadata to_column_metadata(object metadata) except *:
    cdef core.column_metadata result
    result.name = metadata.name.encode()
    result.nullable = metadata.nullable
    result.timezone = metadata.timezone.encode()
    result.precision = metadata.precision
    result.ordered = metadata.ordered
    result.metadata = list(metadata.metadata.items())
    if metadata.imported_schema is not None:
        result.origin = schema_from_capsule(metadata.imported_schema)
    for child in metadata.children:
        result.children.push_back(to_column_metadata(child))
    return result


cdef int add_map_names(const core.ArrowSchema* schema, list names) except -1:
    cdef const core.ArrowSchema* entries
    if strcmp(schema.format, "+m") == 0:
        entries = schema.children[0]
        names.append((entries.children[0].name.decode(), entries.children[1].name.decode()))
    for i in range(schema.n_children):
        add_map_names(schema.children[i], names)
    if schema.dictionary != NULL:
        add_map_names(schema.dictionary, names)
    return 0


cdef bint has_null_type(const core.ArrowSchema* schema) noexcept:
    if strcmp(schema.format, "n") == 0:
        return True
    for i in range(schema.n_children):
        if has_null_type(schema.children[i]):
            return True
    return schema.dictionary != NULL and has_null_type(schema.dictionary)


cdef class Schema:
    """An Arrow schema that can be exported any number of times."""

    @staticmethod
    cdef Schema wrap(core.shared_schema schema):
        cdef Schema self = Schema.__new__(Schema)
        self.schema = move(schema)
        self.derived = {}
        return self

    def __arrow_c_schema__(self):
        """Return a capsule of a new `ArrowSchema`."""
        cdef core.unique_schema schema
        with nogil:
            schema = move(self.schema.to_arrow())
        return schema_to_capsule(schema)

    @property
    def is_table(self) -> bool:
        """Whether this is the schema of record batches; see `marks_table`."""
        return self.schema.is_table()

    def map_names(self) -> list[tuple[str, str]]:
        """Return the names of the key and value fields of all maps, depth first.

        pyarrow replaces them by "key" and "value" when it imports a schema.
        """
        names = []
        cdef core.unique_schema schema = move(self.schema.to_arrow())
        add_map_names(schema.get(), names)
        return names

    def has_nulls(self) -> bool:
        """Return whether a type at any level is Arrow's null type."""
        cdef core.unique_schema schema = move(self.schema.to_arrow())
        return has_null_type(schema.get())

    def shares(self, Schema other not None) -> bool:
        """Return whether both are the same schema object. Equal schemas can be different."""
        return self.schema.same_as(other.schema)

    @staticmethod
    def copy_of(capsule) -> Schema:
        """Copy the schema in a capsule, which is not consumed."""
        cdef core.ArrowSchema* schema = schema_from_capsule(capsule)
        cdef core.shared_schema copied
        with nogil:
            copied = move(core.copy_schema(dereference(schema)))
        return Schema.wrap(move(copied))


cdef class SchemaSpec:
    """The parts of an Arrow schema that do not depend on the column types.

    Exports with the same description share one spec and its schema. `fields` are the
    `ColumnMetadata` of the columns; empty for a table whose fields are named by position. `labels`
    cannot be represented in JSON, so the metadata contains only their strings. The array references
    them, and `frame_maker_of` uses them in this process.
    """

    def __cinit__(
        self,
        fields not None: Sequence[ColumnMetadata],
        metadata not None: Mapping[bytes, bytes],
        tuple labels not None=(),
    ):
        self.fields = fields
        self.metadata = metadata
        self.labels = labels

    cdef Schema schema_of(
        self, vector[column_view]& columns, bint is_table, size_type num_rows, requested_schema
    ):
        """Return the schema of columns. It is cached if no schema is requested.

        `requested_schema` is the capsule of a schema, which is not consumed, or None.
        """
        if requested_schema is None and self.schema is not None:
            return self.schema
        cdef vector[core.column_metadata] fields
        for field in self.fields:
            fields.push_back(to_column_metadata(field))
        cdef vector[pair[string, string]] metadata = list(self.metadata.items())
        cdef const core.ArrowSchema* c_requested = NULL
        if requested_schema is not None:
            c_requested = schema_from_capsule(requested_schema)
        cdef core.shared_schema made
        with nogil:
            if is_table:
                made = move(
                    core.make_schema(table_view(columns, num_rows), fields, metadata, c_requested)
                )
            else:
                made = move(core.make_schema(columns[0], fields[0], c_requested))
        schema = Schema.wrap(move(made))
        if requested_schema is None:
            self.schema = schema
        return schema


#: The newest specs, each with its key and the objects whose addresses are in the key. The tuple is
#: replaced as a whole, so that no lock is needed.
cdef tuple newest_specs = ()
cdef Py_ssize_t MAX_SPECS = 48


cpdef SchemaSpec cached_spec(object key):  # type: SchemaSpec | None
    """Return the spec that was cached with an equal key, or None."""
    cdef tuple entry
    for each in newest_specs:
        entry = <tuple>each
        if entry[0] == key:
            return <SchemaSpec>entry[1]
    return None


cpdef int cache_spec(object key, SchemaSpec spec, object kept_alive) except -1:  # type: None
    """Cache a spec for a key. `kept_alive` are the objects whose addresses are in the key."""
    global newest_specs
    newest_specs = ((key, spec, kept_alive), *newest_specs[: MAX_SPECS - 1])
    return 0


cpdef object as_capsule(object schema):  # type: Any
    """Return the capsule of a schema. Return None and capsules unchanged."""
    if schema is None or PyCapsule_CheckExact(schema):
        return schema
    if isinstance(schema, type) or not hasattr(schema, "__arrow_c_schema__"):
        raise TypeError(
            "requested_schema: expected an Arrow schema, field or type (an object with "
            f"__arrow_c_schema__, or its capsule), got an object of type {type(schema).__name__}"
        )
    return schema.__arrow_c_schema__()


def check_same(expected, found) -> None:
    """Check that arrays with the two schemas can be in one stream. Nullability may differ.

    Raises
    ------
    ValueError
        If the schemas differ. The message names the first column that differs.
    """
    cdef core.ArrowSchema* one = schema_from_capsule(expected)
    cdef core.ArrowSchema* other = schema_from_capsule(found)
    with nogil:
        core.check_same_schema(dereference(one), dereference(other), True)


cpdef bint marks_table(object capsule) except -1:
    """Return whether a schema is a struct that is not nullable, as for a record batch."""
    cdef core.ArrowSchema* schema = schema_from_capsule(capsule)
    return is_struct(capsule) and not (schema.flags & core.ARROW_FLAG_NULLABLE)


cpdef bint is_struct(object capsule) except -1:
    """Return whether the top level of a schema is a struct."""
    cdef core.ArrowSchema* schema = schema_from_capsule(capsule)
    return schema.format != NULL and strcmp(schema.format, "+s") == 0


def metadata_of(object capsule) -> dict[bytes, bytes]:
    """Return the metadata of a schema, such as the name and parameters of an extension type."""
    return dict(core.parse_metadata(schema_from_capsule(capsule).metadata))


def decode_metadata(bytes encoded not None) -> dict[bytes, bytes]:
    """Decode a valid copy of the metadata of a producer; empty means none."""
    return dict(core.parse_metadata(<const char*>encoded)) if encoded else {}


cdef str support_name(core.type_support support):
    if support == core.type_support.zero_copy:
        return "zero-copy"
    return "converted" if support == core.type_support.converted else "unsupported"


cdef dict to_dict(const core.type_row& row):
    return {
        "arrow": text_of(row.arrow),
        "format": text_of(row.format),
        "type_id": TypeId(<int>row.column),
        "on_export": support_name(row.on_export),
        "on_import": support_name(row.on_import),
        "note": text_of(row.note),
        "waits_for": text_of(row.waits_for),
    }


def type_rows() -> list[dict[str, Any]]:
    """Return all rows of the type table."""
    cdef core.span[const core.type_row] table = core.type_table()
    return [to_dict(table[i]) for i in range(table.size())]


def import_row(object capsule) -> dict[str, Any]:
    """Return the row for the import of arrays of the type at the top level of a schema."""
    return to_dict(core.import_row(dereference(schema_from_capsule(capsule))))
