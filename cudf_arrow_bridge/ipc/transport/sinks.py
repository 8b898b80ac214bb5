# SPDX-License-Identifier: Apache-2.0
"""Where messages go: files, pipes and sockets by their descriptors, and objects with ``write``."""

from __future__ import annotations

import contextlib
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..._core.ipc.body import BodyBuffer, IpcBody
from ..._core.ipc.body_transfer import BodyDownload, host_body, write_body
from ...cuda.residency import DeviceType
from .files import (
    check_binary,
    follow_descriptor,
    raw_file_of,
    replace_file,
    socket_descriptor,
    upload_file,
)
from .framing import Block, frame_metadata

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["Sink", "open_sink"]

#: Pieces of fewer bytes are joined before they are written to an object with ``write``.
SMALL = 4096
#: How many bytes are joined before they are written.
JOINED = 65536
#: Of what there is no body of, nothing is copied.
_NO_CHUNK = 1


class Sink(ABC):
    """Takes messages one after the other.

    Attributes
    ----------
    position
        The bytes written, from where the sink stood when it was opened.
    """

    def __init__(self) -> None:
        self.position = 0

    def write_message(
        self,
        metadata: bytes,
        body: IpcBody | Sequence[ReadableBuffer] | None,
        chunk_size: int,
    ) -> Block:
        """Write a message whose body begins at a multiple of 64 bytes.

        Parameters
        ----------
        metadata
            The flatbuffer of the message.
        body
            Its body, or the buffers of one that lie in host memory; each is padded to 64 bytes.
        chunk_size
            The bytes of device memory that are copied at a time.

        Returns
        -------
        Block
            Where it lies.
        """
        described = body if isinstance(body, IpcBody) else host_body(body or ())
        offset = self.position
        head = frame_metadata(metadata, offset)
        size = described.packed_size
        self._write(described, head, chunk_size)
        self.position += len(head) + size
        return Block(offset, len(head), size)

    def write(self, data: bytes) -> None:
        """Write bytes that are no message, such as the end of a stream."""
        self._write(host_body(()), data, _NO_CHUNK)
        self.position += len(data)

    @abstractmethod
    def _write(self, body: IpcBody, head: bytes, chunk_size: int) -> None: ...


class _Descriptor(Sink):
    """A file, pipe or socket, to which the system writes the buffers from where they lie."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd

    def _write(self, body: IpcBody, head: bytes, chunk_size: int) -> None:
        write_body(body, head, self._fd, chunk_size)


class _Writer(Sink):
    """An object that is given pieces of memory, which it may take in parts.

    Parameters
    ----------
    write
        Writes a piece, and returns how much of it.
    is_raw
        Whether None means that nothing was written, not all.
    """

    def __init__(self, write: Callable[[Any], int | None], is_raw: bool) -> None:
        super().__init__()
        self._write_some = write
        self._is_raw = is_raw

    def _write(self, body: IpcBody, head: bytes, chunk_size: int) -> None:
        if body.device_type == DeviceType.CPU:
            first: int | None = 0
            while first is not None:
                pieces, first = body.pieces(first, head, SMALL, JOINED)
                for piece in pieces:
                    self._write_all(piece)
                head = b""
            return
        self._write_all(head)
        for chunk in BodyDownload(body, chunk_size):
            self._write_all(chunk)

    def _write_all(self, data: bytes | BodyBuffer | memoryview) -> None:
        written = self._write_some(data)
        rest: Any = data
        while written != len(rest):
            if written is None and not self._is_raw:
                return
            if not written:
                raise BlockingIOError(
                    f"byte {self.position:,}: a sink that takes no more found, one that takes "
                    f"{len(rest):,} bytes expected"
                )
            rest = memoryview(rest)[written:]
            written = self._write_some(rest)


@contextlib.contextmanager
def open_sink(sink: Any) -> Iterator[Sink]:
    """Open what messages are written to.

    Parameters
    ----------
    sink
        A path, a URL of fsspec, a binary file, a socket, or an object with ``write``. Files of the
        system, and sockets without a timeout, are written to by their descriptor: what Python has
        buffered goes before, and the file's position follows in the end. Other objects get the
        buffers of host memory as they are, but small ones joined; what ``write`` returns is how
        much it took, None being all, except for raw files, which then have no room. An object that
        keeps pieces of device memory, instead of copies, gets a BufferError.

        A file at a path or URL is replaced at the end, and stays as it was if an error leaves the
        context; see `replace_file` and `upload_file`.

    Raises
    ------
    TypeError
        If it is none of these, or a text file.
    """
    if isinstance(sink, str):
        sink = sink.removeprefix("file://")
    if isinstance(sink, str) and "://" in sink:
        with upload_file(sink) as file:
            yield _Writer(file.write, is_raw=False)
    elif isinstance(sink, (str, os.PathLike)):
        with replace_file(sink) as fd:
            yield _Descriptor(fd)
    elif (descriptor := socket_descriptor(sink)) is not None:
        yield _Descriptor(descriptor)
    elif callable(getattr(sink, "sendall", None)):
        yield _Writer(sink.sendall, is_raw=False)
    else:
        check_binary(sink, "write", "sink")
        raw = raw_file_of(sink)
        if raw is None:
            yield _Writer(sink.write, is_raw=isinstance(sink, io.RawIOBase))
            return
        if not raw.writable():
            raise io.UnsupportedOperation(
                "sink: a file open for reading found, one for writing expected"
            )
        sink.flush()
        try:
            yield _Descriptor(raw.fileno())
        finally:
            follow_descriptor(sink, raw)
