# SPDX-License-Identifier: Apache-2.0
"""Errors for objects that cannot be imported or exported, or only with a copy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, SupportsIndex

from ..cuda.residency import DeviceType
from .sources import ARRAY_PROTOCOLS, STREAM_PROTOCOLS
from .text import printable

#: The names of the array and stream protocols, for error messages.
ANY_PROTOCOL = f"{', '.join((*ARRAY_PROTOCOLS, *STREAM_PROTOCOLS[:-1]))} or {STREAM_PROTOCOLS[-1]}"


def object_error(obj: Any, expected: str, takes_several: str | None = None) -> TypeError:
    """Return the error for an object that a function does not accept.

    `takes_several` is the name of the function that accepts several arrays, if this one does not.
    """
    if isinstance(obj, type):
        return TypeError(f"expected {expected}, got the class {obj.__name__}")
    advice = _advice(obj, takes_several)
    message = f"expected {expected}, got an object of type {type(obj).__name__}"
    return TypeError(f"{message}: {advice}" if advice else message)


def single_use_reason(name: str) -> str:
    """Return the reason why a source of the class `name` can be consumed only once."""
    article = "an" if name[0] in "AEIOUaeiou" else "a"
    return (
        f"{article} {name} can be consumed only once: create a stream for each consumer, or "
        "use a list, a frame, a table or a file as the source"
    )


def check_process(process: int) -> None:
    """Raise RuntimeError in a fork of the process that opened a source, which shares its position.

    `process` is the id of the process that opened it.
    """
    if os.getpid() != process:
        raise RuntimeError(
            "the parent process opened this source, whose position the processes would share: "
            "open it after the fork"
        )


class NotPicklable:
    """A mixin for streams, which cannot be pickled or copied."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise, because a stream cannot be pickled or copied. Its arrays can.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError(
            f"an object of type {type(self).__name__} cannot be pickled or copied: pickle or copy "
            "the arrays of the stream"
        )


def _advice(obj: Any, takes_several: str | None) -> str:
    if isinstance(obj, (str, os.PathLike)):
        return "to_arrow_device_stream reads the file of a path"
    if isinstance(obj, dict):
        return "pyarrow.table makes a table of a dict"
    if takes_several is not None and isinstance(obj, (list, tuple, Iterator)):
        return f"{takes_several} takes several"
    if hasattr(obj, "__dlpack__"):
        return "from_dlpack imports tensors"
    if hasattr(obj, "__cuda_array_interface__"):
        return "from_cuda_array_interface imports tensors"
    if hasattr(obj, "collect"):
        return "its collect() may give one"
    return ""


class CopyRefusedError(Exception):
    """A column requires a copy that the caller forbids; reported as a part of `copy_error`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


def check_host_copy(device_type: int, copy: bool | None) -> None:
    """Raise ValueError if a consumer of host memory needs a copy that the caller forbids."""
    if device_type == DeviceType.CUDA and copy is False:
        raise ValueError(
            "copy=False: the consumer reads host memory, and the data is in CUDA memory: "
            "to_host() copies an array"
        )


def quoted(path: str) -> str:
    """Return the path of a column in the form that error messages use."""
    return f"'{printable(path) or '(top level)'}'"


def copy_error(refused: Sequence[CopyRefusedError]) -> ValueError:
    """Return the error that names all columns that require a copy, as `copy_log::check` does."""
    columns = ", ".join(f"{quoted(one.path)} ({one.reason})" for one in refused)
    return ValueError(
        f"copy=False: these columns have to be copied: {columns}; copy=None copies them"
    )
