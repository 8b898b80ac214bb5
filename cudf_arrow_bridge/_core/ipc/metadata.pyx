# SPDX-License-Identifier: Apache-2.0
"""Reading of the flatbuffers of Arrow IPC. Input is untrusted.

Each position is checked before it is read. The package ``flatbuffers`` has no verifier in Python,
and would follow negative positions. Sources: FlatBuffers, "FlatBuffers Internals"; Arrow columnar
format, Message.fbs and Schema.fbs.
"""

from cpython.bytes cimport PyBytes_AsString
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memchr, memcpy

#: The minimum size of a table: its first number, and the number that refers to it.
cdef int MIN_TABLE_BYTES = 8

#: Metadata versions, as numbers in flatbuffers.
V4: int = 3
V5: int = 4

#: The types of messages, and those of other messages, which cuDF does not support.
cdef dict KINDS = {1: "schema", 2: "dictionary", 3: "batch"}
cdef dict TENSORS = {4: "a tensor", 5: "a sparse tensor"}

#: The codecs of compressed bodies, in the order of their numbers.
CODECS: tuple[Codec, ...] = ("lz4_frame", "zstd")
#: The key with which Arrow 0.17 marked compressed bodies, before the format supported them.
cdef bytes EXPERIMENTAL_COMPRESSION = b"ARROW:experimental_compression"

#: The size of the structs FieldNode and Buffer: two numbers of 64 bits.
cdef int PAIR_BYTES = 16

#: The maximum depth of fields, as in Arrow C++.
cdef int MAX_DEPTH = 64


# Slots of the tables Message, RecordBatch, DictionaryBatch, BodyCompression, Field and KeyValue.
# DictionaryEncoding also has its id in slot 0.
cdef enum:
    VERSION, HEADER_TYPE, HEADER, BODY_LENGTH, MESSAGE_METADATA
cdef enum:
    LENGTH, NODES, BUFFERS, COMPRESSION, VARIADIC_COUNTS
cdef enum:
    ID, DATA, IS_DELTA
cdef enum:
    CODEC, METHOD
cdef enum:
    NAME, NULLABLE, TYPE_CODE, TYPE, DICTIONARY, CHILDREN, FIELD_METADATA
cdef enum:
    KEY, VALUE

# The types that have a vector in a slot, the zone of Timestamp and the codes of Union, and maps.
cdef enum:
    TIMESTAMP = 10
    UNION = 14
    MAP = 17
    TYPE_VECTOR = 1


cpdef bytes bytes_of(metadata: BytesLike):
    """Return bytes that cannot change between a check and their use."""
    return metadata if type(metadata) is bytes else memoryview(metadata).tobytes()


cdef class Table


cdef class Flatbuffer:
    """The bytes of a flatbuffer.

    Parameters
    ----------
    data : bytes-like
        The bytes, without the preceding length.
    subject : str
        The name of the data in errors.
    """

    cdef readonly bytes data
    cdef str subject
    cdef const char* start
    cdef int64_t size
    cdef int64_t num_tables
    #: The bytes of the vectors that were copied.
    cdef int64_t num_copied

    def __init__(self, data: BytesLike, str subject not None):
        self.data = bytes_of(data)
        self.start = PyBytes_AsString(self.data)
        self.size = len(self.data)
        self.subject = subject
        self.num_tables = self.num_copied = 0

    def root(self) -> Table:
        """Return the table that the first number refers to."""
        return table_at(self, self.target(0))

    cdef int check(self, int64_t position, int64_t size, int64_t alignment) except -1:
        """Raise ValueError if an item would lie outside of the bytes."""
        if position % alignment:
            raise self.error(position, "an item", f"a position that is a multiple of {alignment}")
        if position + size > self.size:
            expected = f"items within {self.size} bytes"
            raise self.error(position, f"an item of {size} bytes", expected)
        return 0

    cdef int64_t unsigned(self, int64_t position, int size) except -1:
        """Read an unsigned number of at most 4 bytes."""
        cdef int64_t value = 0
        self.check(position, size, size)
        memcpy(&value, self.start + position, size)
        return value

    cdef int64_t signed(self, int64_t position, int size) except? -1:
        """Read a signed number of at most 8 bytes."""
        cdef uint64_t value = 0
        cdef int unused = 64 - 8 * size
        self.check(position, size, size)
        memcpy(&value, self.start + position, size)
        return <int64_t>(value << unused) >> unused

    cdef int64_t target(self, int64_t position) except -1:
        """Return the position to which a number refers."""
        return position + self.unsigned(position, 4)

    def error(self, position: int, found: str, expected: str) -> ValueError:
        """Return an error with a position."""
        return ValueError(f"{self.subject} byte {position}: expected {expected}, got {found}")


