# SPDX-License-Identifier: Apache-2.0
"""The order of the caller's CUDA stream and cuDF's stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._core.arguments import order_after
from .streams import Stream, resolve_stream

if TYPE_CHECKING:
    from .._core import protocols


@dataclass(frozen=True, slots=True)
class ImportStreams:
    """The stream for the import of arrays, and the stream that computes on the result.

    cuDF computes on its default stream, whatever stream the data was imported on, and CUDA does not
    order these streams.

    Attributes
    ----------
    importing
        The stream that waits for producers and runs copies and conversions of arrays.
    computing
        cuDF's default stream if the import creates cuDF objects, otherwise `importing`.
    """

    importing: Stream
    computing: Stream

    @classmethod
    def of(cls, stream: Any, to: str) -> ImportStreams:
        """Return the streams of an import with the arguments ``stream=`` and ``to=``."""
        if to not in ("cudf", "cudf.pandas", "pylibcudf"):
            raise ValueError(f"to: expected 'cudf', 'cudf.pandas' or 'pylibcudf', got {to!r}")
        importing = resolve_stream(stream)
        return cls(importing, importing if to == "pylibcudf" else resolve_stream(None))

    @property
    def reader(self) -> Stream | None:
        """The computing stream if it differs from the importing stream, otherwise None."""
        return None if self.computing.handle == self.importing.handle else self.computing

    def compute_after_import(self) -> None:
        """Make later work on `computing` wait for the import."""
        if self.reader is not None:
            order_after(self.computing.handle, self.importing.handle)

    def import_after_compute(self) -> None:
        """Make later work on `importing`, the caller's stream, wait for the computation."""
        if self.reader is not None:
            order_after(self.importing.handle, self.computing.handle)


@contextmanager
def ordered(stream: protocols.Stream, made_on: int) -> Iterator[None]:
    """Order a stream after the producing stream, and at exit the producing stream after it.

    So the stream sees the data, and the data is freed on the producing stream after its use.
    `made_on` is the handle of the producing stream.
    """
    if stream.handle != made_on:
        order_after(stream.handle, made_on)
    try:
        yield
    finally:
        if stream.handle != made_on:
            order_after(made_on, stream.handle)
