# SPDX-License-Identifier: Apache-2.0
"""The Arrow fields that pylibcudf columns were imported with. A later export restores them.

The field of each level of a column is attached to the span that identifies the memory of the level,
or to an empty span if the level has no memory. Slices and children share the spans. Results of
libcudf are in new memory without a field.
"""

from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from pylibcudf.column cimport Column
from pylibcudf.libcudf.types cimport type_id

from cudf_arrow_bridge._core.import_.columns cimport OwningSpan, Span, main_span


cdef class ImportedField:
    """The Arrow field of one level of imported columns.

    Parameters
    ----------
    field
        The ``pyarrow.Field``.
    children
        The fields of the children that libcudf has for the type.
    has_parent
        Whether columns are imported as a field of a table, struct or list, not alone.
    """

    def __init__(self, field, tuple children: tuple[ImportedField, ...], bint has_parent):
        self.field = field
        self.children = children
        self.has_parent = has_parent
        self.is_nullable = field.nullable


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
    span = main_span(column)
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


cdef int remember_level(Column column, ImportedField field) except -1:
    found = field_span_of(column)
    cdef Span span = <Span>found if isinstance(found, Span) else add_field_span(column)
    Py_INCREF(field)
    Py_XDECREF(span.field)
    span.field = <PyObject*>field
    span.type = column._data_type.c_obj.id()
    if field.children:
        for child, child_field in zip(arrow_children(column), field.children):
            remember_level(<Column?>child, <ImportedField?>child_field)
    return 0


def remember(
    list columns not None: list[Column], list fields not None: list[ImportedField]
) -> None:
    """Attach the fields of columns to their memory."""
    for column, field in zip(columns, fields):
        remember_level(<Column?>column, <ImportedField?>field)


cpdef ImportedField imported_field(Column column):  # type: ImportedField | None
    """Return the field that one level of a column was imported with, or None."""
    found = field_span_of(column)
    if not isinstance(found, Span) or (<Span>found).field == NULL:
        return None
    # The caller may have constructed a column of another type over the same memory.
    if (<Span>found).type != column._data_type.c_obj.id():
        return None
    return <ImportedField><object>(<Span>found).field


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


cdef int add_fields(list key, Column column, Column parent) except -1:
    cdef ImportedField field = imported_field(column)
    key.append(field)
    if field is not None and not field.is_nullable:
        key.append(has_own_nulls(column, parent))
    if column._num_children:
        parent = column if column._data_type.c_obj.id() == type_id.STRUCT else None
        for child in arrow_children(column):
            add_fields(key, <Column?>child, parent)
    return 0


cdef list fields_key(tuple columns):
    """List the fields that columns were imported with, and whether they have gained nulls.

    The key of columns of the same types. Fields are compared by identity.
    """
    cdef list key = []
    for column in columns:
        add_fields(key, <Column?>column, None)
    return key