cdef Table table_at(Flatbuffer buffer, int64_t position):
    """Return the table at a position, which is not negative."""
    cdef Table table = Table.__new__(Table)
    cdef int64_t vtable = position - buffer.signed(position, 4)
    cdef int64_t size
    if vtable < 0:
        raise buffer.error(position, f"byte {vtable}", "a vtable at byte 0 or later")
    size = buffer.unsigned(vtable, 2)
    if size < 4 or size % 2:
        expected = "a vtable with an even number of at least 4 bytes"
        raise buffer.error(vtable, f"{size} bytes", expected)
    buffer.check(vtable, size, 2)
    buffer.num_tables += 1
    if buffer.num_tables > buffer.size // MIN_TABLE_BYTES:
        # Repeated references to the same tables would take forever.
        expected = f"at most {buffer.size // MIN_TABLE_BYTES} tables in {buffer.size} bytes"
        raise buffer.error(position, f"{buffer.num_tables}", expected)
    table.buffer = buffer
    table.position = position
    table.vtable = vtable
    table.num_slots = size // 2 - 2
    return table


cdef class Table:
    """A table of a flatbuffer, whose slots are numbered as in its definition."""

    cdef readonly Flatbuffer buffer
    cdef readonly int64_t position
    cdef int64_t vtable
    cdef int64_t num_slots

    cdef int64_t slot(self, int64_t index, int size) except -1:
        """Return the position of the value of a slot; 0 if it is not stored."""
        cdef int64_t offset
        if index >= self.num_slots:
            return 0
        offset = self.buffer.unsigned(self.vtable + 4 + 2 * index, 2)
        if not offset:
            return 0
        self.buffer.check(self.position + offset, size, size)
        return self.position + offset

    cpdef int64_t number(self, int64_t index, int size) except? -1:
        """Return the signed number of a size in bytes in a slot; 0 if it is not stored."""
        cdef int64_t position = self.slot(index, size)
        return self.buffer.signed(position, size) if position else 0

    cpdef Table table(self, int64_t index):  # type: Table | None
        """Return the table that a slot refers to; None if it is not stored."""
        cdef int64_t position = self.slot(index, 4)
        return table_at(self.buffer, self.buffer.target(position)) if position else None

    cdef (int64_t, int64_t) items(
        self, int64_t index, int64_t item_size, int64_t alignment
    ) except *:
        """Return the position of the first item and the number of items; (0, 0) without items."""
        cdef int64_t position = self.slot(index, 4)
        cdef int64_t count = 0
        if position:
            position = self.buffer.target(position)
            count = self.buffer.unsigned(position, 4)
        if count == 0:
            return 0, 0
        self.buffer.check(position + 4, count * item_size, alignment)
        return position + 4, count

    def vector(self, int64_t index, int64_t item_size, int64_t alignment) -> tuple[int, int]:
        """Return the position of the first item and the number of items; (0, 0) without items."""
        return self.items(index, item_size, alignment)

    cdef list tables_of(self, int64_t index):
        """Return the tables in a vector."""
        cdef int64_t first
        cdef int64_t count
        cdef int64_t i
        first, count = self.items(index, 4, 4)
        return [table_at(self.buffer, self.buffer.target(first + 4 * i)) for i in range(count)]

    cdef (int64_t, int64_t) spend(self, int64_t index, int64_t item_size) except *:
        """Return the position and size of a vector that is copied, and count its bytes.

        All of them may have at most as many bytes as the data. Overlapping vectors would need far
        more memory.
        """
        cdef Flatbuffer buffer = self.buffer
        first, count = self.items(index, item_size, item_size)
        buffer.num_copied += count * item_size
        if buffer.num_copied > buffer.size:
            found = f"strings of {buffer.num_copied} bytes so far"
            raise buffer.error(first, found, f"strings within {buffer.size} bytes")
        return first, count

    cdef bytes string(self, int64_t index):
        """Return the string in a slot; empty if it is not stored."""
        first, size = self.spend(index, 1)
        return self.buffer.data[first : first + size]

    cpdef dict key_values(self, int64_t index):  # type: dict[bytes, bytes]
        """Return the custom metadata in a slot; for equal keys the last value.

        Raises
        ------
        ValueError
            If it does not lie within the bytes, or its strings overlap.
        """
        cdef Table pair
        return {pair.string(KEY): pair.string(VALUE) for pair in self.tables_of(index)}

    def dictionary_ids(
        self, int64_t index, list map_names not None: list[tuple[str, ...]]
    ) -> tuple[int, ...]:
        """Return the ids of the dictionaries of the fields in a slot, depth first.

        The names of the keys and values of all maps are added to `map_names`, depth first.

        Raises
        ------
        ValueError
            If fields lie outside of the bytes, are too deep, are shared by several parents, or
            their strings overlap, because a reader would need far more memory than the bytes.
        """
        ids = []
        add_dictionary_ids(self.tables_of(index), 1, ids, map_names)
        return tuple(ids)


