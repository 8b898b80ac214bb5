# SPDX-License-Identifier: Apache-2.0
"""Where messages come from: memory, files, pipes and sockets, and objects with ``read``.

Lengths in the input may say anything, so nothing is allocated for more than what is known to come;
where that is not known, for not much more than what has come.
"""

from __future__ import annotations

import io
import mmap
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..._core.ipc.body_transfer import BodyUpload, read_fully
from .files import check_binary, follow_descriptor, raw_file_of, socket_descriptor

if TYPE_CHECKING:
    from ..._core.ipc.body_transfer import DeviceMemory
    from ..._core.protocols import Stream

__all__ = ["Source", "is_read_once", "open_source"]

#: Bytes that are allocated at first where nobody knows how many will come.
STEP = 1 << 24


class Source(ABC):
    """Gives bytes one after the other; a context manager.

    Parameters
    ----------
    close
        Called once at the end.

    Attributes
    ----------
    position
        How many bytes stand before the next, from where the source stood when it was opened.
    """

    def __init__(self, close: Callable[[], object]) -> None:
        self._close: Callable[[], object] | None = close
        self.position = 0

    @property
    def size(self) -> int | None:
        """The bytes from where the source stood to its end; None if only reading can tell."""
        return None

    def read_up_to(self, n: int) -> bytes:
        """Read `n` bytes, or fewer at the end."""
        data = bytearray(n)
        return bytes(data[: self._fill(memoryview(data))])

    def read_exact(self, n: int, what: str) -> bytes:
        """Read `n` bytes.

        Parameters
        ----------
        n
            How many.
        what
            What they are, for the error.

        Raises
        ------
        ValueError
            If there are fewer, naming the position and what was expected there.
        """
        return bytes(self.take(n, what))

    def read_into(self, target: Any, what: str = "a body") -> None:
        """Fill writable contiguous memory.

        Raises
        ------
        ValueError
            As for `read_exact`.
        """
        with memoryview(target) as view, view.cast("B") as flat:
            self._check(len(flat), what)
            start = self.position
            found = self._fill(flat)
            if found < len(flat):
                raise _truncated(start, found, len(flat), what)

    def take(self, n: int, what: str = "a body") -> Any:
        """Return `n` bytes by the buffer protocol: of the source's own memory if it has some.

        Raises
        ------
        ValueError
            As for `read_exact`.
        """
        self._check(n, what)
        start = self.position
        memory = _allocate(n if self._end() is not None else min(n, STEP))
        found = self._fill(memory)
        while found == len(memory) < n:
            larger = _allocate(min(n, 2 * found))
            larger[:found] = memory
            memory = larger
            found += self._fill(memory[found:])
        if found < n:
            raise _truncated(start, found, n, what)
        return memory

    def upload(self, n: int, stream: Stream, mr: Any, chunk_size: int) -> DeviceMemory:
        """Read a body of `n` bytes into memory of the current device, through pinned memory.

        Where nobody knows how many will come, they are collected in host memory first.

        Parameters
        ----------
        n
            How many.
        stream
            The CUDA stream that copies are enqueued on.
        mr
            The resource of the memory; None for rmm's current one.
        chunk_size
            The bytes that are copied at a time.

        Raises
        ------
        ValueError
            As for `read_exact`.
        """
        self._check(n, "a body")
        source = self if self._end() is not None else _Memory(memoryview(self.take(n)))
        upload = BodyUpload(n, stream, mr, chunk_size)
        while (piece := upload.next()) is not None:
            size = len(piece)
            source.read_into(piece)
            upload.commit(size)
        return upload.finish()

    def seek(self, position: int) -> None:
        """Go to another position.

        Raises
        ------
        ValueError
            If it is behind the end, or before the beginning.
        io.UnsupportedOperation
            If the source can only be read.
        """
        self._check_open()
        size = self.size
        if size is None:
            raise io.UnsupportedOperation(
                "source: one that can only be read found, one with positions expected"
            )
        if not 0 <= position <= size:
            raise ValueError(f"byte {position:,}: a source of {size:,} bytes found, more expected")
        self._seek(position)
        self.position = position

    def close(self) -> None:
        """End the use of the source; what was taken of it stays."""
        close, self._close = self._close, None
        if close is not None:
            close()

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _fill(self, view: memoryview) -> int:
        """Read into memory until it is full, or the source at its end; return how many bytes."""
        self._check_open()
        count = self._read(view)
        self.position += count
        return count

    def _check_open(self) -> None:
        # The system may have given its descriptor to another file.
        if self._close is None:
            raise ValueError("source: a closed one found, an open one expected")

    def _check(self, n: int, what: str) -> None:
        end = self._end()
        if end is not None and n > end - self.position:
            raise _truncated(self.position, max(end - self.position, 0), n, what)

    def _end(self) -> int | None:
        """Return `size` if it is known without going there."""
        return self.size

    @abstractmethod
    def _read(self, view: memoryview) -> int: ...

    @abstractmethod
    def _seek(self, position: int) -> None: ...


def _allocate(size: int) -> memoryview:
    """Make host memory of pyarrow's pool, aligned to 64 bytes; large blocks are used again."""
    # An empty view cannot be cast.
    return memoryview(pa.allocate_buffer(max(size, 1))).cast("B")[:size]


def _truncated(position: int, found: int, n: int, what: str) -> ValueError:
    return ValueError(f"byte {position:,}: {found:,} bytes found, {what} of {n:,} bytes expected")


