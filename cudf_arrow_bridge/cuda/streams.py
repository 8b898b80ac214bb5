# SPDX-License-Identifier: Apache-2.0
"""CUDA streams: the argument ``stream=``."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
from pylibcudf.utils import CUDF_DEFAULT_STREAM  # type: ignore[attr-defined]  # not in its stub

from .._core.arguments import hide_from_collector

#: The legacy default stream, which is ordered after the per-thread streams of all threads.
LEGACY_HANDLE = 1
#: Another handle of that stream. libcudf's hash tables (`distinct`, joins) fail for handle 1 with
#: "invalid argument" (cuDF 26.10.2 on an H200).
DEFAULT_HANDLE = 0
#: The per-thread default stream, a different stream on each thread.
PER_THREAD_HANDLE = 2
#: cuDF's default stream, on which it computes. It is chosen when cuDF is imported.
CUDF_HANDLE: int = CUDF_DEFAULT_STREAM.__cuda_stream__()[1]


def stream_handle(stream: Any) -> int:
    """Return the integer value of a stream's ``cudaStream_t``.

    Parameters
    ----------
    stream
        None for cuDF's default stream, a handle as an integer, an object with
        ``__cuda_stream__``, or a stream of cupy (``ptr``), torch (``cuda_stream``) or numba
        (``handle``).

    Returns
    -------
    int
        The handle. The caller keeps the stream alive.

    Raises
    ------
    TypeError
        If the object is not a stream.
    ValueError
        If the handle is negative, which has a meaning only in DLPack.
    """
    if stream is None:
        return CUDF_HANDLE
    handle = _handle_of(stream)
    if handle < 0:
        raise ValueError(
            f"stream: expected the handle of a CUDA stream, got {handle}: use 0 or 1 "
            "for the legacy default stream, 2 for the per-thread default stream, None for "
            "cuDF's; ordering cannot be disabled"
        )
    return handle


def _handle_of(stream: Any) -> int:
    # NumPy's integers are not instances of int.
    if isinstance(stream, (int, np.integer)) and not isinstance(stream, bool):
        return int(stream)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int(protocol()[1] if callable(protocol) else protocol[1])
    for attribute in ("ptr", "cuda_stream", "handle"):
        handle = getattr(stream, attribute, None)
        if isinstance(handle, ctypes.c_void_p):
            return handle.value or 0  # ctypes returns None for a null pointer
        if isinstance(handle, int):
            return handle
    raise TypeError(
        "stream: expected None, an integer handle or an object with __cuda_stream__, got an "
        f"object of type {type(stream).__name__}"
    )


class _Thread(threading.local):
    """The identity of a thread. An object, because ids of threads are reused."""

    def __init__(self) -> None:
        self.identity = object()


_this_thread = _Thread()


class Stream:
    """A stream of a caller, with its owner.

    Parameters
    ----------
    handle
        The value of the ``cudaStream_t`` on this thread.
    owner
        The argument ``stream=`` of the caller. It is kept alive while work may be enqueued or
        memory freed on the stream: until the last buffer that the call created is freed. If it
        references these buffers, neither is ever freed.
    """

    __slots__ = ("_handle", "_made_on", "_owner")

    def __init__(self, handle: int, owner: Any) -> None:
        self._handle = DEFAULT_HANDLE if handle == LEGACY_HANDLE else handle
        self._made_on = _this_thread.identity if handle == PER_THREAD_HANDLE else None
        self._owner = owner
        # The garbage collector would call the owner's finalizer, which destroys the stream, before
        # memory of the same cycle is freed on it.
        hide_from_collector(self)

    @property
    def handle(self) -> int:
        """The value of a ``cudaStream_t`` that is ordered after the work of the stream.

        This is the stream's handle, unless it is the per-thread default stream of another thread.
        There the handle would mean a different stream, so the legacy default stream is returned,
        which is ordered after those of all threads.
        """
        if self._made_on is None or self._made_on is _this_thread.identity:
            return self._handle
        return DEFAULT_HANDLE

    @property
    def is_freed_by_thread(self) -> bool:
        """Whether memory of this stream, or of cuDF, is freed on the per-thread stream.

        On another thread this is a different stream than the one that wrote and read the memory.
        """
        return CUDF_HANDLE == PER_THREAD_HANDLE or self._made_on is not None

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol and the handle, for pylibcudf."""
        return (0, self.handle)


def cudf_handle_of_all_threads() -> int:
    """Return the handle of a stream that is ordered after cuDF's work on all threads."""
    return DEFAULT_HANDLE if CUDF_HANDLE == PER_THREAD_HANDLE else CUDF_HANDLE


def resolve_stream(stream: Any) -> Stream:
    """Resolve the argument ``stream=`` of a caller on this thread; see `stream_handle`."""
    return Stream(stream_handle(stream), stream)
