# SPDX-License-Identifier: Apache-2.0
"""`open_stream` and `open_file`: reading of Arrow IPC streams, and random access to files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from threading import RLock
from typing import Any, Literal, overload

import pyarrow as pa

from ..arrow.device_array import DeviceArray
from ..arrow.device_array_stream import DeviceArrayStream
from ..cuda.residency import DeviceType
from .decoder import Checks, MessageDecoder, ReadOptions, Received
from .messages import MessageStreamSource, stream_of_messages
from .metadata import Footer, Header, read_footer, read_header, read_schema
from .projection import PartialBody, Projection, pack
from .transport.framing import CHUNK_SIZE, CONTINUATION, MAGIC, Block, read_message
from .transport.sources import Source, is_read_once, open_source

#: The data after the footer: its length and the magic bytes.
TAIL_BYTES = 4 + len(MAGIC)


def open_stream(
    source: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    device_type: Literal["cpu", "cuda"] | DeviceType | None = None,
    validate: Checks = "minimal",
    memory_map: bool = False,
    chunk_size: int = CHUNK_SIZE,
    max_bytes: int | None = None,
) -> DeviceArrayStream:
    """Read an Arrow IPC stream, one batch at a time.

    Bodies are read to the memory that columns use. In host memory, bytes and memory-mapped files
    are used in place, and other bodies are read once without further copies. Device memory is
    filled through two pieces of pinned memory: while one is read, the other is copied. Up to four
    threads copy bodies in host memory. pyarrow decompresses compressed bodies on the host.

    Parameters
    ----------
    source
        A path or its ``file:`` URL, an object with the buffer protocol, a ``pyarrow.Buffer``, a
        socket, or a binary file.
    stream : optional
        The CUDA stream for copies to a device, which produces the arrays; see `to_arrow_device`.
    mr : optional
        The memory resource for device memory. None: rmm's current resource.
    device_type : {"cpu", "cuda"} or DeviceType, optional
        The memory for the arrays. None: the current device, or host memory without a GPU.
    validate : {"sizes", "minimal", "full"}
        The checks; see `from_messages`.
    memory_map : bool
        Whether to memory-map the file of a path; see `to_arrow_device_stream` for the risks.
    chunk_size : int
        The number of bytes that are copied to a device at a time.
    max_bytes : int, optional
        The largest number of bytes that a record batch may take, with the dictionaries that came
        before it. A message takes its body, or its decompressed buffers if these have more bytes.
        A message that would take more is an error before memory of that size is allocated.

    Returns
    -------
    DeviceArrayStream
        The record batches, each read when it is requested. Streams of bytes and paths can be
        consumed repeatedly, others once.

    Raises
    ------
    TypeError, ValueError
        See `from_messages`; also if the stream ends within a message.

    Notes
    -----
    Source: Arrow columnar format, "IPC Streaming Format".

    Examples
    --------
    >>> import io
    >>> import pyarrow as pa
    >>> sink = io.BytesIO()
    >>> cab.ipc.write_stream(pa.table({"a": [1, 2, 3]}), sink)
    >>> cab.from_arrow_device_stream(cab.ipc.open_stream(sink.getvalue()))
       a
    0  1
    1  2
    2  3
    """
    options = ReadOptions(stream, validate, mr, device_type, chunk_size, max_bytes, uploads=True)
    single_use = source if is_read_once(source) else None
    return stream_of_messages(lambda: _receive(source, memory_map), options, single_use)


def _receive(source: Any, memory_map: bool) -> Iterator[Received]:
    with open_source(source, memory_map) as opened:
        while (header := _next_header(opened)) is not None:
            yield header, opened


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
    max_bytes: int | None = None,
) -> DeviceArrayFile:
    """Open an Arrow IPC file (Feather 2). Reads only the footer.

    Parameters
    ----------
    source
        A path or its ``file:`` URL, an object with the buffer protocol, a ``pyarrow.Buffer``, or a
        binary file that can seek.
    stream, mr, device_type, validate, memory_map, chunk_size : optional
        See `open_stream`.
    columns : list of str, optional
        The columns of the batches, in this order; the index of frames is kept. For other columns
        only metadata is read.
    max_bytes : int, optional
        See `open_stream`. All dictionaries of the columns are read before the first batch. Other
        columns count only if their bytes are in host memory that is used in place.

    Returns
    -------
    DeviceArrayFile
        The record batches, by index and as a stream; each is read when it is requested. The file
        stays open until it is released or no longer referenced.

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
    options = ReadOptions(stream, validate, mr, device_type, chunk_size, max_bytes, uploads=True)
    opened = open_source(source, memory_map)
    try:
        return DeviceArrayFile(_FileReader(opened, options, columns))
    except BaseException:
        # The traceback references the reader, which would close it later.
        opened.close()
        raise


