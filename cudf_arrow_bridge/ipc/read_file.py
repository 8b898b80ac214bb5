# SPDX-License-Identifier: Apache-2.0
"""`open_file`: a file of Arrow IPC, whose batches are read in any order."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any, Literal, overload

import pyarrow as pa

from ..arrow.device_array import DeviceArray
from ..arrow.device_array_stream import DeviceArrayStream
from ..cuda.residency import DeviceType
from ..cuda.streams import resolve_stream
from .decoder import Checks, DecodeOptions, MessageDecoder, Received
from .landing import Landing
from .metadata.footer import Footer, read_footer
from .metadata.headers import HEADERS, Header
from .passes import MessagePasses, exporter_of
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

#: What follows the footer: its length, and what files end with.
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
) -> DeviceArrayFile:
    """Open a file of Arrow IPC, also known as Feather 2; reads the footer alone.

    Parameters
    ----------
    source
        A path, an object with the buffer protocol, a ``pyarrow.Buffer``, or a binary file that can
        seek.
    stream, mr, device_type, validate, memory_map, chunk_size : optional
        See `open_stream`.

    Returns
    -------
    DeviceArrayFile
        The record batches, by index and as a stream; each is read when it is asked for. The file
        stays open until it is released.

    Raises
    ------
    TypeError, ValueError
        As `from_messages`; also if it is no such file.

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
    landing = Landing.of(device_type, c_stream, mr, check_chunk_size(chunk_size))
    options = DecodeOptions(c_stream, validate, mr)
    opened = open_source(source, memory_map)
    try:
        return DeviceArrayFile(_FileReader(opened, landing), options)
    except BaseException:
        opened.close()
        raise


def file_headers(source: Any) -> tuple[pa.Schema, list[Header]]:
    """Return the schema of a file, and what the metadata of each batch says; no body is read.

    Parameters
    ----------
    source
        As for `open_file`.

    Raises
    ------
    TypeError, ValueError
        If it is no such file. Types that cuDF does not have are no error.
    """
    with open_source(source) as opened:
        footer = _read_footer(opened)
        headers = [_header_at(block, opened) for block in footer.batches]
        return footer.schema.schema, headers


class DeviceArrayFile(DeviceArrayStream):
    """The record batches of a file; a stream that can be consumed any number of times.

    ``len(file)`` is how many there are, ``file[i]`` reads one of them, ``file[i:j]`` a list.
    """

    def __init__(self, reader: _FileReader, options: DecodeOptions) -> None:
        self._reader = reader
        self._decoder = MessageDecoder(reader.footer.schema, options)
        self._dictionary_lock = Lock()
        self._has_dictionaries = False
        passes = MessagePasses(lambda: (self._decoder, self._batches()), options)
        super().__init__(passes, exporter_of(options))

    def _batches(self) -> Iterator[Received]:
        self._read_dictionaries()
        yield from self._reader.batches()

    def _read_dictionaries(self) -> None:
        """Read all dictionaries, once.

        A file does not replace dictionaries: those of any batch begin as those of the last one do.
        """
        with self._dictionary_lock:
            if not self._has_dictionaries:
                for message in self._reader.dictionaries():
                    self._decoder.read(message)
                self._has_dictionaries = True

    @property
    def num_rows(self) -> int:
        """The rows of all batches, by their metadata: no body is read."""
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
            raise TypeError(f"{index!r} found, the number of a batch expected: file[0][{index!r}]")
        if self.is_released:
            raise ValueError("a file that was released found, one with batches expected")
        batches = self._reader.footer.batches
        if not -len(batches) <= index < len(batches):
            raise IndexError(f"batch {index} found, one of {len(batches)} expected")
        self._read_dictionaries()
        batch = self._decoder.read(self._reader.read(batches[index]))
        if batch is None:
            raise ValueError(f"batch {index}: a dictionary found, a record batch expected")
        return batch

    def release(self) -> None:
        """Close the file; batches stay. May be repeated."""
        super().release()
        self._reader.close()


class _FileReader:
    """Reads messages where a footer says they are; for any number of threads."""

    def __init__(self, source: Source, landing: Landing) -> None:
        self._source = source
        self._landing = landing
        self._lock = Lock()
        self.footer = _read_footer(source)

    def dictionaries(self) -> Iterator[Received]:
        return map(self.read, self.footer.dictionaries)

    def batches(self) -> Iterator[Received]:
        return map(self.read, self.footer.batches)

    def headers(self) -> Iterator[Header]:
        """Give what the metadata of each batch says; no body is read."""
        for block in self.footer.batches:
            with self._lock:
                yield _header_at(block, self._source)

    def read(self, block: Block) -> Received:
        with self._lock:
            header = _header_at(block, self._source)
            return self._landing.receive(header, self._source)

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
            f"byte {block.offset:,}: no batch with {block.metadata_length:,} bytes of metadata "
            "found, one expected as the footer says"
        )
    if header.body_length != block.body_length:
        raise ValueError(
            f"byte {block.offset:,}: a body of {header.body_length:,} bytes found, "
            f"{block.body_length:,} expected as the footer says"
        )
    return header


def _read_footer(source: Source) -> Footer:
    size = source.size
    if size is None:
        raise TypeError("a source that can only be read found, a file that can seek expected")
    if size < len(MAGIC) + TAIL_BYTES:
        raise ValueError(f"{size} bytes found, an Arrow file expected")
    source.seek(0)
    head = source.read_exact(len(MAGIC), "the beginning of a file")
    source.seek(size - TAIL_BYTES)
    tail = source.read_exact(TAIL_BYTES, "the end of a file")
    for where, found in ((0, head), (size - len(MAGIC), tail[4:])):
        if found != MAGIC:
            hint = ": open_stream reads streams" if head[:4] == CONTINUATION else ""
            raise ValueError(
                f"byte {where:,}: {found!r} found, {MAGIC!r} of an Arrow file expected{hint}"
            )
    length = int.from_bytes(tail[:4], "little", signed=True)
    end = size - TAIL_BYTES
    if not 0 < length <= end - len(MAGIC):
        raise ValueError(f"byte {end:,}: a footer of {length:,} bytes found, less expected")
    source.seek(end - length)
    return read_footer(source.read_exact(length, "a footer"), end - length)