class _Memory(Source):
    """Host memory, which is not copied."""

    def __init__(self, memory: memoryview, close: Callable[[int], object] = lambda end: None):
        super().__init__(lambda: close(self.position))
        self._memory = memory.cast("B")

    @property
    def size(self) -> int:
        return len(self._memory)

    def take(self, n: int, what: str = "a body") -> memoryview:
        self._check(n, what)
        start = self.position
        self.position += n
        return self._memory[start : start + n]

    def close(self) -> None:
        super().close()
        self._memory = memoryview(b"")  # its owner may be closed, too

    def _read(self, view: memoryview) -> int:
        rest = self._memory[self.position : self.position + len(view)]
        view[: len(rest)] = rest
        return len(rest)

    def _seek(self, position: int) -> None: ...


class _Descriptor(Source):
    """A file, pipe or socket, from which the system reads to where the bytes are to lie."""

    def __init__(self, fd: int, close: Callable[[], object]) -> None:
        super().__init__(close)
        self._fd = fd
        is_regular = stat.S_ISREG(os.fstat(fd).st_mode)
        self._origin = os.lseek(fd, 0, os.SEEK_CUR) if is_regular else None

    @property
    def size(self) -> int | None:
        if self._origin is None:
            return None
        return max(os.fstat(self._fd).st_size - self._origin, 0)

    def _read(self, view: memoryview) -> int:
        return read_fully(self._fd, view)

    def _seek(self, position: int) -> None:
        assert self._origin is not None
        os.lseek(self._fd, self._origin + position, os.SEEK_SET)


class _Reader(Source):
    """An object that fills memory, maybe in parts."""

    def __init__(self, read_into: Callable[[memoryview], int | None], file: Any) -> None:
        super().__init__(lambda: None)
        self._read_some = read_into
        self._file = file
        self._known_size: int | None = None

    @property
    def size(self) -> int | None:
        if self._known_size is None and getattr(self._file, "seekable", bool)():
            here = self._file.tell()
            self._file.seek(0, os.SEEK_END)
            self._known_size = self._file.tell() - here + self.position
            self._file.seek(here)
        return self._known_size

    def _end(self) -> int | None:
        # Compressed files are read to the end for their size.
        return self._known_size

    def _read(self, view: memoryview) -> int:
        done = 0
        while done < len(view):
            with view[done:] as rest:
                count = self._read_some(rest)
            if count is None:
                raise BlockingIOError(
                    f"byte {self.position + done:,}: a source that has no bytes yet found, one "
                    "that waits for them expected"
                )
            if count == 0:
                break
            done += count
        return done

    def _seek(self, position: int) -> None:
        self._file.seek(position - self.position, os.SEEK_CUR)


def _read_into(file: Any, view: memoryview) -> int | None:
    """Fill memory from a file that has ``read`` alone."""
    data = file.read(len(view))
    if data is None:
        return None
    view[: len(data)] = data
    return len(data)


def open_source(source: Any, memory_map: bool = False) -> Source:
    """Open what messages are read from.

    Parameters
    ----------
    source
        A path, contiguous host memory with the buffer protocol, a binary file, a socket, or an
        object with ``readinto`` or ``read``. Of memory, also that of ``io.BytesIO`` and of
        pyarrow's readers of buffers and maps, slices are taken. Files of the system, and sockets
        without a timeout, are read by their descriptor, and the file's position follows in the end.
    memory_map
        Whether a file given by its path is mapped to memory, of which slices are taken; it must not
        shrink while these are used.

    Raises
    ------
    TypeError
        If it is none of these, or a text file.
    """
    if isinstance(source, (str, os.PathLike)):
        return _open_path(source, memory_map)
    if type(source) is io.BytesIO:
        # The object that it holds itself, which is copied if somebody writes to it.
        start = source.tell()
        return _Memory(memoryview(source.getvalue())[start:], lambda end: source.seek(start + end))
    if isinstance(source, (pa.BufferReader, pa.MemoryMappedFile)):
        start = source.tell()
        return _Memory(memoryview(source.read_buffer()), lambda end: source.seek(start + end))
    if _has_buffer(source):
        return _Memory(memoryview(pa.py_buffer(source)))
    fd = socket_descriptor(source)
    if fd is not None:
        return _Descriptor(fd, lambda: None)
    if callable(getattr(source, "recv_into", None)):
        return _Reader(source.recv_into, source)
    if callable(getattr(source, "readinto", None)):
        return _open_file(source)
    check_binary(source, "read", "source")
    return _Reader(lambda view: _read_into(source, view), source)


def is_read_once(source: Any) -> bool:
    """Say whether a source moves on while it is read, rather than being opened from the start."""
    return not (isinstance(source, (str, os.PathLike)) or _has_buffer(source))


def _has_buffer(source: Any) -> bool:
    try:
        memoryview(source)
    except (TypeError, BufferError):
        return False
    return True


def _open_path(path: str | os.PathLike[str], memory_map: bool) -> Source:
    file = open(os.path.expanduser(path), "rb", buffering=0)  # noqa: SIM115  # closed by the source
    if not memory_map:
        return _Descriptor(file.fileno(), file.close)
    with file:
        if os.fstat(file.fileno()).st_size == 0:  # cannot be mapped
            return _Memory(memoryview(b""))
        return _Memory(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def _open_file(file: Any) -> Source:
    raw = raw_file_of(file)
    if raw is None or (raw is not file and not raw.seekable()):
        return _Reader(file.readinto, file)
    if raw is not file:
        # What is buffered is read once more.
        file.flush()
        raw.seek(file.tell())
    return _Descriptor(raw.fileno(), lambda: follow_descriptor(file, raw))
