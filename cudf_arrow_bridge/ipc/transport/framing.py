# SPDX-License-Identifier: Apache-2.0
"""How messages follow each other in streams and files: what stands before metadata and body."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .sources import Source

__all__ = [
    "CHUNK_SIZE",
    "CONTINUATION",
    "END_OF_STREAM",
    "MAGIC",
    "Block",
    "check_chunk_size",
    "frame_metadata",
    "read_message",
]

#: What each message begins with, but those of Arrow before 0.15.
CONTINUATION = b"\xff\xff\xff\xff"
#: What comes after the last message.
END_OF_STREAM = CONTINUATION + bytes(4)
#: What files begin and end with.
MAGIC = b"ARROW1"
#: Multiple of bytes at which bodies begin.
ALIGNMENT = 64
#: The bytes of device memory that are copied at a time, unless told otherwise.
CHUNK_SIZE = 1 << 23


class Block(NamedTuple):
    """Where a message lies, as the footer of a file tells.

    Attributes
    ----------
    offset
        The position at which it begins.
    metadata_length
        The bytes before its body.
    body_length
        The bytes of its body.
    """

    offset: int
    metadata_length: int
    body_length: int


def check_chunk_size(chunk_size: object) -> int:
    """Return what a caller gave as ``chunk_size=``, if it is a positive integer."""
    if not isinstance(chunk_size, int) or chunk_size < 1:
        raise ValueError(f"chunk_size={chunk_size!r} found, a number of bytes expected, at least 1")
    return chunk_size


def frame_metadata(metadata: bytes, position: int) -> bytes:
    """Return what stands before a body.

    Parameters
    ----------
    metadata
        The flatbuffer of the message.
    position
        Where the message begins. The metadata is padded so that the body is aligned.
    """
    prefix = len(CONTINUATION) + 4
    padding = -(position + prefix + len(metadata)) % ALIGNMENT
    length = len(metadata) + padding
    return b"".join((CONTINUATION, length.to_bytes(4, "little"), metadata, bytes(padding)))


def read_message(source: Source) -> tuple[bytes, int] | None:
    """Read the metadata of the next message.

    Parameters
    ----------
    source
        The source, which stands before the message's body then.

    Returns
    -------
    tuple[bytes, int] | None
        The metadata with its padding, and the position of the body. None at the end: where the
        stream says so, or there are no more bytes.

    Raises
    ------
    ValueError
        If the source ends within it, or its length is negative.
    """
    start = source.position
    prefix = source.read_up_to(4)
    if not prefix:
        return None
    if len(prefix) < 4:
        raise ValueError(f"byte {start:,}: {len(prefix)} bytes found, a message expected")
    if prefix == CONTINUATION:
        start = source.position
        prefix = source.read_exact(4, "the length of a message's metadata")
    length = int.from_bytes(prefix, "little", signed=True)
    if length == 0:
        return None
    if prefix == MAGIC[:4] and source.position == 4:
        raise ValueError("byte 0: an Arrow file found, a stream expected: open_file reads files")
    if length < 0:
        raise ValueError(
            f"byte {start:,}: {length:,} found as the length of a message's metadata, a positive "
            "one expected"
        )
    metadata = source.read_exact(length, "a message's metadata")
    return metadata, source.position
