# SPDX-License-Identifier: Apache-2.0
"""Which objects are files of the system, that bytes go to and come from by their descriptors."""

from __future__ import annotations

import io
import os
import socket
from typing import Any

__all__ = ["check_binary", "follow_descriptor", "raw_file_of", "socket_descriptor"]

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
