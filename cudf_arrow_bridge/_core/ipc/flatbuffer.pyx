# SPDX-License-Identifier: Apache-2.0
"""Reading of flatbuffers, and of the fields of schemas. Input is untrusted.

Each position is checked before it is read. The package ``flatbuffers`` has no verifier in Python,
and would follow negative positions. Sources: FlatBuffers, "FlatBuffers Internals"; Arrow columnar
format, Schema.fbs.
"""

from cpython.bytes cimport PyBytes_AsString
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

#: The minimum size of a table: its first number, and the number that refers to it.
cdef int MIN_TABLE_BYTES = 8

#: The maximum depth of fields, as in Arrow C++.
cdef int MAX_DEPTH = 64

# Slots of the tables Field and KeyValue.
cdef enum:
    NAME, NULLABLE, TYPE_CODE, TYPE, DICTIONARY, CHILDREN, FIELD_METADATA
cdef enum:
    KEY, VALUE

# The types that have a vector in slot 1, the zone of Timestamp and the codes of Union, and maps.
cdef enum:
    TIMESTAMP = 10
    UNION = 14
    MAP = 17


cdef class Flatbuffer:
    """The bytes of a flatbuffer, without the preceding length.

    `subject` is the name of the data in errors.
    """

    cdef readonly bytes data
    cdef str subject
    cdef int64_t num_tables
    #: The number of bytes of the strings that a reader of the flatbuffer would copy.
    cdef int64_t num_copied

    def __init__(self, data: BytesLike, str subject not None):
        # A copy, so that the bytes cannot change between a check and their use.
        self.data = bytes(memoryview(data))
        self.subject = subject

    def root(self) -> Table:
        """Return the table that the first number refers to."""
        return self.table_at(self.target(0))

    cpdef Table table_at(self, int64_t position):
        """Return the table at a position, which is not negative."""
        cdef Table table = Table.__new__(Table)
        cdef int64_t vtable = position - self.number(position, 4)
        cdef int64_t most = len(self.data) // MIN_TABLE_BYTES
        if vtable < 0:
            raise self.error(position, f"byte {vtable}", "a vtable at byte 0 or later")
        size = self.number(vtable, 2) & 0xFFFF
        if size < 4 or size % 2:
            expected = "a vtable with an even number of at least 4 bytes"
            raise self.error(vtable, f"{size} bytes", expected)
        # Repeated references to the same tables would take forever.
        self.num_tables += 1
        if self.num_tables > most:
            expected = f"at most {most} tables in {len(self.data)} bytes"
            raise self.error(position, f"{self.num_tables}", expected)
        table.buffer = self
        table.position = position
        table.vtable = vtable
        table.num_slots = size // 2 - 2
        return table

    cdef int64_t number(self, int64_t position, int size) except? -1:
        """Read a signed number of at most 8 bytes."""
        cdef uint64_t value = 0
        cdef int unused = 64 - 8 * size
        if position + size > len(self.data):
            raise self.outside(position, size)
        memcpy(&value, PyBytes_AsString(self.data) + position, size)
        return <int64_t>(value << unused) >> unused

    cdef int64_t target(self, int64_t position) except -1:
        """Return the position to which a number refers."""
        return position + (self.number(position, 4) & 0xFFFFFFFF)

    cdef object outside(self, int64_t position, int64_t size):
        """Return an error for an item that is not within the bytes."""
        expected = f"items within {len(self.data)} bytes"
        return self.error(position, f"an item of {size} bytes", expected)

    def error(self, position: int, found: str, expected: str) -> ValueError:
        """Return an error with a position."""
        return ValueError(f"{self.subject} byte {position}: expected {expected}, got {found}")


