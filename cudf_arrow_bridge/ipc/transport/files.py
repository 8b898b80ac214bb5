# SPDX-License-Identifier: Apache-2.0
"""Files of the system: which objects are some, and files that are replaced as a whole."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from typing import Any

__all__ = [
    "check_binary",
    "follow_descriptor",
    "raw_file_of",
    "replace_file",
    "socket_descriptor",
    "upload_file",
]

# Exactly these: a subclass may do something else with what is read and written.
_BUFFERED = (io.BufferedWriter, io.BufferedReader, io.BufferedRandom)


def raw_file_of(file: Any) -> io.FileIO | None:
    """Return the file of the system that a file object is, or is a buffer of; else None.

    Compressed files and members of archives have a ``fileno()`` too, but their bytes are others.
    """
    raw = file.raw if type(file) in _BUFFERED else file
    return raw if type(raw) is io.FileIO else None


def socket_descriptor(file: Any) -> int | None:
    """Return the descriptor of a socket without a timeout, which only Python knows of; else None.

    Sockets of other classes, such as those of TLS, may change what is sent.
    """
    if type(file) is socket.socket and file.gettimeout() is None:
        return file.fileno()
    return None


def check_binary(file: Any, method: str, what: str) -> None:
    """Raise TypeError unless an object is a binary file with a method."""
    if isinstance(file, io.TextIOBase):
        raise TypeError(f"{what}: a text file found, a binary one expected")
    if not callable(getattr(file, method, None)):
        raise TypeError(
            f"{what}: an object of type {type(file).__name__} found, a path, a binary file, a "
            f"socket, or an object with {method}() expected"
        )


def follow_descriptor(file: Any, raw: io.FileIO) -> None:
    """Have a file, with the buffer that it may have, see where its descriptor stands now."""
    if file is not raw and not file.closed and raw.seekable():
        # Only a seek from the end asks the system whatever the buffer holds.
        position = raw.tell()
        file.seek(0, os.SEEK_END)
        file.seek(position)


@contextlib.contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[int]:
    """Give a descriptor to write a file to, which replaces the one at the path at the end.

    The file is written under another name in the same folder, flushed to the disk and renamed, so
    that the path has the old content or the new, and readers of the old file keep it. An error
    leaves the old file. The new file has the mode, and if possible the owner, of the old one. Links
    are followed. What is no regular file is written to as it is.

    Parameters
    ----------
    path
        The path; a leading ``~`` is the home folder.

    Raises
    ------
    OSError
        If the folder or an old file cannot be written to, or the system takes no more.
    """
    path = os.path.realpath(os.path.expanduser(path))
    old = None
    with contextlib.suppress(FileNotFoundError):
        file = open(path, "wb", buffering=0, opener=_open_without_truncation)  # noqa: SIM115
        old = os.fstat(file.fileno())
    if old is not None:
        with file:
            if not stat.S_ISREG(old.st_mode):
                yield file.fileno()
                return
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb", buffering=0) as file:
            if old is not None:
                with contextlib.suppress(PermissionError):
                    os.chown(file.fileno(), old.st_uid, old.st_gid)
                os.chmod(file.fileno(), stat.S_IMODE(old.st_mode))
            yield file.fileno()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _flush_folder(folder)


@contextlib.contextmanager
def upload_file(url: str) -> Iterator[Any]:
    """Give a file of fsspec to write to, which is there under its URL at the end.

    An error leaves what was there: the upload is aborted.
    """
    from fsspec.core import url_to_fs

    # A transaction belongs to a filesystem object, which fsspec would share.
    filesystem, path = url_to_fs(url, skip_instance_cache=True)
    with filesystem.transaction, filesystem.open(path, "wb") as file:
        yield file


def _open_without_truncation(path: str, flags: int) -> int:
    return os.open(path, os.O_WRONLY)


def _flush_folder(folder: str) -> None:
    """Flush a new name to the disk, where the file system can do so for folders."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
