# SPDX-License-Identifier: Apache-2.0
"""CUDA streams: what ``stream=`` stands for."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
from pylibcudf.utils import CUDF_DEFAULT_STREAM  # type: ignore[attr-defined]  # not in its stub

__all__ = [
    "CUDF_HANDLE",
    "LEGACY_HANDLE",
    "PER_THREAD_HANDLE",
    "Stream",
    "cudf_handle_of_all_threads",
    "resolve_stream",
    "stream_handle",
]

#: The legacy default stream, which comes after the per-thread ones of all threads.
LEGACY_HANDLE = 1
#: The per-thread default stream: another stream on each thread.
PER_THREAD_HANDLE = 2
#: cuDF's default stream, on which it computes. It is chosen when cuDF is loaded.
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
        If the handle is negative, which only DLPack gives a meaning.
    """
    if stream is None:
        return CUDF_HANDLE
    handle = _handle_of(stream)
    if handle < 0:
        raise ValueError(
            f"stream={handle} found, a CUDA stream's handle expected: 0 or 1 for the legacy "
            "default stream, 2 for the per-thread one, None for cuDF's; waiting cannot be left out"
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
            return handle.value or 0  # ctypes gives None for a null pointer
        if isinstance(handle, int):
            return handle
    raise TypeError(
        f"a stream of type {type(stream).__name__} found, None, an integer handle or an object "
        "with __cuda_stream__ expected"
    )


class _Thread(threading.local):
    """Identifies a thread, by an object because the ids of threads are used again."""

    def __init__(self) -> None:
        self.identity = object()


_this_thread = _Thread()


class Stream:
    """A stream that callers named, with what keeps it alive.

    Parameters
    ----------
    handle
        The value of the ``cudaStream_t`` on this thread.
    owner
        What the caller gave as ``stream=``. It is kept alive as long as work may be enqueued or
        memory freed on the stream: until the last buffer that the call made is gone.
    """

    __slots__ = ("_handle", "_made_on", "owner")

    def __init__(self, handle: int, owner: Any) -> None:
        self._handle = handle
        self._made_on = _this_thread.identity if handle == PER_THREAD_HANDLE else None
        self.owner = owner

    @property
    def handle(self) -> int:
        """The value of a ``cudaStream_t`` that comes after the stream's work.

        The stream's own, except on another thread than the one whose per-thread default stream this
        is. There its handle would name a different stream; the legacy default stream's is returned,
        which comes after those of all threads.
        """
        if self._made_on is None or self._made_on is _this_thread.identity:
            return self._handle
        return LEGACY_HANDLE

    @property
    def is_freed_by_thread(self) -> bool:
        """Whether memory of this stream, or of cuDF, is freed on the freeing thread's own stream.

        On another thread that is another stream than the one that made and read the memory.
        """
        return CUDF_HANDLE == PER_THREAD_HANDLE or self._made_on is not None

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the protocol's version, and the handle; pylibcudf takes streams by this."""
        return (0, self.handle)


def cudf_handle_of_all_threads() -> int:
    """Return the handle of a stream that comes after what cuDF computed on any thread."""
    return LEGACY_HANDLE if CUDF_HANDLE == PER_THREAD_HANDLE else CUDF_HANDLE


def resolve_stream(stream: Any) -> Stream:
    """Resolve what a caller gave as ``stream=`` on this thread; see `stream_handle`."""
    return Stream(stream_handle(stream), stream)