def schema_and_headers(source: Any, is_file: bool) -> tuple[pa.Schema, list[Header]]:
    """Return the schema of a file, or stream that can seek, and the header of each batch.

    Reads no body. Unsupported types are not an error.
    """
    with open_source(source) as opened:
        if is_file:
            footer = _read_footer(opened)
            headers = [_header_at(block, opened) for block in footer.batches]
            return footer.schema.schema, headers
        first = _next_header(opened)
        if first is None:
            raise ValueError("the stream has no message with a schema")
        headers = []
        while (header := _next_header(opened)) is not None:
            opened.seek(opened.position + header.body_length)
            if header.kind == "batch":
                headers.append(header)
        return read_schema(first.metadata).schema, headers


class _FileReader:
    """Reads the messages of a file, which is closed when nothing references the reader."""

    def __init__(self, source: Source, options: ReadOptions, columns: Sequence[str] | None) -> None:
        self._file = source
        self.options = options
        #: Guards the position of the source, and the dictionaries while they are read.
        self._lock = RLock()
        self.footer = _read_footer(source)
        stored = self.footer.schema
        self._projection = None if columns is None else Projection(stored, columns)
        self._stored = stored if self._projection is None else self._projection.stored
        self._decoder = MessageDecoder(self._stored, options)
        self._has_dictionaries = False

    def __del__(self) -> None:
        self._file.close()

    def start(self) -> tuple[MessageDecoder, Iterator[Received]]:
        """Return the decoder and the messages of all batches."""
        return self._decoder, self._receive()

    def _receive(self) -> Iterator[Received]:
        self._read_dictionaries()
        yield from map(self._read, self.footer.batches)

    def _read_dictionaries(self) -> None:
        """Read all dictionaries of the columns once.

        A file does not replace dictionaries: those of every batch are a prefix of those of the last
        one.
        """
        # Dictionaries that belong only to other columns are skipped.
        skipped = {*self.footer.schema.dictionary_ids} - {*self._stored.dictionary_ids}
        known = set()
        with self._lock:
            for block in () if self._has_dictionaries else self.footer.dictionaries:
                header = _header_at(block, self._file)
                if header.kind == "dictionary" and header.dictionary_id in skipped:
                    continue
                if header.kind == "dictionary" and not header.is_delta:
                    if header.dictionary_id in known:
                        raise ValueError(
                            f"byte {block.offset:,}: a second dictionary has the id "
                            f"{header.dictionary_id} and is not a delta"
                        )
                    known.add(header.dictionary_id)
                self._decoder.read_array(header, self._file)
            self._has_dictionaries = True

    def _read(self, block: Block) -> tuple[Header, list[Any]]:
        """Read a message at a position of the footer."""
        with self._lock:
            source = self._file
            header = _header_at(block, source)
            if self._projection is not None and header.kind == "batch":
                header = self._projection.select(header)
                if self.options.on_device or not source.is_memory:
                    header, ranges = pack(header)
                    source = PartialBody(source, ranges)
            return header, self._decoder.read_body(header, source)

    def read(self, index: int) -> DeviceArray:
        """Read one batch."""
        self._read_dictionaries()
        array = self._decoder.read_array(*self._read(self.footer.batches[index]))
        if array is None:
            raise ValueError(f"batch {index} is a dictionary, not a record batch")
        return self._decoder.wrap(array)

    def num_rows(self) -> int:
        """Return the number of rows of all batches, read from their metadata."""
        with self._lock:
            return sum(_header_at(block, self._file).length for block in self.footer.batches)

    def close(self) -> None:
        """Close the file. Batches stay valid."""
        with self._lock:
            self._file.close()
            # Drop the dictionaries, which share the memory of the file.
            self._decoder = MessageDecoder(self._stored, self.options)