cdef str name_of(Table field):
    first, size = field.items(NAME, 1, 1)
    return field.buffer.data[first : first + size].decode()


cdef int check_text(Flatbuffer buffer, int64_t first, int64_t size) except -1:
    """Raise ValueError for a NUL, at which the names of the C data interface end."""
    if size and memchr(buffer.start + first, 0, size) != NULL:
        text = buffer.data[first : first + size].decode(errors="replace")
        raise buffer.error(first, repr(text), "a name without NUL")
    return 0


cdef int add_dictionary_ids(list fields, int depth, list ids, list map_names) except -1:
    cdef Table field
    cdef Table entries
    cdef Table own
    cdef int64_t code
    cdef int64_t first
    cdef int64_t count
    for field in fields:
        first, count = field.spend(NAME, 1)
        check_text(field.buffer, first, count)
        field.key_values(FIELD_METADATA)
        code = field.number(TYPE_CODE, 1)
        own = field.table(TYPE) if code == TIMESTAMP or code == UNION else None
        if own is not None:
            first, count = own.spend(TYPE_VECTOR, 1 if code == TIMESTAMP else 4)
            if code == TIMESTAMP:
                check_text(field.buffer, first, count)
        own = field.table(DICTIONARY)
        if own is not None:
            ids.append(own.number(ID, 8))
        children = field.tables_of(CHILDREN)
        if children and depth == MAX_DEPTH:
            raise field.buffer.error(field.position, "a field deeper than that", f"{depth} levels")
        if code == MAP and len(children) == 1:
            entries = children[0]
            map_names.append(tuple([name_of(pair) for pair in entries.tables_of(CHILDREN)]))
        if children:
            add_dictionary_ids(children, depth + 1, ids, map_names)
    return 0


cdef tuple read_message(Flatbuffer buffer):
    """Return the table of a message, which has a header, and the type of the header."""
    cdef Table message = table_at(buffer, buffer.target(0))
    version = message.number(VERSION, 2)
    if version not in (V4, V5):
        raise buffer.error(message.position, f"metadata version V{version + 1}", "V4 or V5")
    code = message.number(HEADER_TYPE, 1)
    kind = KINDS.get(code)
    if kind is None:
        found = TENSORS.get(code, f"a message of type {code}")
        raise buffer.error(message.position, found, "a schema, dictionary or record batch")
    if version == V4 and EXPERIMENTAL_COMPRESSION in message.key_values(MESSAGE_METADATA):
        found = "a body compressed by Arrow 0.17"
        raise buffer.error(message.position, found, "a body that names its codec")
    if message.slot(HEADER, 4) == 0:
        raise buffer.error(message.position, "no header", f"a {kind}")
    return message, kind


def schema_table(bytes metadata not None) -> Table:
    """Return the table of a schema in the metadata of a message.

    Raises
    ------
    ValueError
        If it is not the metadata of a schema in the format of Arrow 0.8 or newer.
    """
    cdef Table message
    message, kind = read_message(Flatbuffer(metadata, "metadata"))
    if kind != "schema":
        raise ValueError(f"the message is a {kind}, not a schema")
    return message.table(HEADER)


