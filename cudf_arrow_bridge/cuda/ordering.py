# SPDX-License-Identifier: Apache-2.0
"""The order of CUDA streams: those that callers name, and the one that cuDF computes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._core.ordering import order_after
from .streams import Stream, resolve_stream

if TYPE_CHECKING:
    from .._core import protocols

__all__ = ["ImportStreams", "ordered"]


@dataclass(frozen=True, slots=True)
class ImportStreams:
    """The stream that arrays are imported on, and the stream that computes on the result.

    cuDF computes on its default stream, whatever stream the data was imported on, and CUDA does not
    order the two by itself.

    Attributes
    ----------
    importing
        The stream that waits for producers, and that copies and conversions of arrays run on.
    computing
        cuDF's default stream if the import makes cuDF objects, else `importing`.
    """

    importing: Stream
    computing: Stream

    @classmethod
    def of(cls, stream: Any, to: str) -> ImportStreams:
        """Return the streams of an import.

        Parameters
        ----------
        stream
            What the caller gave as ``stream=``.
        to
            What the import makes: "cudf", "cudf.pandas" or "pylibcudf".

        Raises
        ------
        ValueError
            If `to` is something else.
        """
        if to not in ("cudf", "cudf.pandas", "pylibcudf"):
            raise ValueError(f"to={to!r} found, 'cudf', 'cudf.pandas' or 'pylibcudf' expected")
        importing = resolve_stream(stream)
        return cls(importing, importing if to == "pylibcudf" else resolve_stream(None))

    @property
    def reader(self) -> Stream | None:
        """The computing stream if it is not the importing one, else None."""
        return None if self.computing.handle == self.importing.handle else self.computing

    def compute_after_import(self) -> None:
        """Make later work on `computing` wait for what was imported."""
        if self.reader is not None:
            order_after(self.computing.handle, self.importing.handle)

    def import_after_compute(self) -> None:
        """Make later work on `importing`, the caller's stream, wait for what was computed."""
        if self.reader is not None:
            order_after(self.importing.handle, self.computing.handle)


@contextmanager
def ordered(stream: protocols.Stream, made_on: int) -> Iterator[None]:
    """Order a stream after the one that made data, and that one, at the end, after the stream.

    So the stream sees the data, which is freed on the other one after its use.

    Parameters
    ----------
    stream
        The CUDA stream that uses the data within the context.
    made_on
        The handle of the stream that made the data.
    """
    if stream.handle != made_on:
        order_after(stream.handle, made_on)
    try:
        yield
    finally:
        if stream.handle != made_on:
            order_after(made_on, stream.handle)