cdef class Table:
    """A table of a flatbuffer, whose slots are numbered as in its definition."""

    cdef readonly Flatbuffer buffer
    cdef readonly int64_t position
    cdef int64_t vtable
    cdef int64_t num_slots

    cpdef int64_t place(self, Py_ssize_t slot) except -1:
        """Return the position of the value in a slot; 0 if it is not stored."""
        cdef int64_t offset = 0
        if slot < self.num_slots:
            offset = self.buffer.number(self.vtable + 4 + 2 * slot, 2) & 0xFFFF
        return self.position + offset if offset else 0

    cpdef int64_t number(self, Py_ssize_t slot, int size) except? -1:
        """Return the signed number of a size in bytes in a slot; 0 if it is not stored."""
        cdef int64_t place = self.place(slot)
        return self.buffer.number(place, size) if place else 0

    cpdef Table table(self, Py_ssize_t slot):  # type: Table | None
        """Return the table that a slot refers to; None if it is not stored."""
        cdef int64_t place = self.place(slot)
        return self.buffer.table_at(self.buffer.target(place)) if place else None

    cpdef tuple items(self, Py_ssize_t slot, int64_t item_size):  # type: tuple[int, bytes]
        """Return the position and the bytes of the items of a vector, which may have none."""
        cdef int64_t first = self.place(slot)
        cdef int64_t size
        if not first:
            return 0, b""
        first = self.buffer.target(first) + 4
        size = item_size * (self.buffer.number(first - 4, 4) & 0xFFFFFFFF)
        items = self.buffer.data[first : first + size]
        if len(items) < size:
            raise self.buffer.outside(first, size)
        return first, items

    cpdef list tables(self, Py_ssize_t slot):  # type: list[Table]
        """Return the tables in a vector."""
        first, items = self.items(slot, 4)
        positions = range(first, first + len(items), 4)
        return [self.buffer.table_at(self.buffer.target(position)) for position in positions]

    cpdef bytes string(self, Py_ssize_t slot, int64_t item_size=1):
        """Return a string, or the bytes of another vector.

        Raise ValueError if all of them have more bytes than the flatbuffer: copies of overlapping
        strings would need far more memory.
        """
        first, string = self.items(slot, item_size)
        self.buffer.num_copied += len(string)
        if self.buffer.num_copied > len(self.buffer.data):
            found = f"strings of {self.buffer.num_copied} bytes so far"
            expected = f"strings within {len(self.buffer.data)} bytes"
            raise self.buffer.error(first, found, expected)
        return string

    cpdef dict key_values(self, Py_ssize_t slot):  # type: dict[bytes, bytes]
        """Return the custom metadata in a slot; for equal keys the last value."""
        return {pair.string(KEY): pair.string(VALUE) for pair in self.tables(slot)}


cdef int check_name(Table table, Py_ssize_t slot) except -1:
    """Raise ValueError for a NUL in a string, at which the names of the C data interface end."""
    string = table.string(slot)
    if b"\0" in string:
        found = repr(string.decode(errors="replace"))
        raise table.buffer.error(table.items(slot, 1)[0], found, "a name without NUL")
    return 0


def read_fields(list fields, list ids, list map_names, int depth=1) -> None:
    """Add the ids of the dictionaries, and the names of the keys and values of maps, depth first.

    Raises
    ------
    ValueError
        If fields are too deep, are shared by several parents, or their strings overlap, because a
        reader would need far more memory than the bytes.
    """
    cdef Table field
    cdef Table own
    for field in fields:
        check_name(field, NAME)
        field.key_values(FIELD_METADATA)
        code = field.number(TYPE_CODE, 1)
        own = field.table(TYPE) if code in (TIMESTAMP, UNION) else None
        if own is not None and code == TIMESTAMP:
            check_name(own, 1)
        elif own is not None:
            own.string(1, 4)
        own = field.table(DICTIONARY)
        if own is not None:
            ids.append(own.number(0, 8))
        children = field.tables(CHILDREN)
        if children and depth == MAX_DEPTH:
            raise field.buffer.error(field.position, "a field deeper than that", f"{depth} levels")
        is_map = code == MAP and len(children) == 1
        position = len(map_names)
        if is_map:
            map_names.append(())
        if children:
            read_fields(children, ids, map_names, depth + 1)
        if is_map:
            # After the check of all names below: overlapping names would need far more memory.
            pairs = children[0].tables(CHILDREN)
            map_names[position] = tuple([pair.items(NAME, 1)[1].decode() for pair in pairs])