cdef class Header:
    """The contents of a message's metadata.

    Attributes
    ----------
    metadata : bytes
        The flatbuffer without the preceding length.
    kind : {"schema", "dictionary", "batch"}
        The type of the message.
    body_length : int
        The size of the body in bytes.
    length : int
        The number of rows.
    nodes, num_nodes : int
        The position in the metadata and the number of pairs of a length and a null count.
    buffers, num_buffers : int
        The position in the metadata and the number of pairs of an offset in the body and a length.
    variadic_counts : tuple of int
        The number of data buffers of each array of views.
    codec : {"lz4_frame", "zstd"} or None
        The compression codec of the buffers.
    dictionary_id : int
        For a dictionary: its id.
    is_delta : bool
        For a dictionary: whether it is appended to the previous one.
    """

    cdef readonly bytes metadata
    cdef readonly str kind  # type: Literal["schema", "dictionary", "batch"]
    cdef readonly int64_t body_length
    cdef readonly int64_t length
    cdef readonly int64_t nodes
    cdef readonly int64_t num_nodes
    cdef readonly int64_t buffers
    cdef readonly int64_t num_buffers
    cdef readonly tuple variadic_counts  # type: tuple[int, ...]
    cdef readonly str codec  # type: Codec | None
    cdef readonly int64_t dictionary_id
    cdef readonly bint is_delta


cdef int64_t size_in(Table table, int64_t index, str what) except -1:
    """Return the number in a slot, which must not be negative."""
    cdef int64_t number = table.number(index, 8)
    if number < 0:
        position = table.slot(index, 8)
        raise table.buffer.error(position, number, f"a {what} of at least 0")
    return number


cdef str codec_of(Table batch):
    cdef Table compression = batch.table(COMPRESSION)
    if compression is None:
        return None
    codec = compression.number(CODEC, 1)
    method = compression.number(METHOD, 1)
    if method or not 0 <= codec < len(CODECS):
        found = f"codec {codec} by method {method}"
        raise batch.buffer.error(compression.position, found, "LZ4 or ZSTD by buffer")
    return CODECS[codec]


cdef tuple variadic_counts_of(Table batch, int64_t num_buffers):
    cdef Flatbuffer buffer = batch.buffer
    cdef int64_t i
    first, count = batch.items(VARIADIC_COUNTS, 8, 8)
    if count == 0:
        return ()
    counts = tuple([buffer.signed(first + 8 * i, 8) for i in range(count)])
    if min(counts) < 0 or max(counts) > num_buffers:
        expected = f"counts of view buffers from 0 to {num_buffers}"
        raise buffer.error(first, f"{min(counts)} to {max(counts)}", expected)
    return counts


def read_header(metadata: BytesLike) -> Header:
    """Read the metadata of a message.

    Parameters
    ----------
    metadata : bytes-like
        The flatbuffer without the preceding length. It is untrusted.

    Returns
    -------
    Header
        All its positions lie within the metadata and are multiples of 8.

    Raises
    ------
    ValueError
        If it is not the metadata of a schema, dictionary or record batch in the format of Arrow 0.8
        or newer, with the position.
    """
    cdef Header header = Header.__new__(Header)
    cdef Flatbuffer buffer = Flatbuffer(metadata, "metadata")
    cdef Table message
    cdef Table batch
    message, header.kind = read_message(buffer)
    header.metadata = buffer.data
    header.body_length = size_in(message, BODY_LENGTH, "body length")
    header.variadic_counts = ()
    batch = message.table(HEADER)
    if header.kind == "schema":
        return header
    if header.kind == "dictionary":
        header.dictionary_id = batch.number(ID, 8)
        header.is_delta = batch.number(IS_DELTA, 1) != 0
        position = batch.position
        batch = batch.table(DATA)
        if batch is None:
            raise buffer.error(position, "a dictionary without data", "a record batch")
    header.length = size_in(batch, LENGTH, "length")
    header.nodes, header.num_nodes = batch.items(NODES, PAIR_BYTES, 8)
    header.buffers, header.num_buffers = batch.items(BUFFERS, PAIR_BYTES, 8)
    header.variadic_counts = variadic_counts_of(batch, header.num_buffers)
    header.codec = codec_of(batch)
    return header