class DeviceArrayFile(DeviceArrayStream):
    """The record batches of a file; a stream that can be consumed any number of times.

    ``len(file)`` is the number of batches, ``file[i]`` reads one batch, ``file[i:j]`` a list.
    """

    def __init__(self, reader: _FileReader) -> None:
        # An iteration references the reader. The cycle of a file and its own iteration would not be
        # collected.
        self._reader = reader
        super().__init__(MessageStreamSource(reader.start), reader.options.arguments)

    @property
    def num_rows(self) -> int:
        """The number of rows of all batches, read from their metadata."""
        return self._reader.num_rows()

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
            raise ValueError("the file is released")
        batches = self._reader.footer.batches
        if not -len(batches) <= index < len(batches):
            raise IndexError(f"expected the number of one of {len(batches)} batches, got {index}")
        return self._reader.read(index)

    def release(self) -> None:
        """Close the file. Batches stay valid. May be called again."""
        super().release()
        self._reader.close()


def _header_at(block: Block, source: Source) -> Header:
    source.seek(block.offset)
    header = _next_header(source)
    if header is None or header.kind == "schema":
        raise ValueError(f"byte {block.offset:,}: there is no batch, which the footer lists")
    found = block._replace(
        metadata_length=source.position - block.offset, body_length=header.body_length
    )
    if found != block:
        raise ValueError(f"byte {block.offset:,}: expected {block} by the footer, got {found}")
    return header


def _read_footer(source: Source) -> Footer:
    size = source.size
    if size is None:
        raise TypeError("the file cannot seek")
    if size < len(MAGIC) + TAIL_BYTES:
        raise ValueError(f"{size} bytes are too few for an Arrow file")
    source.seek(0)
    head = bytes(source.take(len(MAGIC), "the beginning of a file"))
    source.seek(size - TAIL_BYTES)
    tail = bytes(source.take(TAIL_BYTES, "the end of a file"))
    for where, found in ((0, head), (size - len(MAGIC), tail[4:])):
        if found != MAGIC:
            hint = ": open_stream reads streams" if head[:4] == CONTINUATION else ""
            raise ValueError(
                f"byte {where:,}: expected {MAGIC!r} of an Arrow file, got {found!r}{hint}"
            )
    length = int.from_bytes(tail[:4], "little", signed=True)
    end = size - TAIL_BYTES
    if not 0 < length <= end - len(MAGIC):
        most = end - len(MAGIC)
        raise ValueError(f"byte {end:,}: expected a footer of 1 to {most:,} bytes, got {length:,}")
    source.seek(end - length)
    footer = read_footer(source.take(length, "a footer"), end - length)
    # Otherwise a small file could list one large message many times.
    for first, second in pairwise(sorted((*footer.dictionaries, *footer.batches))):
        if second.offset < first.offset + first.metadata_length + first.body_length:
            raise ValueError(
                f"byte {second.offset:,}: the message overlaps the one at {first.offset:,} by the "
                "footer"
            )
    return footer


def _next_header(source: Source) -> Header | None:
    """Read the metadata of the next message; return None at the end."""
    metadata = read_message(source)
    if metadata is None:
        return None
    try:
        return read_header(metadata)
    except ValueError as error:
        raise ValueError(f"byte {source.position - len(metadata):,}: {error}") from error
