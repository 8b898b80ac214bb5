# SPDX-License-Identifier: Apache-2.0
"""The Arrow fields that pylibcudf columns were imported with, so that they leave with them again.

Each level of a column keeps its field with the span that identifies its memory, or with an empty
one where it has no memory. Slices and children have the same spans. What libcudf computes is new
memory without a field.
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

from cudf_arrow_bridge._core.columns cimport OwningSpan, Span, main_span_of
from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport (
    ARROW_FLAG_NULLABLE,
    ArrowSchema,
    copy_schema,
    import_row,
    shared_schema,
)
from cudf_arrow_bridge._core.schema cimport Schema


cdef int add_level(
    vector[ImportedLevel]& levels, const ArrowSchema* field, bint in_dictionary
) except -1:
    """Add a field and those below it that libcudf has columns for."""
    cdef size_t index = levels.size()
    cdef const ArrowSchema* stored = field
    cdef ImportedLevel level
    # Run-end encoded arrays arrive as their values, and so do dictionaries inside dictionaries.
    while True:
        if strcmp(stored.format, "+r") == 0:
            stored = stored.children[1]
        elif in_dictionary and stored.dictionary != NULL:
            stored = stored.dictionary
        else:
            break
    level.schema = field
    level.type = import_row(dereference(stored)).column
    level.is_nullable = (field.flags & ARROW_FLAG_NULLABLE) != 0
    levels.push_back(level)
    if stored.dictionary != NULL:
        add_level(levels, stored.dictionary, True)
    else:
        for i in range(stored.n_children):
            add_level(levels, stored.children[i], False)
    levels[index].end = <int32_t>levels.size()
    return 0


cdef class ImportedFields:
    """The fields of one schema: its top level is level 0, and below each level are its children."""

    @staticmethod
    cdef ImportedFields of(shared_schema schema):
        cdef ImportedFields self = ImportedFields.__new__(ImportedFields)
        self.schema = move(schema.to_arrow())
        add_level(self.levels, self.schema.get(), False)
        return self


cpdef object arrow_children(Column column):
    """Return the children that Arrow has too, the values of a dictionary included."""
    cdef type_id id = column._data_type.c_obj.id()
    if id == type_id.STRUCT:
        return column._children
    if id == type_id.LIST or id == type_id.DICTIONARY32:
        return column._children[1:]
    return ()


cdef object field_span_of(Column column):
    """Return the span that the field of one level is kept with, None if there is none yet."""
    span = main_span_of(column)
    return column._data if span is None else span


cdef Span add_field_span(Column column):
    """Give one level a span of ours."""
    cdef type_id id = column._data_type.c_obj.id()
    cdef object span = field_span_of(column)
    # Not of ours are those of columns that libcudf has concatenated.
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

    `is_table` says whether the columns are the children of the schema's top level.
    """
    cdef int32_t level = 1 if is_table else 0
    for column in columns:
        remember_level(<Column?>column, fields, level)
        level = fields.levels[level].end
    return 0


cdef Span remembered(Column column):
    """Return the span with the field of one level; None if there is no field that fits it."""
    found = field_span_of(column)
    if not isinstance(found, Span) or (<Span>found).fields == NULL:
        return None
    cdef Span span = <Span>found
    cdef ImportedFields fields = <ImportedFields><object>span.fields
    # Somebody may have made a column of another type over the same memory.
    return span if fields.levels[span.level].type == column._data_type.c_obj.id() else None


def imported_fields(Column column not None):
    """Return what keeps the field alive that one level of a column was imported with, or None."""
    cdef Span span = remembered(column)
    return None if span is None else <object>span.fields


def imported_schema(Column column not None):
    """Return the field that one level of a column was imported with, as a schema, or None."""
    cdef Span span = remembered(column)
    if span is None:
        return None
    cdef ImportedFields fields = <ImportedFields><object>span.fields
    cdef shared_schema copied = copy_schema(dereference(fields.levels[span.level].schema))
    return Schema.wrap(move(copied))


def is_field_of_parent(Column column not None) -> bool:
    """Say whether a column was imported with a field of a table, struct or list, not by itself."""
    cdef Span span = remembered(column)
    return span is not None and span.level > 0


cpdef bint has_own_nulls(Column column, Column parent):
    """Say whether a column has nulls where the struct that it is a child of has none.

    libcudf's structs hand their nulls down to their children, in whose Arrow fields they do not
    count. A slice has the whole children, whose nulls are not counted here.

    Parameters
    ----------
    column
        The column.
    parent
        The struct, or None.
    """
    if parent is None or parent._mask is None:
        return column._null_count != 0
    return column._size == parent._size and column._null_count > parent._null_count


cdef struct Run:
    PyObject* fields  # NULL: levels without a field
    int32_t first  # level
    int32_t size


cdef struct Walk:
    Run run
    bint any_field


cdef void end_run(string& key, Walk& walk) noexcept:
    key.append(<const char*>&walk.run, sizeof(walk.run))


cdef int add_fields(string& key, Walk& walk, Column column, Column parent) except -1:
    cdef Span span = remembered(column)
    cdef PyObject* fields = NULL
    cdef int32_t level = 0
    cdef bint has_forbidden_nulls = False
    if span is not None:
        fields = span.fields
        level = span.level
        walk.any_field = True
        has_forbidden_nulls = (
            has_own_nulls(column, parent)
            and not (<ImportedFields><object>span.fields).levels[level].is_nullable
        )
    if fields == walk.run.fields and (fields == NULL or level == walk.run.first + walk.run.size):
        walk.run.size += 1
    else:
        end_run(key, walk)
        walk.run = Run(fields, level, 1)
    if has_forbidden_nulls:
        key.push_back(<char>1)
        end_run(key, walk)
        walk.run = Run(NULL, 0, 0)
    if column._num_children:
        parent = column if column._data_type.c_obj.id() == type_id.STRUCT else None
        for child in arrow_children(column):
            add_fields(key, walk, <Column?>child, parent)
    return 0


cdef bytes fields_key(tuple columns, bint is_table):
    """Encode which fields columns were imported with; None if no level has a field.

    Equal keys mean equal fields, as long as these live, for columns of the same types. The fields
    of a whole import make a short key: a run of levels, one after the other.
    """
    cdef string key
    cdef Walk walk
    walk.run = Run(NULL, 0, 0)
    walk.any_field = False
    key.push_back(<char>is_table)
    for column in columns:
        add_fields(key, walk, <Column?>column, None)
    if not walk.any_field:
        return None
    end_run(key, walk)
    return <bytes>key
