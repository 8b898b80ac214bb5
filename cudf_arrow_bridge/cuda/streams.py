# SPDX-License-Identifier: Apache-2.0
"""CUDA streams: what ``stream=`` stands for."""

from __future__ import annotations

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
#: cuDF's default stream, which it chooses when it is loaded and computes on.
CUDF_HANDLE: int = CUDF_DEFAULT_STREAM.__cuda_stream__()[1]


def stream_handle(stream: Any) -> int:
    """Resolve a stream to the integer value of its ``cudaStream_t``.

    Parameters
    ----------
    stream
        None for cuDF's default stream, a handle as an integer, an object with
        ``__cuda_stream__``, or a stream of cupy (``ptr``), torch (``cuda_stream``) or numba
        (``handle``).

    Returns
    -------
    int
        The handle. Whoever passed the stream keeps it alive.

    Raises
    ------
    TypeError
        If the object is no stream.
    ValueError
        If the handle is negative, which means something to DLPack alone.
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
    # NumPy's integers are none of Python's.
    if isinstance(stream, (int, np.integer)) and not isinstance(stream, bool):
        return int(stream)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int(protocol()[1] if callable(protocol) else protocol[1])
    for attribute in ("ptr", "cuda_stream", "handle"):
        value = getattr(stream, attribute, None)
        value = getattr(value, "value", value)
        if isinstance(value, int):
            return value
    raise TypeError(
        f"a stream of type {type(stream).__name__} found, None, an integer handle or an object "
        "with __cuda_stream__ expected"
    )


class _Thread(threading.local):
    """Tells threads apart: unlike its number, the stamp of one that is gone is not used again."""

    def __init__(self) -> None:
        self.stamp = object()


_this_thread = _Thread()


class Stream:
    """A stream as the bridge passes it on, or keeps it for later.

    Parameters
    ----------
    handle
        The value of the ``cudaStream_t`` on this thread.
    owner
        What was given for it, kept alive for as long as anything may be enqueued on it or freed on
        it: until the last buffer that came of the call is gone.
    """

    __slots__ = ("_handle", "_made_on", "owner")

    def __init__(self, handle: int, owner: Any) -> None:
        self._handle = handle
        self._made_on = _this_thread.stamp if handle == PER_THREAD_HANDLE else None
        self.owner = owner

    @property
    def handle(self) -> int:
        """The value of a ``cudaStream_t`` that comes after the stream's work.

        It is the stream's own but for the per-thread default stream of another thread than the one
        that asks, which that cannot name: there the legacy default stream's.
        """
        if self._made_on is None or self._made_on is _this_thread.stamp:
            return self._handle
        return LEGACY_HANDLE

    @property
    def is_freed_by_thread(self) -> bool:
        """Whether what was made on it, or by cuDF, is freed on each thread's default stream.

        That is another one than what it was made and read on, once another thread lets go.
        """
        return CUDF_HANDLE == PER_THREAD_HANDLE or self._made_on is not None

    def __cuda_stream__(self) -> tuple[int, int]:
        """Follow the protocol by which pylibcudf takes streams."""
        return (0, self.handle)


def cudf_handle_of_all_threads() -> int:
    """Return the handle of a stream that comes after what cuDF computed, on whichever thread."""
    return LEGACY_HANDLE if CUDF_HANDLE == PER_THREAD_HANDLE else CUDF_HANDLE


def resolve_stream(stream: Any) -> Stream:
    """Resolve whatever names a stream on this thread; see `stream_handle`."""
    return Stream(stream_handle(stream), stream)
