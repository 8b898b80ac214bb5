# SPDX-License-Identifier: Apache-2.0
"""Detection and atomic replacement of operating system files."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import stat
from collections.abc import Iterator
from typing import Any

# Exactly these classes: a subclass may change the bytes that it reads and writes.
_BUFFERED = (io.BufferedWriter, io.BufferedReader, io.BufferedRandom)


def raw_file_of(file: Any) -> io.FileIO | None:
    """Return the ``FileIO`` that a file object is or buffers; None for other objects.

    Compressed files and archive members also have ``fileno()``, but yield different bytes.
    """
    raw = file.raw if type(file) in _BUFFERED else file
    return raw if type(raw) is io.FileIO else None


def check_binary(file: Any, method: str, what: str) -> None:
    """Raise TypeError unless an object is a binary file with the given method."""
    if isinstance(file, io.TextIOBase):
        raise TypeError(f"{what}: the file is a text file: open it in binary mode")
    if not callable(getattr(file, method, None)):
        raise TypeError(
            f"{what}: expected a path, a binary file, a socket, or an object with "
            f"{method}(), got an object of type {type(file).__name__}"
        )


@contextlib.contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[io.FileIO]:
    """Yield a new file that replaces the file at `path` on exit.

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
                yield file
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
            yield file
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename == temporary:
            raise OSError(error.errno, error.strerror, given) from None
        raise


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
