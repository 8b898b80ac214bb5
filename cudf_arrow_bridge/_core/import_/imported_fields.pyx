# SPDX-License-Identifier: Apache-2.0
"""The Arrow fields that pylibcudf columns were imported with. A later export restores them.

The field of each level of a column is attached to the span that identifies the memory of the level,
or to an empty span if the level has no memory. Slices and children share the spans. Results of
libcudf are in new memory without a field.
"""

from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from cython.operator cimport dereference
from libc.stdint cimport int32_t
from libc.string cimport strcmp
from libcpp.string cimport string
from libcpp.utility cimport move
from libcpp.vector cimport vector
from pylibcudf.column cimport Column
from pylibcudf.libcudf.types cimport type_id

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.import_.columns cimport OwningSpan, Span, main_span_of
from cudf_arrow_bridge._core.schema cimport Schema


cdef int add_level(
    vector[ImportedLevel]& levels, const core.ArrowSchema* field, bint in_dictionary
) except -1:
    """Add a field and its descendants that have libcudf columns."""
    cdef size_t index = levels.size()
    cdef const core.ArrowSchema* stored = field
    cdef ImportedLevel level
    # Run-end encoded arrays and dictionaries inside dictionaries are imported as their values.
    while True:
        if strcmp(stored.format, "+r") == 0:
            stored = stored.children[1]
        elif in_dictionary and stored.dictionary != NULL:
            stored = stored.dictionary
        else:
            break
    level.schema = field
    level.type = core.import_row(dereference(stored)).column
    level.is_nullable = (field.flags & core.ARROW_FLAG_NULLABLE) != 0
    levels.push_back(level)
    if stored.dictionary != NULL:
        add_level(levels, stored.dictionary, True)
    else:
        for i in range(stored.n_children):
            add_level(levels, stored.children[i], False)
    levels[index].end = <int32_t>levels.size()
    return 0


cdef class ImportedFields:
    """The fields of one schema in depth-first order. The top level of the schema is level 0."""

    @staticmethod
    cdef ImportedFields of(core.shared_schema schema):
        cdef ImportedFields self = ImportedFields.__new__(ImportedFields)
        self.schema = move(schema.to_arrow())
        add_level(self.levels, self.schema.get(), False)
        return self


cpdef object arrow_children(Column column):  # type: Sequence[Column]
    """Return the children that also exist in Arrow, including the values of a dictionary."""
    cdef type_id id = column._data_type.c_obj.id()
    if id == type_id.STRUCT:
        return column._children
    if id == type_id.LIST or id == type_id.DICTIONARY32:
        return column._children[1:]
    return ()


cdef object field_span_of(Column column):
    """Return the span that the field of one level is attached to, or None if there is no span."""
    span = main_span_of(column)
    return column._data if span is None else span


cdef Span add_field_span(Column column):
    """Replace the span of one level by one of this package, which can have a field."""
    cdef type_id id = column._data_type.c_obj.id()
    cdef object span = field_span_of(column)
    # Columns that libcudf has concatenated have spans of another class.
    cdef Span made = Span.__new__(Span) if span is None else OwningSpan(span.ptr, span.size, span)
    if span is not None and (id == type_id.STRING or id == type_id.LIST):
        (<Column?>column._children[0])._data = made
    else:
        column._data = made
    return made


cdef int remember_level(Column column, ImportedFields fields, int32_t level) except -1:
    cdef type_id id = column._data_type.c_obj.id()
    cdef int32_t child_level = level + 1
    cdef Span span
    if fields.levels[level].type != id:
        return 0
    found = field_span_of(column)
    span = <Span>found if isinstance(found, Span) else add_field_span(column)
    Py_INCREF(fields)
    Py_XDECREF(span.fields)
    span.fields = <PyObject*>fields
    span.level = level
    if child_level == fields.levels[level].end:
        return 0
    for child in arrow_children(column):
        remember_level(<Column?>child, fields, child_level)
        child_level = fields.levels[child_level].end
    return 0


cdef int remember(object columns, ImportedFields fields, bint is_table) except -1:
    """Attach the fields of a schema to the columns that were imported with it.

    If `is_table`, the columns are the children of the top level of the schema.
    """
    cdef int32_t level = 1 if is_table else 0
    for column in columns:
        remember_level(<Column?>column, fields, level)
        level = fields.levels[level].end
    return 0


cdef Span remembered(Column column):
    """Return the span with the field of one level, or None if it has no field of its type."""
    found = field_span_of(column)
    if not isinstance(found, Span) or (<Span>found).fields == NULL:
        return None
    cdef Span span = <Span>found
    cdef ImportedFields fields = <ImportedFields><object>span.fields
    # The caller may have constructed a column of another type over the same memory.
    return span if fields.levels[span.level].type == column._data_type.c_obj.id() else None


def imported_fields(Column column not None) -> ImportedFields | None:
    """Return the owner of the field that one level of a column was imported with, or None."""
    cdef Span span = remembered(column)
    return None if span is None else <object>span.fields


def imported_schema(Column column not None) -> Schema | None:
    """Return the field that one level of a column was imported with, as a schema, or None."""
    cdef Span span = remembered(column)
    if span is None:
        return None
    cdef ImportedFields fields = <ImportedFields><object>span.fields
    cdef core.shared_schema copied = core.copy_schema(dereference(fields.levels[span.level].schema))
    return Schema.wrap(move(copied))


def is_field_of_parent(Column column not None) -> bool:
    """Return whether a column was imported as a field of a table, struct or list, not alone."""
    cdef Span span = remembered(column)
    return span is not None and span.level > 0


cpdef bint has_own_nulls(Column column, Column parent: Column | None):
    """Return whether a column has nulls in rows where its parent struct is not null.

    In libcudf, nulls of a struct are also nulls of its children, but Arrow fields do not count
    them. The nulls of children of a sliced struct are not counted, since they are not sliced.

    Parameters
    ----------
    column
        The column.
    parent
        The parent struct, or None.
    """
    if parent is None or parent._mask is None:
        return column._null_count != 0
    return column._size == parent._size and column._null_count > parent._null_count


cdef int add_fields(string& key, Column column, Column parent) except -1:
    cdef Span span = remembered(column)
    cdef PyObject* fields = NULL
    cdef int32_t level = 0
    if span is not None:
        fields = span.fields
        level = span.level
        if has_own_nulls(column, parent) and not (
            (<ImportedFields><object>span.fields).levels[level].is_nullable
        ):
            level = ~level
    key.append(<const char*>&fields, sizeof(fields))
    key.append(<const char*>&level, sizeof(level))
    if column._num_children:
        parent = column if column._data_type.c_obj.id() == type_id.STRUCT else None
        for child in arrow_children(column):
            add_fields(key, <Column?>child, parent)
    return 0


cdef bytes fields_key(tuple columns):
    """Encode the fields that columns were imported with, and whether they have gained nulls.

    For columns of the same types, equal keys mean equal fields while the fields are alive.
    """
    cdef string key
    for column in columns:
        add_fields(key, <Column?>column, None)
    return <bytes>key
