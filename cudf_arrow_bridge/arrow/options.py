# SPDX-License-Identifier: Apache-2.0
"""How to export and how to import, as the public functions document it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from ..cuda.streams import Stream, resolve_stream

__all__ = ["ExportOptions", "ImportOptions", "Kind", "Validation", "as_kind"]

Kind = Literal["table", "column"]
Validation = Literal["minimal", "full"]


def as_kind(wanted: Kind | None) -> Kind | None:
    """Check what a caller gave as ``kind=``."""
    if wanted not in (None, "table", "column"):
        raise ValueError(f"kind={wanted!r} found, 'table' or 'column' expected")
    return wanted


class ExportOptions(NamedTuple):
    """How the core is to export; see `to_arrow_device`.

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
        if device_type not in (None, "cuda"):
            raise ValueError(f"device_type={device_type!r} found, 'cuda' or None expected")
        return cls(resolve_stream(stream), compact, device_type == "cuda")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to import, as `from_arrow_device` documents it.

    Attributes
    ----------
    copy, validate, sanitize
        As there.
    reader
        Another stream that the result is read on. What is freed on the stream of the import is
        freed behind the work of this one, too.

    Raises
    ------
    ValueError
        If an option has a value that it cannot have.
    """

    copy: bool = False
    validate: Validation = "minimal"
    sanitize: bool = True
    reader: Stream | None = None

    def __post_init__(self) -> None:
        if self.validate not in get_args(Validation):
            raise ValueError(f"validate={self.validate!r} found, 'minimal' or 'full' expected")
