# SPDX-License-Identifier: Apache-2.0
"""Destinations of messages: files, pipes, sockets, and objects with ``write``."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any

from ..._core.ipc.body import ALIGNMENT, IpcBody
from ..._core.ipc.body_transfer import download_to
from ...arrow.options import path_of
from ...cuda.residency import DeviceType
from .files import (
    check_binary,
    follow_descriptor,
    raw_file_of,
    replace_file,
    socket_descriptor,
    upload_file,
    write_all,
)
from .framing import Block, frame_metadata

#: Buffers smaller than this are joined before an object writes them.
SMALL = 4096
#: The maximum number of buffers that are joined.
MANY = 64


class Sink:
    """A destination that messages are written to in sequence.

    `write_pieces` writes buffers, given the position for errors, and keeps no reference to them.
    """

    def __init__(self, write_pieces: Callable[[list[Any], int], None]) -> None:
        self._write_pieces = write_pieces
        #: The number of bytes written since the sink was opened.
        self.position = 0

    def write_message(self, metadata: bytes, body: IpcBody | None, chunk_size: int) -> Block:
        """Write a message; its body starts at a multiple of 64 bytes, and each buffer is padded."""
        offset = self.position
        head = frame_metadata(metadata, offset)
        if body is None:
            self._write_pieces([head], offset)
        elif body.device_type == DeviceType.CPU:
            pieces: list[Any] = [head]
            for buffer in body.buffers(with_absent=False):
                pieces.append(buffer)
                if padding := -len(buffer) % ALIGNMENT:
                    pieces.append(bytes(padding))
            self._write_pieces(pieces, offset)
        else:
            self._write_pieces([head], offset)
            download_to(lambda chunk: self._write_pieces([chunk], offset), body, chunk_size)
        size = 0 if body is None else body.packed_size
        self.position += len(head) + size
        return Block(offset, len(head), size)

    def write(self, data: bytes) -> None:
        """Write bytes outside of a message, such as the end-of-stream marker."""
        self._write_pieces([data], self.position)
        self.position += len(data)


def _write_pieces(
    write: Callable[[Any], int | None], is_raw: bool, pieces: list[Any], position: int
) -> None:
    """Write buffers with a function that writes one buffer, possibly only in part.

    The function returns the number of bytes written, or None: nothing if `is_raw`, otherwise all.
    """
    for rest in _joined(pieces):
        while (written := write(rest)) != len(rest):
            if written is None and not is_raw:
                break
            if not written:
                raise BlockingIOError(
                    f"byte {position:,}: the sink does not block and accepts none of the next "
                    f"{len(rest):,} bytes"
                )
            if not 0 < written < len(rest):
                raise OSError(
                    f"byte {position:,}: expected a sink that writes 0 to {len(rest):,} bytes, "
                    f"got {written:,}"
                )
            rest = memoryview(rest)[written:]


def _joined(pieces: list[Any]) -> Iterator[Any]:
    """Yield the pieces, with adjacent small ones joined."""
    for start in range(0, len(pieces), MANY):
        some = pieces[start : start + MANY]
        for is_small, group in groupby(some, lambda piece: len(piece) < SMALL):
            if is_small:
                yield b"".join(group)
            else:
                yield from group


def _descriptor_sink(fd: int) -> Sink:
    """Return a sink that writes buffers to a descriptor without copying them."""
    return Sink(lambda pieces, _: write_all(fd, pieces))


@contextlib.contextmanager
def open_sink(sink: Any) -> Iterator[Sink]:
    """Open a path, an fsspec URL, a binary file, a socket, or an object with ``write``.

    Operating system files and sockets without a timeout are written to through their descriptor:
    the Python buffer is flushed first, and the position of the file object is updated at the end.
    Other objects get the buffers in host memory without copies, except that small buffers are
    joined. An object that keeps a reference to a chunk of device data instead of copying the chunk
    gets a BufferError. A file at a path or URL is replaced on exit. After an error it is unchanged;
    see `replace_file` and `upload_file`.
    """
    sink = path_of(sink)
    if isinstance(sink, str) and "://" in sink:
        with upload_file(sink) as file:
            yield Sink(partial(_write_pieces, file.write, False))
    elif isinstance(sink, (str, os.PathLike)):
        with replace_file(sink) as fd:
            yield _descriptor_sink(fd)
    elif (descriptor := socket_descriptor(sink)) is not None:
        yield _descriptor_sink(descriptor)
    elif callable(getattr(sink, "sendall", None)):
        yield Sink(partial(_write_pieces, sink.sendall, False))
    else:
        check_binary(sink, "write", "sink")
        raw = raw_file_of(sink)
        if raw is None:
            yield Sink(partial(_write_pieces, sink.write, isinstance(sink, io.RawIOBase)))
            return
        if not raw.writable():
            raise io.UnsupportedOperation("sink: the file is open for reading only")
        sink.flush()
        try:
            yield _descriptor_sink(raw.fileno())
        finally:
            follow_descriptor(sink, raw)
