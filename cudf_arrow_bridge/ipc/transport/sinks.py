# SPDX-License-Identifier: Apache-2.0
"""Destinations of messages: files and their replacement, pipes, sockets, objects with ``write``."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import select
import stat
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from ..._core.ipc.body import ALIGNMENT, IpcBody
from ..._core.ipc.body_transfer import download_to
from ...arrow.options import path_of
from ...cuda.residency import DeviceType
from .framing import Block, frame_metadata
from .sources import check_binary, raw_file_of, wait_for

#: Buffers smaller than this are joined before an object writes them.
SMALL = 4096
#: The maximum number of buffers that are joined.
MANY = 64


class Sink:
    """A destination that messages are written to in sequence.

    `write` writes a buffer, possibly only in part. It returns the number of bytes written, or None:
    nothing if the file is raw, otherwise all.
    """

    def __init__(self, write: Callable[[Any], int | None], file: Any = None) -> None:
        self._write = write
        self._file = file
        #: The number of bytes written since the sink was opened.
        self.position = 0

    def write_message(self, metadata: bytes, body: IpcBody | None, chunk_size: int) -> Block:
        """Write a message; its body starts at a multiple of 64 bytes, and each buffer is padded."""
        offset = self.position
        head = frame_metadata(metadata, offset)
        pieces: list[Any] = [head]
        if body is not None and body.device_type == DeviceType.CPU:
            for buffer in body.buffers(with_absent=False):
                pieces += buffer, bytes(-len(buffer) % ALIGNMENT)
        self.write(*pieces)
        if body is not None and body.device_type != DeviceType.CPU:
            download_to(self.write, body, chunk_size)
        return Block(offset, len(head), self.position - offset - len(head))

    def write(self, *pieces: Any) -> None:
        """Write bytes, such as the end-of-stream marker outside of a message."""
        for rest in _joined([piece for piece in pieces if len(piece)]):
            end = self.position + len(rest)
            while (written := self._write(rest)) != len(rest):
                if written is None and not isinstance(self._file, io.RawIOBase):
                    break
                if not written:
                    if wait_for(self._file, select.POLLOUT):
                        continue
                    raise BlockingIOError(
                        f"byte {self.position:,}: the sink does not block and accepts none of the "
                        f"next {len(rest):,} bytes"
                    )
                if not 0 < written < len(rest):
                    raise OSError(
                        f"byte {self.position:,}: expected a sink that writes 0 to {len(rest):,} "
                        f"bytes, got {written:,}"
                    )
                self.position += written
                rest = memoryview(rest)[written:]
            self.position = end


def _joined(pieces: list[Any]) -> Iterator[Any]:
    """Yield the pieces, with adjacent small ones joined."""
    for start in range(0, len(pieces), MANY):
        some = pieces[start : start + MANY]
        for is_small, group in groupby(some, lambda piece: len(piece) < SMALL):
            if is_small:
                yield b"".join(group)
            else:
                yield from group


@contextlib.contextmanager
def open_sink(sink: Any) -> Iterator[Sink]:
    """Open a path, an fsspec URL, a binary file, a socket, or an object with ``write``.

    It gets the buffers in host memory without copies, except that small buffers are joined. An
    object that keeps a reference to a chunk of device data instead of copying the chunk gets a
    BufferError. Buffered files are flushed. A file at a path or URL is replaced on exit. After an
    error it is unchanged, because the upload is aborted; see also `replace_file`.
    """
    sink = path_of(sink)
    if isinstance(sink, str) and "://" in sink:
        from fsspec.core import url_to_fs

        # A transaction belongs to a filesystem instance. fsspec would reuse a cached instance.
        filesystem, path = url_to_fs(sink, skip_instance_cache=True)
        with filesystem.transaction, filesystem.open(path, "wb") as file:
            yield Sink(file.write)
    elif isinstance(sink, (str, os.PathLike)):
        with replace_file(sink) as file:
            yield Sink(file.write, file)
    elif callable(getattr(sink, "sendall", None)):
        yield Sink(sink.sendall)
    else:
        check_binary(sink, "write", "sink")
        yield Sink(sink.write, sink)
        if raw_file_of(sink) is not None:
            sink.flush()


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
    # Also flush the new directory entry, if the file system supports it.
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
