# SPDX-License-Identifier: Apache-2.0
"""Detection, reading, writing and atomic replacement of operating system files."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import select
import socket
import stat
from collections.abc import Iterator, Sequence
from typing import Any

# Exactly these classes: a subclass may change the bytes that it reads and writes.
_BUFFERED = (io.BufferedWriter, io.BufferedReader, io.BufferedRandom)
#: The maximum number of buffers of a system call.
_MAX_PIECES = os.sysconf("SC_IOV_MAX")


def raw_file_of(file: Any) -> io.FileIO | None:
    """Return the ``FileIO`` that a file object is or buffers; None for other objects.

    Compressed files and archive members also have ``fileno()``, but yield different bytes.
    """
    raw = file.raw if type(file) in _BUFFERED else file
    return raw if type(raw) is io.FileIO else None


def socket_descriptor(file: Any) -> int | None:
    """Return the descriptor of a socket without a timeout; None for other objects.

    Python implements the timeout itself, so the descriptor does not have it. Subclasses, such as
    TLS sockets, may change the bytes that they send.
    """
    if type(file) is socket.socket and file.gettimeout() is None:
        return file.fileno()
    return None


def check_binary(file: Any, method: str, what: str) -> None:
    """Raise TypeError unless an object is a binary file with the given method."""
    if isinstance(file, io.TextIOBase):
        raise TypeError(f"{what}: the file is a text file: open it in binary mode")
    if not callable(getattr(file, method, None)):
        raise TypeError(
            f"{what}: expected a path, a binary file, a socket, or an object with "
            f"{method}(), got an object of type {type(file).__name__}"
        )


def read_some(fd: int, view: memoryview) -> int:
    """Fill the beginning of writable memory from a descriptor; return 0 only at the end.

    A descriptor that does not block is waited for.
    """
    while True:
        try:
            return os.readv(fd, [view])
        except BlockingIOError:
            _wait(fd, select.POLLIN)


def write_all(fd: int, pieces: Sequence[Any]) -> None:
    """Write buffers to a descriptor, many with each system call.

    A descriptor that does not block is waited for.
    """
    for start in range(0, len(pieces), _MAX_PIECES):
        rest = pieces[start : start + _MAX_PIECES]
        while size := sum(map(len, rest)):
            try:
                written = os.writev(fd, rest)
            except BlockingIOError:
                _wait(fd, select.POLLOUT)
                continue
            rest = [] if written == size else _without_start(rest, written)


def _without_start(pieces: Sequence[Any], size: int) -> Sequence[Any]:
    """Return buffers without their first bytes."""
    first = 0
    while size >= len(pieces[first]):
        size -= len(pieces[first])
        first += 1
    return [memoryview(pieces[first])[size:], *pieces[first + 1 :]]


def _wait(fd: int, event: int) -> None:
    poll = select.poll()
    poll.register(fd, event)
    poll.poll()


def follow_descriptor(file: Any, raw: io.FileIO) -> None:
    """Set the position of a buffered file object to that of its descriptor."""
    if file is not raw and not file.closed and raw.seekable():
        # Only a seek from the end makes the system call even if the buffer contains the target.
        position = raw.tell()
        file.seek(0, os.SEEK_END)
        file.seek(position)


@contextlib.contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[int]:
    """Yield the descriptor of a new file that replaces the file at `path` on exit.

    The new file is written to a temporary name in the same directory, flushed to disk and renamed.
    The path therefore has either the old or the new content, and readers of the old file keep it.
    After an error the old file stays. If the process is killed, the temporary file stays too. The
    new file gets the permissions and, if permitted, the owner of the old file, but not its setuid
    and setgid bits. Symbolic links and a leading ``~`` are followed. A path that is not a regular
    file is written to directly.
    """
    given = os.fspath(path)
    path = os.path.realpath(os.path.expanduser(path))
    old = None
    with contextlib.suppress(FileNotFoundError):
        file = open(os.open(path, os.O_WRONLY), "wb", buffering=0)  # noqa: SIM115
        old = os.fstat(file.fileno())
    if old is not None:
        with file:
            if not stat.S_ISREG(old.st_mode):
                yield file.fileno()
                return
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.tmp")
    try:
        # Users who may not read the old file must not be able to read the new one.
        new = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if old else 0o666)
        with open(new, "wb", buffering=0) as file:
            if old is not None:
                with contextlib.suppress(PermissionError):
                    os.chown(new, old.st_uid, old.st_gid)
                os.fchmod(new, old.st_mode & 0o777)
            yield file.fileno()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename == temporary:
            raise OSError(error.errno, error.strerror, given) from None
        raise
    _flush_folder(folder)


@contextlib.contextmanager
def upload_file(url: str) -> Iterator[Any]:
    """Yield an fsspec file that replaces the object at the URL on exit.

    An error aborts the upload, and the old object stays.
    """
    from fsspec.core import url_to_fs

    # A transaction belongs to a filesystem instance. fsspec would reuse a cached instance.
    filesystem, path = url_to_fs(url, skip_instance_cache=True)
    with filesystem.transaction, filesystem.open(path, "wb") as file:
        yield file


def _flush_folder(folder: str) -> None:
    """Flush a new directory entry to disk, if the file system supports fsync of directories."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
