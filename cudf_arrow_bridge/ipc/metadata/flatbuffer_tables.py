# SPDX-License-Identifier: Apache-2.0
"""Tables of an untrusted flatbuffer: each position is checked before it is read.

The package ``flatbuffers`` has no verifier in Python, and would follow negative positions. Source:
FlatBuffers, "FlatBuffers Internals".
"""

from __future__ import annotations

from struct import Struct

__all__ = ["INT8", "INT16", "INT64", "UINT8", "UINT32", "Flatbuffer", "Table", "key_values"]

INT8 = Struct("<b")
UINT8 = Struct("<B")
INT16 = Struct("<h")
UINT16 = Struct("<H")
INT32 = Struct("<i")
UINT32 = Struct("<I")
INT64 = Struct("<q")

#: The minimum size of a table: its first number, and the number that refers to it.
MIN_TABLE_BYTES = 8

#: Slots of the table KeyValue.
KEY, VALUE = range(2)


class Flatbuffer:
    """The bytes of a flatbuffer.

    Parameters
    ----------
    data : bytes
        The bytes, without the preceding length.
    subject : str
        The name of the data in errors.
    reads : list of (int, int), optional
        A list for the ranges that determine the positions of other data.
    """

    __slots__ = ("data", "reads", "subject", "tables", "vectors")

    def __init__(
        self, data: bytes, subject: str, reads: list[tuple[int, int]] | None = None
    ) -> None:
        self.data = data
        self.subject = subject
        self.reads = reads
        self.tables = 0
        self.vectors = 0

    def root(self) -> Table:
        """Return the table that the first number refers to."""
        return Table(self, self.target(0))

    def check(self, position: int, size: int, alignment: int) -> None:
        """Raise ValueError if an item would lie outside of the bytes."""
        if position % alignment:
            raise self.error(position, "an item", f"a position that is a multiple of {alignment}")
        if position + size > len(self.data):
            expected = f"items within {len(self.data)} bytes"
            raise self.error(position, f"an item of {size} bytes", expected)

    def number(self, kind: Struct, position: int) -> int:
        """Read a number that determines other positions."""
        self.check(position, kind.size, kind.size)
        self.note(position, kind.size)
        value: int = kind.unpack_from(self.data, position)[0]
        return value

    def target(self, position: int) -> int:
        """Return the position to which a number refers."""
        return position + self.number(UINT32, position)

    def vector(self, position: int, item_size: int, alignment: int) -> tuple[int, int]:
        """Return the position of the first item and the number of items; (0, 0) without items."""
        count = self.number(UINT32, position)
        if not count:
            return 0, 0
        self.check(position + 4, count * item_size, alignment)
        return position + 4, count

    def spend(self, position: int, size: int) -> None:
        """Count the bytes of vectors that are copied, at most as many as the data has.

        Overlapping vectors would need far more memory.
        """
        self.vectors += size
        if self.vectors > len(self.data):
            found = f"strings of {self.vectors} bytes so far"
            raise self.error(position, found, f"strings within {len(self.data)} bytes")

    def note(self, position: int, size: int) -> None:
        """Record that these bytes determine positions."""
        if self.reads is not None:
            self.reads.append((position, position + size))

    def error(self, position: int, found: str, expected: str) -> ValueError:
        """Return an error with a position."""
        return ValueError(f"{self.subject} byte {position}: expected {expected}, got {found}")


class Table:
    """A table of a flatbuffer, whose slots are numbered as in its definition."""

    __slots__ = ("buffer", "entries", "position", "vtable")

    def __init__(self, buffer: Flatbuffer, position: int) -> None:
        vtable = position - buffer.number(INT32, position)
        if vtable < 0:
            raise buffer.error(position, f"byte {vtable}", "a vtable at byte 0 or later")
        size = buffer.number(UINT16, vtable)
        if size < 4 or size % 2:
            expected = "a vtable with an even number of at least 4 bytes"
            raise buffer.error(vtable, f"{size} bytes", expected)
        buffer.check(vtable, size, 2)
        buffer.note(vtable, size)
        buffer.tables += 1
        most = len(buffer.data) // MIN_TABLE_BYTES
        if buffer.tables > most:
            # Repeated references to the same tables would take forever.
            expected = f"at most {most} tables in {len(buffer.data)} bytes"
            raise buffer.error(position, f"{buffer.tables}", expected)
        self.buffer = buffer
        self.position = position
        self.vtable = vtable
        self.entries = size // 2 - 2

    def slot(self, index: int, size: int) -> int:
        """Return the position of the value of a slot; 0 if it is not stored."""
        if index >= self.entries:
            return 0
        offset: int = UINT16.unpack_from(self.buffer.data, self.vtable + 4 + 2 * index)[0]
        if not offset:
            return 0
        self.buffer.check(self.position + offset, size, size)
        return self.position + offset

    def number(self, index: int, kind: Struct) -> int:
        """Return the number in a slot; 0 if it is not stored."""
        position = self.slot(index, kind.size)
        return self.buffer.number(kind, position) if position else 0

    def table(self, index: int) -> Table | None:
        """Return the table that a slot refers to."""
        position = self.slot(index, 4)
        return Table(self.buffer, self.buffer.target(position)) if position else None

    def vector(self, index: int, item_size: int, alignment: int) -> tuple[int, int]:
        """Return the position of the first item and the number of items; (0, 0) without items."""
        position = self.slot(index, 4)
        if not position:
            return 0, 0
        return self.buffer.vector(self.buffer.target(position), item_size, alignment)

    def tables_of(self, index: int) -> list[Table]:
        """Return the tables in a vector."""
        first, count = self.vector(index, 4, 4)
        buffer = self.buffer
        return [Table(buffer, buffer.target(first + 4 * item)) for item in range(count)]

    def string(self, index: int) -> bytes:
        """Return the string in a slot; empty if it is not stored."""
        first, size = self.vector(index, 1, 1)
        self.buffer.spend(first, size)
        self.buffer.note(first, size)
        return self.buffer.data[first : first + size]


def key_values(table: Table, index: int) -> dict[bytes, bytes]:
    """Return the custom metadata in a slot; for equal keys the last value.

    Raises
    ------
    ValueError
        If it does not lie within the bytes, or its strings overlap.
    """
    return {pair.string(KEY): pair.string(VALUE) for pair in table.tables_of(index)}
