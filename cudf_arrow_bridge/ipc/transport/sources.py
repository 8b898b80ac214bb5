# SPDX-License-Identifier: Apache-2.0
"""Sources of messages: memory, files, pipes, sockets, and objects with ``read``.

Lengths in the input are not trusted. An allocation is never larger than the known size of the
source. If that size is unknown, it is at most a small multiple of the bytes received so far.
"""

from __future__ import annotations

import io
import os
import select
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pyarrow as pa

from ..._core.ipc.body_transfer import DeviceMemory, upload_from, upload_memory
from ..._core.protocols import Stream
from ...arrow.errors import check_process
from ...arrow.options import path_of

# Exactly these classes: a subclass may change the bytes that it reads and writes.
_BUFFERED = (io.BufferedWriter, io.BufferedReader, io.BufferedRandom)
#: The size in bytes of the first allocation if the size of the source is unknown.
STEP = 1 << 24


class Source(AbstractContextManager["Source"]):
    """A sequence of bytes to read; a context manager.

    Parameters
    ----------
    file
        The object to read from, whose position is that of the source.
    read
        Fills the beginning of memory. Returns the number of bytes, 0 at the end, and None if there
        are no bytes yet.
    close
        Called once, when the source is closed.
    """

    def __init__(
        self,
        file: Any = None,
        read: Callable[[memoryview], int | None] = lambda view: 0,
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self._file = file
        self._read_some = read
        self._close: Callable[[], object] | None = close
        #: The position of the next byte, relative to the position when the source was opened.
        self.position = 0
        self._known_size: int | None = None
        self._process = os.getpid()

    #: Whether reads do not use the position of `file`, so that a fork of the process can read on
    #: without moving the file of its parent.
    survives_fork = False
    #: Whether `take` returns slices of existing memory instead of reading.
    is_memory = False

    @property
    def size(self) -> int | None:
        """The number of bytes from position 0 to the end; None if only reading can determine it."""
        if self._end() is None and getattr(self._file, "seekable", bool)():
            here = self._file.tell()
            self._file.seek(0, os.SEEK_END)
            self._known_size = self._file.tell() - here + self.position
            self._file.seek(here)
        return self._end()

    def read_up_to(self, n: int) -> bytes:
        """Read `n` bytes, or fewer at the end."""
        data = bytearray(n)
        return bytes(data[: self._fill(memoryview(data))])

    def read_into(self, target: Any, what: str = "a body") -> None:
        """Fill writable contiguous memory; raise ValueError as `take` does."""
        with memoryview(target) as view, view.cast("B") as flat:
            self._check(len(flat), what)
            start = self.position
            found = self._fill(flat)
            if found < len(flat):
                raise _truncated(start, found, len(flat), what)

    def take(self, n: int, what: str = "a body") -> Any:
        """Return a buffer of `n` bytes, a slice of the memory of the source if `is_memory`.

        Raise ValueError with the name of the data if the source ends before.
        """
        self._check(n, what)
        start = self.position
        memory = _allocate(n if n <= STEP or self._end() is not None else STEP)
        found = self._fill(memory)
        while found == len(memory) < n:
            larger = _allocate(min(n, 2 * found))
            copy_bytes(larger[:found], memory)
            memory = larger
            found += self._fill(memory[found:])
        if found < n:
            raise _truncated(start, found, n, what)
        return memory

    def upload(self, n: int, stream: Stream, mr: Any, chunk_size: int) -> DeviceMemory:
        """Read a body of `n` bytes into memory of the current device, through pinned memory.

        If the size of the source is unknown, the body is collected in host memory first. Raise
        ValueError as `take` does.
        """
        self._check(n, "a body")
        if self.is_memory or self._end() is None:
            return upload_memory(self.take(n), stream, mr, chunk_size)
        return upload_from(self.read_into, n, stream, mr, chunk_size)

    def seek(self, position: int) -> None:
        """Set the position; raise ValueError if it is negative or past the end."""
        self._check_open()
        size = self.size
        if size is None:
            raise io.UnsupportedOperation("the source cannot seek")
        if not 0 <= position <= size:
            raise ValueError(f"byte {position:,}: the source has only {size:,} bytes")
        if not self.survives_fork:
            self._file.seek(position - self.position, os.SEEK_CUR)
        self.position = position

    def close(self) -> None:
        """Close the source. Memory that `take` returned stays valid."""
        close, self._close = self._close, None
        if close is not None:
            close()

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _fill(self, view: memoryview) -> int:
        """Read until `view` is full or the source ends; return the number of bytes read."""
        self._check_open()
        if not self.survives_fork:
            check_process(self._process)
        start = self.position
        while rest := view[self.position - start :]:
            count = self._read(rest)
            if count is None:
                if wait_for(self._file, select.POLLIN):
                    continue
                raise BlockingIOError(
                    f"byte {self.position:,}: the source does not block and has no bytes yet"
                )
            if not 0 <= count <= len(rest):
                raise OSError(
                    f"byte {self.position:,}: expected a source that returns 0 to {len(rest):,} "
                    f"bytes, got {count:,}"
                )
            if count == 0:
                break
            self.position += count
        return self.position - start

    def _check_open(self) -> None:
        # After closing, the operating system may reuse the descriptor for another file.
        if self._close is None:
            raise ValueError("the source is closed")

    def _check(self, n: int, what: str) -> None:
        end = self._end()
        if end is not None and n > end - self.position:
            raise _truncated(self.position, max(end - self.position, 0), n, what)

    def _end(self) -> int | None:
        """Return `size` if it is known without seeking to the end, otherwise None."""
        # Seeking to the end of a compressed file reads all of it.
        return self._known_size

    def _read(self, view: memoryview) -> int | None:
        """Fill the beginning of memory; see `__init__`."""
        return self._read_some(view)


def copy_bytes(target: memoryview, source: memoryview) -> None:
    """Copy memory of one size without the GIL, which an assignment to a slice would hold."""
    np.copyto(np.asarray(target), np.asarray(source))


def _allocate(size: int) -> memoryview:
    """Allocate host memory from pyarrow's pool, aligned to 64 bytes; it reuses large blocks."""
    # An empty memoryview cannot be cast.
    return memoryview(pa.allocate_buffer(max(size, 1))).cast("B")[:size]


def _truncated(position: int, found: int, n: int, what: str) -> ValueError:
    return ValueError(f"byte {position:,}: expected {what} of {n:,} bytes, got {found:,} bytes")


class _Memory(Source):
    """Host memory; `take` does not copy it."""

    survives_fork = is_memory = True

    def __init__(self, memory: memoryview, close: Callable[[int], object] = lambda end: None):
        super().__init__(close=lambda: close(self.position))
        self._memory = memory.cast("B")
        self._known_size = len(self._memory)

    def take(self, n: int, what: str = "a body") -> memoryview:
        self._check(n, what)
        start = self.position
        self.position = start + n
        return self._memory[start : self.position]

    def close(self) -> None:
        super().close()
        self._memory = memoryview(b"")  # drop the reference, so that the owner can be closed too
        self._known_size = 0

    def _read(self, view: memoryview) -> int:
        rest = self._memory[self.position : self.position + len(view)]
        copy_bytes(view[: len(rest)], rest)
        return len(rest)


class _RegularFile(Source):
    """A regular file, read at positions, because forks of the process share its position.

    `file` has the position, and may buffer the raw file.
    """

    survives_fork = True

    def __init__(self, raw: io.FileIO, file: Any, close: Callable[[], object]) -> None:
        # The caller may close the file, and another file may get the same descriptor.
        self._raw = raw
        self._origin: int = file.tell()
        super().__init__(file, close=close)

    def close(self) -> None:
        is_mine = self._close is not None and os.getpid() == self._process
        if is_mine and not self._file.closed:
            self._file.seek(self._origin + self.position)
        super().close()

    def _end(self) -> int:
        return max(os.fstat(self._raw.fileno()).st_size - self._origin, 0)

    def _read(self, view: memoryview) -> int:
        return os.preadv(self._raw.fileno(), [view], self._origin + self.position)


def _read_into(file: Any, view: memoryview) -> int | None:
    """Fill memory from an object that has ``read`` but no ``readinto``."""
    data = file.read(len(view))
    if data is None:
        return None
    if len(data) <= len(view):
        copy_bytes(view[: len(data)], memoryview(data).cast("B"))
    return len(data)


def open_source(source: Any, memory_map: bool = False) -> Source:
    """Open a path, host memory, a binary file, a socket, or an object to read from.

    Such an object has ``readinto`` or ``read``. Memory is not copied, including that of
    ``io.BytesIO``, ``pa.BufferReader`` and ``pa.MemoryMappedFile``. Regular files are read at
    positions; closing the source updates the position of the file object. A file that is
    memory-mapped must not shrink while slices of the mapping are in use.
    """
    if _has_buffer(source):
        return _Memory(memoryview(pa.py_buffer(source)))
    if isinstance(source, (str, os.PathLike)):
        path = os.path.expanduser(path_of(source))
        if memory_map:
            return open_source(pa.memory_map(os.fsencode(path)))
        file = open(path, "rb", buffering=0)  # noqa: SIM115  # closed by the source
        return _open_file(file, file.close)
    is_bytes_io = type(source) is io.BytesIO
    if is_bytes_io or isinstance(source, (pa.BufferReader, pa.MemoryMappedFile)):
        start = source.tell()
        # getvalue returns the bytes object that BytesIO holds. A later write to it makes a copy.
        memory = memoryview(source.getvalue())[start:] if is_bytes_io else source.read_buffer()
        return _Memory(memoryview(memory), lambda end: source.closed or source.seek(start + end))
    if callable(getattr(source, "recv_into", None)):
        return Source(source, source.recv_into)
    if callable(getattr(source, "readinto", None)):
        return _open_file(source)
    check_binary(source, "read", "source")
    return Source(source, lambda view: _read_into(source, view))


def is_read_once(source: Any) -> bool:
    """Return whether reading advances the source, so that it cannot be read again."""
    return not (_has_buffer(source) or isinstance(source, (str, os.PathLike)))


def _has_buffer(source: Any) -> bool:
    try:
        memoryview(source)
    except (TypeError, BufferError):
        return False
    return True


def _open_file(file: Any, close: Callable[[], object] = lambda: None) -> Source:
    raw = raw_file_of(file)
    if raw is None or not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        return Source(file, file.readinto, close)
    if raw is not file:
        file.flush()
    return _RegularFile(raw, file, close)


def raw_file_of(file: Any) -> io.FileIO | None:
    """Return the ``FileIO`` that a file object is or buffers; None for other objects.

    Compressed files and archive members also have ``fileno()``, but yield different bytes.
    """
    raw = file.raw if type(file) in _BUFFERED else file
    return raw if type(raw) is io.FileIO else None


def wait_for(file: Any, event: int) -> bool:
    """Wait for an event of a raw file that does not block; return False for other objects."""
    if type(file) is not io.FileIO:
        return False
    poll = select.poll()
    poll.register(file, event)
    poll.poll()
    return True


def check_binary(file: Any, method: str, what: str) -> None:
    """Raise TypeError unless an object is a binary file with the given method."""
    if isinstance(file, io.TextIOBase):
        raise TypeError(f"{what}: the file is a text file: open it in binary mode")
    if not callable(getattr(file, method, None)):
        raise TypeError(
            f"{what}: expected a path, a binary file, a socket, or an object with "
            f"{method}(), got an object of type {type(file).__name__}"
        )
