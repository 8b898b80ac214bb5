# SPDX-License-Identifier: Apache-2.0
"""Which CUDA stream comes after which: those that callers name, and the one cuDF computes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .._core.ordering import order_after
from .streams import Stream, resolve_stream

__all__ = ["ImportStreams", "ordered"]


@dataclass(frozen=True, slots=True)
class ImportStreams:
    """Where arrays arrive, and where what becomes of them is made and used.

    cuDF computes frames on its default stream, whatever stream their data arrives on. Nothing of
    CUDA's own orders the two.

    Attributes
    ----------
    arrival
        The stream that waits for producers, and that copies and conversions of arrays run on.
    use
        The stream that frames are made and computed on: cuDF's, or else `arrival`. On another
        thread than this was made on, one that comes after it.
    """

    arrival: Stream
    use: Stream

    @classmethod
    def of(cls, stream: Any, to: str) -> ImportStreams:
        """Return the streams of an import.

        Parameters
        ----------
        stream
            What the caller gave for it.
        to
            What the import makes, "cudf" or "pylibcudf".

        Raises
        ------
        ValueError
            If `to` is something else.
        """
        if to not in ("cudf", "pylibcudf"):
            raise ValueError(f"to={to!r} found, 'cudf' or 'pylibcudf' expected")
        arrival = resolve_stream(stream)
        return cls(arrival, resolve_stream(None) if to == "cudf" else arrival)

    @property
    def reader(self) -> Stream | None:
        """The stream that reads what arrived on another one, if it is another."""
        return None if self.use.handle == self.arrival.handle else self.use

    def arrived(self) -> None:
        """Let what comes next on `use` see what arrived."""
        if self.reader is not None:
            order_after(self.use.handle, self.arrival.handle)

    def made(self) -> None:
        """Let what comes next on `arrival`, which the caller named, see what was made."""
        if self.reader is not None:
            order_after(self.arrival.handle, self.use.handle)


@contextmanager
def ordered(stream: Stream, made_on: int) -> Iterator[None]:
    """Let a stream see what cuDF made on another one, and that one free it when it has.

    Parameters
    ----------
    stream
        The stream that uses it while the context lasts.
    made_on
        The handle of the one that it was made on.
    """
    if stream.handle != made_on:
        order_after(stream.handle, made_on)
    try:
        yield
    finally:
        if stream.handle != made_on:
            order_after(made_on, stream.handle)
