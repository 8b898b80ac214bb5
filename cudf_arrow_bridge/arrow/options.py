# SPDX-License-Identifier: Apache-2.0
"""What callers of exports and imports may choose, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .._core.export import ExportArguments
from ..cuda import streams
from ..cuda.streams import Stream, resolve_stream

__all__ = [
    "Kind",
    "TensorImportOptions",
    "Validation",
    "check_kind",
    "export_arguments",
]

#: What an Arrow array is: a record batch or any other array.
Kind = Literal["table", "column"]
Validation = Literal["minimal", "full"]


def check_kind(kind: Kind | None) -> Kind | None:
    """Return what a caller gave as ``kind=``, if that is possible."""
    if kind not in (None, "table", "column"):
        raise ValueError(f"kind={kind!r} found, 'table' or 'column' expected")
    return kind


def export_arguments(
    stream: Any, compact: bool, copy: bool | None, device_type: str | None
) -> ExportArguments:
    """Check what a caller of `to_arrow_device` gave, and resolve the stream on this thread.

    Raises
    ------
    ValueError
        If `copy` is neither None nor a bool, or `device_type` neither None nor ``"cuda"``.
    """
    is_usual = stream is None and not compact and copy is None and device_type is None
    if is_usual and not _default_is_per_thread():
        return _USUAL
    if device_type not in (None, "cuda"):
        raise ValueError(f"device_type={device_type!r} found, 'cuda' or None expected")
    return ExportArguments(resolve_stream(stream), compact, device_type == "cuda", copy)


#: What most exports ask for; making it takes a tenth of the time of a small export.
_USUAL = ExportArguments(resolve_stream(None))


def _default_is_per_thread() -> bool:
    # Such a stream is resolved on each thread.
    return streams.CUDF_HANDLE == streams.PER_THREAD_HANDLE


@dataclass(frozen=True, slots=True)
class TensorImportOptions:
    """Options of an import of a tensor; see `from_dlpack`.

    Attributes
    ----------
    stream
        The stream that waits for the data and that copies run on.
    reader
        A second stream that reads the result, or None; see `ImportArguments`.
    mr
        The memory resource of copies; None for rmm's current one.
    copy
        None: copy what cannot be shared; True: always; False: never.
    """

    stream: Stream
    reader: Stream | None
    mr: Any
    copy: bool | None
