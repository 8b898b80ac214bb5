# SPDX-License-Identifier: Apache-2.0
"""CUDA streams: what ``stream=`` stands for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

__all__ = ["Stream", "resolve_stream", "stream_handle"]

_LEGACY_DEFAULT = 0
_PER_THREAD_DEFAULT = 2


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
    """
    if stream is None:
        per_thread = os.getenv("CUDF_PER_THREAD_STREAM", "0") == "1"
        return _PER_THREAD_DEFAULT if per_thread else _LEGACY_DEFAULT
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
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


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream as the bridge passes it on.

    Attributes
    ----------
    handle
        The value of the ``cudaStream_t``.
    owner
        What was given for it, kept alive for as long as anything may be enqueued on it or freed on
        it: until the last buffer that came of the call is gone.
    """

    handle: int
    owner: Any

    def __cuda_stream__(self) -> tuple[int, int]:
        """Follow the protocol by which pylibcudf takes streams."""
        return (0, self.handle)


def resolve_stream(stream: Any) -> Stream:
    """Resolve whatever names a stream; see `stream_handle`."""
    return Stream(stream_handle(stream), stream)
