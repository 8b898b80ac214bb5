# SPDX-License-Identifier: Apache-2.0
"""The options of exports and imports, as the core reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from ..cuda import streams
from ..cuda.streams import Stream, resolve_stream

__all__ = [
    "ExportOptions",
    "ImportOptions",
    "Kind",
    "TensorImportOptions",
    "Validation",
    "check_kind",
]

#: What an Arrow array is: a record batch or any other array.
Kind = Literal["table", "column"]
Validation = Literal["minimal", "full"]


def check_kind(kind: Kind | None) -> Kind | None:
    """Return what a caller gave as ``kind=``, if that is possible."""
    if kind not in (None, "table", "column"):
        raise ValueError(f"kind={kind!r} found, 'table' or 'column' expected")
    return kind


class ExportOptions(NamedTuple):
    """Options of an export; see `to_arrow_device`.

    Attributes
    ----------
    stream
        The stream that made the data.
    compact
        Whether no array may have an offset.
    managed_as_cuda
        Whether managed memory is labelled as plain CUDA memory.
    """

    stream: Stream
    compact: bool = False
    managed_as_cuda: bool = False

    @classmethod
    def of(cls, stream: Any, compact: bool, device_type: str | None) -> ExportOptions:
        """Check what a caller gave, and resolve the stream on this thread.

        Raises
        ------
        ValueError
            If `device_type` is neither None nor ``"cuda"``.
        """
        if stream is None and not compact and device_type is None and not _default_is_per_thread():
            return _DEFAULT_EXPORT
        if device_type not in (None, "cuda"):
            raise ValueError(f"device_type={device_type!r} found, 'cuda' or None expected")
        return cls(resolve_stream(stream), compact, device_type == "cuda")


#: What most exports ask for; making it takes a tenth of the time of a small export.
_DEFAULT_EXPORT = ExportOptions(resolve_stream(None))


def _default_is_per_thread() -> bool:
    # Such a stream is resolved on each thread.
    return streams.CUDF_HANDLE == streams.PER_THREAD_HANDLE


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import; see `from_arrow_device`.

    Attributes
    ----------
    copy
        Whether to copy all buffers rather than adopt them.
    validate
        What to check before the array is used.
    sanitize
        Whether to leave nested nulls as libcudf expects them.
    reader
        A second stream that reads the result, or None. Buffers are freed on the stream of the
        import, after the work of both.

    Raises
    ------
    ValueError
        If `validate` is none of its values.
    """

    copy: bool = False
    validate: Validation = "minimal"
    sanitize: bool = True
    reader: Stream | None = None

    def __post_init__(self) -> None:
        if self.validate not in get_args(Validation):
            raise ValueError(f"validate={self.validate!r} found, 'minimal' or 'full' expected")


@dataclass(frozen=True, slots=True)
class TensorImportOptions:
    """Options of an import of a tensor; see `from_dlpack`.

    Attributes
    ----------
    stream
        The stream that waits for the data and that copies run on.
    reader
        A second stream that reads the result, or None; see `ImportOptions`.
    mr
        The memory resource of copies; None for rmm's current one.
    copy
        None: copy what cannot be shared; True: always; False: never.
    """

    stream: Stream
    reader: Stream | None
    mr: Any
    copy: bool | None
