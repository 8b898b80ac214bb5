# SPDX-License-Identifier: Apache-2.0
"""Framing of messages in streams and files: the bytes before the metadata and the body."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..._core.ipc.body import ALIGNMENT

if TYPE_CHECKING:
    from .sources import Source

#: The first bytes of each message. Arrow before 0.15 does not write them.
CONTINUATION = b"\xff\xff\xff\xff"
#: The end-of-stream marker after the last message.
END_OF_STREAM = CONTINUATION + bytes(4)
#: The first and last bytes of a file.
MAGIC = b"ARROW1"
#: The default number of bytes of device memory per copy.
CHUNK_SIZE = 1 << 23


class Block(NamedTuple):
    """The location of a message in a file, as stored in the footer."""

    offset: int
    metadata_length: int
    """The number of bytes before the body."""
    body_length: int


def check_chunk_size(chunk_size: object) -> int:
    """Return the argument `chunk_size`; raise ValueError unless it is a positive integer."""
    if not isinstance(chunk_size, int) or chunk_size < 1:
        raise ValueError(f"chunk_size: expected at least 1 byte, got {chunk_size!r}")
    return chunk_size


def frame_metadata(metadata: bytes, position: int) -> bytes:
    """Return all bytes of a message at a position before its body, which is aligned."""
    prefix = len(CONTINUATION) + 4
    padding = -(position + prefix + len(metadata)) % ALIGNMENT
    length = len(metadata) + padding
    return b"".join((CONTINUATION, length.to_bytes(4, "little"), metadata, bytes(padding)))


def read_message(source: Source) -> bytes | None:
    """Read the metadata of the next message, up to its body.

    Return it with its padding; None at the end-of-stream marker or the end of the source. Raise
    ValueError if the source ends within the metadata, or the length is negative.
    """
    start = source.position
    prefix = source.read_up_to(4)
    if not prefix:
        return None
    if len(prefix) < 4:
        raise ValueError(f"byte {start:,}: expected a message, got {len(prefix)} bytes")
    if prefix == CONTINUATION:
        start = source.position
        prefix = source.take(4, "the length of a message's metadata")
    length = int.from_bytes(prefix, "little", signed=True)
    if length == 0:
        return None
    if prefix == MAGIC[:4] and source.position == 4:
        raise ValueError("byte 0: the data is an Arrow file, not a stream: use open_file")
    if length < 0:
        raise ValueError(f"byte {start:,}: expected a positive metadata length, got {length:,}")
    return bytes(source.take(length, "a message's metadata"))
