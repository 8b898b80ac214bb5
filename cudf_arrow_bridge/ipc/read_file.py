# SPDX-License-Identifier: Apache-2.0
"""`open_file`: random access to the batches of an Arrow IPC file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any, Literal, overload

import pyarrow as pa

from ..arrow.device_array import DeviceArray
from ..arrow.device_array_stream import DeviceArrayStream
from ..cuda.residency import DeviceType
from ..cuda.streams import resolve_stream
from .body_reader import BodyReader
from .decoder import Checks, DecodeOptions, IncomingMessage, MessageDecoder
from .message_source import MessageStreamSource, exporter_of
from .metadata.footer import Footer, read_footer
from .metadata.headers import HEADERS, Header
from .metadata.schema_messages import StoredSchema
from .projection import PartialBody, Projection
from .transport.framing import (
    CHUNK_SIZE,
    CONTINUATION,
    MAGIC,
    Block,
    check_chunk_size,
    read_message,
)
from .transport.sources import Source, open_source

__all__ = ["DeviceArrayFile", "file_headers", "open_file"]

#: The data after the footer: its length and the magic bytes.
TAIL_BYTES = 4 + len(MAGIC)


def open_file(
    source: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    device_type: Literal["cpu", "cuda"] | DeviceType | None = None,
    validate: Checks = "minimal",
    memory_map: bool = False,
    chunk_size: int = CHUNK_SIZE,
    columns: Sequence[str] | None = None,
) -> DeviceArrayFile:
    """Open an Arrow IPC file (Feather 2). Reads only the footer.

    Parameters
    ----------
    source
        A path, an object with the buffer protocol, a ``pyarrow.Buffer``, or a binary file that can
        seek.
    stream, mr, device_type, validate, memory_map, chunk_size : optional
        See `open_stream`.
    columns : list of str, optional
        The columns of the batches, in this order; the index of frames is kept. For other columns
        only metadata is read.

    Returns
    -------
    DeviceArrayFile
        The record batches, by index and as a stream; each is read when it is requested. The file
        stays open until it is released.

    Raises
    ------
    TypeError, ValueError
        See `from_messages`; also if it is not an Arrow IPC file.
    KeyError
        If there is no column with a name in `columns`.

    Notes
    -----
    Source: Arrow columnar format, "IPC File Format".

    Examples
    --------
    >>> import io
    >>> import pyarrow as pa
    >>> sink = io.BytesIO()
    >>> cab.ipc.write_file(pa.table({"a": [1, 2, 3]}), sink, max_rows=2)
    >>> with cab.ipc.open_file(sink.getvalue()) as file:
    ...     [len(file), file[1]["a"].to_arrow().to_pylist()]
    [2, [3]]
    """
    c_stream = resolve_stream(stream)
    body_reader = BodyReader.of(device_type, c_stream, mr, check_chunk_size(chunk_size))
    options = DecodeOptions(c_stream, validate, mr, not body_reader.is_host)
    opened = open_source(source, memory_map)
    try:
        return DeviceArrayFile(_FileReader(opened, body_reader, columns), options)
    except BaseException:
        opened.close()
        raise


def file_headers(source: Any) -> tuple[pa.Schema, list[Header]]:
    """Return the schema of a file and the header of each batch. Reads no body.

    Parameters
    ----------
    source
        See `open_file`.

    Raises
    ------
    TypeError, ValueError
        If it is not an Arrow IPC file. Unsupported types are not an error.
    """
    with open_source(source) as opened:
        footer = _read_footer(opened)
        headers = [_header_at(block, opened) for block in footer.batches]
        return footer.schema.schema, headers


class DeviceArrayFile(DeviceArrayStream):
    """The record batches of a file; a stream that can be consumed any number of times.

    ``len(file)`` is the number of batches, ``file[i]`` reads one batch, ``file[i:j]`` a list.
    """

    def __init__(self, reader: _FileReader, options: DecodeOptions) -> None:
        self._reader = reader
        self._decoder = MessageDecoder(reader.schema, options)
        self._dictionary_lock = Lock()
        self._has_dictionaries = False
        source = MessageStreamSource(lambda: (self._decoder, self._batches()), options)
        super().__init__(source, exporter_of(options))

    def _batches(self) -> Iterator[IncomingMessage]:
        self._read_dictionaries()
        yield from self._reader.batches()

    def _read_dictionaries(self) -> None:
        """Read all dictionaries once.

        A file does not replace dictionaries: those of every batch are a prefix of those of the last
        one.
        """
        with self._dictionary_lock:
            if not self._has_dictionaries:
                for message in self._reader.dictionaries():
                    self._decoder.read(message)
                self._has_dictionaries = True

    @property
    def num_rows(self) -> int:
        """The number of rows of all batches, read from their metadata."""
        return sum(header.length for header in self._reader.headers())

    def __len__(self) -> int:
        return len(self._reader.footer.batches)

    @overload
    def __getitem__(self, index: int) -> DeviceArray: ...
    @overload
    def __getitem__(self, index: slice) -> list[DeviceArray]: ...
    def __getitem__(self, index: Any) -> DeviceArray | list[DeviceArray]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if isinstance(index, str):
            raise TypeError(
                f"expected the number of a batch, got {index!r}: use file[0][{index!r}]"
            )
        if self.is_released:
            raise ValueError("expected an open file, got a released file")
        batches = self._reader.footer.batches
        if not -len(batches) <= index < len(batches):
            raise IndexError(f"expected the number of one of {len(batches)} batches, got {index}")
        self._read_dictionaries()
        batch = self._decoder.read(self._reader.read(batches[index]))
        if batch is None:
            raise ValueError(f"batch {index}: expected a record batch, got a dictionary")
        return batch

    def release(self) -> None:
        """Close the file. Batches stay valid. May be called again."""
        super().release()
        self._reader.close()


class _FileReader:
    """Reads messages at the positions of a footer. It is thread-safe."""

    def __init__(
        self, source: Source, body_reader: BodyReader, columns: Sequence[str] | None = None
    ) -> None:
        self._source = source
        self._body_reader = body_reader
        self._lock = Lock()
        self.footer = _read_footer(source)
        self._projection: Projection | None = None
        if columns is not None:
            self._projection = Projection.of(self.footer.schema, columns)

    @property
    def schema(self) -> StoredSchema:
        """The schema of the selected columns."""
        return self.footer.schema if self._projection is None else self._projection.stored

    def dictionaries(self) -> Iterator[IncomingMessage]:
        """Read the dictionaries of the columns."""
        for block in self.footer.dictionaries:
            with self._lock:
                header = _header_at(block, self._source)
                if header.kind == "dictionary" and self._skips(header.dictionary_id):
                    continue
                message = self._body_reader.receive(header, self._source)
            yield message

    def _skips(self, dictionary_id: int) -> bool:
        """Return whether a dictionary belongs only to other columns."""
        known = dictionary_id in self.footer.schema.dictionary_ids
        return known and dictionary_id not in self.schema.dictionary_ids

    def batches(self) -> Iterator[IncomingMessage]:
        return map(self.read, self.footer.batches)

    def headers(self) -> Iterator[Header]:
        """Yield the header of each batch. Reads no body."""
        for block in self.footer.batches:
            with self._lock:
                yield _header_at(block, self._source)

    def read(self, block: Block) -> IncomingMessage:
        with self._lock:
            header = _header_at(block, self._source)
            if self._projection is None or header.kind != "batch":
                return self._body_reader.receive(header, self._source)
            if self._body_reader.is_host and self._source.is_memory:
                return self._body_reader.receive(self._projection.reduce(header), self._source)
            packed, ranges = self._projection.pack(header)
            return self._body_reader.receive(packed, PartialBody(self._source, ranges))

    def close(self) -> None:
        with self._lock:
            self._source.close()


def _header_at(block: Block, source: Source) -> Header:
    source.seek(block.offset)
    found = read_message(source)
    header = None if found is None else HEADERS.read(found[0])
    here = source.position - block.offset
    if header is None or here != block.metadata_length or header.kind == "schema":
        raise ValueError(
            f"byte {block.offset:,}: expected a batch with {block.metadata_length:,} bytes "
            "of metadata by the footer, got none"
        )
    if header.body_length != block.body_length:
        raise ValueError(
            f"byte {block.offset:,}: expected a body of {block.body_length:,} bytes by the "
            f"footer, got {header.body_length:,}"
        )
    return header


def _read_footer(source: Source) -> Footer:
    size = source.size
    if size is None:
        raise TypeError("expected a file that can seek, got one that cannot")
    if size < len(MAGIC) + TAIL_BYTES:
        raise ValueError(f"expected an Arrow file, got {size} bytes")
    source.seek(0)
    head = source.read_exact(len(MAGIC), "the beginning of a file")
    source.seek(size - TAIL_BYTES)
    tail = source.read_exact(TAIL_BYTES, "the end of a file")
    for where, found in ((0, head), (size - len(MAGIC), tail[4:])):
        if found != MAGIC:
            hint = ": open_stream reads streams" if head[:4] == CONTINUATION else ""
            raise ValueError(
                f"byte {where:,}: expected {MAGIC!r} of an Arrow file, got {found!r}{hint}"
            )
    length = int.from_bytes(tail[:4], "little", signed=True)
    end = size - TAIL_BYTES
    if not 0 < length <= end - len(MAGIC):
        raise ValueError(f"byte {end:,}: expected a shorter footer, got {length:,} bytes")
    source.seek(end - length)
    return read_footer(source.read_exact(length, "a footer"), end - length)
