# SPDX-License-Identifier: Apache-2.0
"""Report of the shared and copied bytes of each column of an export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from . import display
from .buffers import BufferInfo
from .diagram import Diagram
from .text import size

_HEADINGS = ("column", "Arrow type", "shared", "copied", "why")


class ColumnReport(NamedTuple):
    """The shared and copied bytes of one column and all its children.

    Attributes
    ----------
    path
        The name of the column; empty for an array without a name.
    arrow_type
        The exported Arrow type.
    shared_bytes
        The size of the buffers that share the memory of the source.
    copied_bytes
        The size of the buffers that the export allocated.
    reason
        The distinct reasons of the copies, each prefixed with the path of its child; empty if
        nothing was copied.
    """

    path: str
    arrow_type: str
    shared_bytes: int
    copied_bytes: int
    reason: str

    @property
    def zero_copy(self) -> bool:
        """Whether all buffers of the column are shared."""
        return not self.reason


class Report(tuple[ColumnReport, ...]):
    """A `ColumnReport` for each column of a `DeviceArray`, displayed as a table of 20 lines."""

    _buffers: Sequence[Sequence[BufferInfo]] = ()

    @classmethod
    def of(cls, columns: Iterable[tuple[str, str, Sequence[BufferInfo]]]) -> Self:
        """Return the report of columns, each given by its name, Arrow type and buffers."""
        columns = list(columns)
        report = cls(report_column(*column) for column in columns)
        report._buffers = [buffers for *_, buffers in columns]
        return report

    def diagram(self) -> Diagram:
        """Draw the buffers of the columns with their sizes and owners.

        The source owns the shared buffers. The export allocated the others. Buffers after the
        twentieth are only counted.

        Returns
        -------
        Diagram
            The text of an SVG image, which notebooks display.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = cab.from_arrow_device(pd.DataFrame({"a": [1, 2], "b": [True, False]}))
        >>> diagram = cab.to_arrow_device(frame).report().diagram()
        >>> print(diagram[:4])
        <svg
        """
        columns = [(column.path, column.arrow_type) for column in self]
        return Diagram.of(zip(columns, self._buffers, strict=True))

    def __repr__(self) -> str:
        lines, notes = display.first_lines(self, _lines)
        return "\n".join([*display.aligned([_HEADINGS, *(line.cells for line in lines)]), *notes])

    def _repr_html_(self) -> str:
        return display.html_table(_HEADINGS, *display.first_lines(self, _lines))


def report_column(path: str, arrow_type: str, buffers: Iterable[BufferInfo]) -> ColumnReport:
    """Return the report of the buffers of a column and its children."""
    shared = copied = 0
    reasons: dict[str, None] = {}
    for buffer in buffers:
        if buffer.zero_copy:
            shared += buffer.size
            continue
        copied += buffer.size
        child = buffer.name.rpartition(".")[0]
        reasons[f"{child}: {buffer.reason}" if child else buffer.reason] = None
    return ColumnReport(path, arrow_type, shared, copied, "; ".join(reasons))


def _lines(column: ColumnReport, depth: int) -> Iterator[display.Line]:
    path, arrow_type, shared, copied, reason = column
    cells = (path, arrow_type, size(shared), size(copied), reason)
    yield display.Line(depth, cells, shared, copied)
