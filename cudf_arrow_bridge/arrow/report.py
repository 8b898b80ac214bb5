# SPDX-License-Identifier: Apache-2.0
"""What an export shared and what it copied, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from . import display
from .buffers import BufferInfo

__all__ = ["ColumnReport", "Report", "report_column"]

_HEADINGS = ("column", "Arrow type", "shared", "copied", "why")


class ColumnReport(NamedTuple):
    """What became of one column, with all its children.

    Attributes
    ----------
    path
        Its name; empty for an array that has none.
    arrow_type
        The Arrow type that it leaves as.
    shared_bytes
        The bytes of buffers that are the source's own memory.
    copied_bytes
        The bytes of buffers that were made for the export.
    reason
        Why these were made, each reason once, behind the path of the child it is about; empty if
        there are none.
    """

    path: str
    arrow_type: str
    shared_bytes: int
    copied_bytes: int
    reason: str

    @property
    def zero_copy(self) -> bool:
        """Whether nothing was made for the column."""
        return not self.reason


class Report(tuple[ColumnReport, ...]):
    """A `ColumnReport` for each column of a `DeviceArray`, shown as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [_HEADINGS, *map(_cells, self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def _repr_html_(self) -> str:
        head = _html_row("th", _HEADINGS)
        body = "".join(_html_row("td", _cells(column)) for column in self)
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def report_column(path: str, arrow_type: str, buffers: Iterable[BufferInfo]) -> ColumnReport:
    """Sum up the buffers of a column and its children."""
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


def _cells(column: ColumnReport) -> Sequence[str]:
    return (
        display.printable(column.path),
        column.arrow_type,
        display.size(column.shared_bytes),
        display.size(column.copied_bytes),
        column.reason,
    )


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
