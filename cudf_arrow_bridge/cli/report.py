# SPDX-License-Identifier: Apache-2.0
"""Tables for people, JSON for programs, and errors on one line. Only tables need rich."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cudf_arrow_bridge.arrow.text import printable

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 200
TYPES = ("Arrow type", "cuDF type")
#: The columns whose cells are never wrapped, besides short names.
NUMBERS = ("Rows", "Nulls", "Bytes")
WORDS = ("Probe", "Status", "Device", "Support", "Result")
#: The least width of the columns whose cells are wrapped, and of names that are wrapped at all.
LEAST_WIDTH = 8
NAME_WIDTH = 16
#: The columns that are omitted on a narrow terminal, the first ones first.
OMITTED = ("Device", "cuDF type", "Nulls", "Bytes", "Arrow type", "Rows", "Note", "Support")
COLOURS = {
    "match": "green", "ok": "green", "zero-copy": "green", "converted": "yellow",
    "depends": "yellow", "unsupported": "yellow", "optional": "yellow",
    "mismatch": "bold red", "failed": "bold red", "missing": "bold red",
}  # fmt: skip


def console() -> Console:
    """Create a console for stdout; no colours and a fixed width if it is not a terminal."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich calls this in its handler of the error, which `main` then handles.

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return PipeConsole(width=width, highlight=False, emoji=False, markup=False)


def print_table(
    out: Console,
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    truncate_types: bool = False,
) -> None:
    """Print a table; its text is not interpreted as markup, and control characters are escaped.

    If the table is too wide, columns of `OMITTED` are left out and names and types are wrapped, or
    types truncated.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [list(map(printable, row)) for row in rows]
    shown = fitting(headings, rows, out.width)
    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading, is_whole in shown.items():
        result.add_column(
            heading,
            justify="right" if heading in NUMBERS else "left",
            no_wrap=is_whole,
            overflow="fold",
        )
    for row in rows:
        texts = (Text(cell, COLOURS.get(cell, "")) for cell in row)
        cells = dict(zip(headings, texts, strict=True))
        for heading in TYPES if truncate_types else ():
            # Of the cell, since rich does not reduce the width of a column that is not wrapped.
            cells[heading].no_wrap, cells[heading].overflow = True, "ellipsis"
        result.add_row(*(cells[heading] for heading in shown))
    print_line(out, title, "bold")
    out.print(result)


def fitting(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> dict[str, bool]:
    """Return the headings of the columns that fit a width, and whether they are never wrapped."""
    from rich.cells import cell_len

    least, whole = {}, {}
    for heading, *cells in zip(headings, *rows, strict=True):
        longest = max(map(cell_len, (heading, *cells)))
        limit = NAME_WIDTH if heading == "Column" else LEAST_WIDTH
        whole[heading] = heading in NUMBERS + WORDS or longest <= limit
        least[heading] = longest if whole[heading] else LEAST_WIDTH
    for heading in OMITTED:
        # Each column has a space on both sides.
        if sum(least.values()) + 2 * len(least) > width:
            least.pop(heading, None)
    return {heading: whole[heading] for heading in least}


def print_line(out: Console, line: str, style: str = "") -> None:
    """Print a line, which is wrapped only on a terminal, with control characters escaped."""
    out.print(printable(line), style=style, soft_wrap=not out.is_terminal)


def print_error(message: str) -> None:
    """Print one line on stderr."""
    with suppress(AttributeError, OSError):  # stderr is closed, or cannot be written
        sys.stderr.write(f"cudf-arrow-bridge: {printable(message)}\n")


def print_json(document: Any) -> None:
    """Print a document for programs."""
    print(json.dumps(document, indent=2))


def one_line(error: BaseException) -> str:
    """Return an exception on one line, with its type if the message alone is not clear."""
    message = " ".join(str(error).split())
    return message if " " in message else f"{type(error).__name__}: {message}".rstrip(": ")
