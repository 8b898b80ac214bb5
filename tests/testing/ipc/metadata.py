# SPDX-License-Identifier: Apache-2.0
"""The flatbuffers of IPC messages, read only with the formats of Arrow and flatbuffers.

Sources: ``Message.fbs`` of Arrow, and flatbuffers' "Internals".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

SCHEMA, DICTIONARY, RECORD_BATCH = 1, 2, 3
CONTINUATION = b"\xff\xff\xff\xff"
END = CONTINUATION + bytes(4)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a message with a body that do not depend on the body's packing."""

    kind: int
    length: int
    nodes: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    variadic_counts: tuple[int, ...]


class Metadata:
    """The flatbuffer of a message.

    Attributes
    ----------
    kind
        `SCHEMA`, `DICTIONARY` or `RECORD_BATCH`.
    body_length
        Size of the packed body in bytes.
    nodes
        Length and null count of each array.
    buffers
        Offset and size of each buffer in the packed body.
    places
        Positions of the 64-bit numbers in the flatbuffer, by name.
    """

    def __init__(self, data):
        self._data = bytes(data)
        root = self._int32(0)
        self.kind = self._scalar(root, 1, "<B")
        self.places = {"body length": self._field(root, 3)}
        self.body_length = self._scalar(root, 3, "<q")
        header = self._indirect(self._field(root, 2))
        self.id = None
        if self.kind == DICTIONARY:
            self.places["id"] = self._field(header, 0)
            self.id = self._scalar(header, 0, "<q")
            self.is_delta = bool(self._scalar(header, 2, "<B"))
            header = self._indirect(self._field(header, 1))
        if self.kind == SCHEMA:
            return
        self.places["length"] = self._field(header, 0)
        self.length = self._scalar(header, 0, "<q")
        self.nodes = self._pairs(header, 1, "node")
        self.buffers = self._pairs(header, 2, "buffer")
        self.is_compressed = self._field(header, 3) is not None
        self.variadic_counts = self._longs(header, 4, 1, "variadic count")

    def numbers(self):
        """Return the numbers that do not depend on the body's packing."""
        sizes = tuple(size for _, size in self.buffers)
        return Numbers(self.kind, self.length, tuple(self.nodes), sizes, self.variadic_counts)

    def slices(self, body):
        """Return the buffers of a packed body, one for each buffer of the metadata."""
        return [body.slice(offset, size) for offset, size in self.buffers]

    def patched(self, **places):
        """Return the flatbuffer with other numbers: ``{"buffer 0": 64}`` sets the first offset."""
        data = bytearray(self._data)
        for name, value in places.items():
            if (place := self.places[name]) is not None:
                struct.pack_into("<q", data, place, value)
        return bytes(data)

    def _int32(self, at):
        return struct.unpack_from("<i", self._data, at)[0]

    def _field(self, table, number):
        """Return the position of a table's field, or None if the field is absent."""
        vtable = table - self._int32(table)
        (size,) = struct.unpack_from("<H", self._data, vtable)
        entry = 4 + 2 * number
        if entry >= size:
            return None
        (offset,) = struct.unpack_from("<H", self._data, vtable + entry)
        return table + offset if offset else None

    def _scalar(self, table, number, form):
        place = self._field(table, number)
        return 0 if place is None else struct.unpack_from(form, self._data, place)[0]

    def _indirect(self, place):
        return place + self._int32(place)

    def _longs(self, table, number, width, name):
        place = self._field(table, number)
        if place is None:
            return ()
        vector = self._indirect(place)
        count = self._int32(vector) * width
        for i in range(count):
            self.places[f"{name} {i}"] = vector + 4 + 8 * i
        return struct.unpack_from(f"<{count}q", self._data, vector + 4)

    def _pairs(self, table, number, name):
        flat = self._longs(table, number, 2, name)
        return list(zip(flat[::2], flat[1::2], strict=True))


def messages_of(stream):
    """Yield the flatbuffer and the packed body of each message of a stream, read by pyarrow."""
    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(stream)):
        yield message.metadata.to_pybytes(), message.body


def realigned(metadata, body, alignment):
    """Return a message whose buffers are aligned and padded to another alignment."""
    read = Metadata(metadata)
    if read.kind == SCHEMA:
        return metadata, b""
    places, packed = {}, bytearray()
    for i, buffer in enumerate(read.slices(body)):
        places[f"buffer {2 * i}"] = len(packed)
        packed += buffer.to_pybytes()
        packed += bytes(-len(packed) % alignment)
    return read.patched(**places, **{"body length": len(packed)}), bytes(packed)


def framed(messages, *, legacy=False, end=True):
    """Return a stream of messages. `legacy` is the framing before Arrow 0.15, without markers."""
    before = b"" if legacy else CONTINUATION
    pieces = []
    for metadata, body in messages:
        padding = bytes(-(len(before) + 4 + len(metadata)) % 8)
        size = struct.pack("<i", len(metadata) + len(padding))
        pieces += [before, size, metadata, padding, body or b""]
    return b"".join(chain(pieces, [before, bytes(4)] if end else []))
