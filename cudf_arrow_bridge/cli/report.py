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
#: The length of names that are not wrapped, and the least width of columns that are.
NAME_WIDTH = 16
LEAST_WIDTH = 6
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

    If the table is too wide, long names and types are wrapped, or types truncated. If it is still
    too wide, its lines are longer than those of the terminal.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    rows = [list(map(printable, row)) for row in rows]
    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    # Each column has a space on both sides.
    least = 2 * len(headings)
    for heading, *cells in zip(headings, *rows, strict=True):
        longest = max(map(cell_len, (heading, *cells)))
        limit = NAME_WIDTH if heading == "Column" else LEAST_WIDTH
        is_whole = heading in NUMBERS + WORDS or longest <= limit
        least += longest if is_whole else LEAST_WIDTH
        result.add_column(
            heading,
            justify="right" if heading in NUMBERS else "left",
            no_wrap=is_whole,
            overflow="fold",
        )
    for row in rows:
        texts = [Text(cell, COLOURS.get(cell, "")) for cell in row]
        for heading, text in zip(headings, texts, strict=True):
            if truncate_types and heading in TYPES:
                # Of the cell, since rich does not reduce a column that is not wrapped.
                text.no_wrap, text.overflow = True, "ellipsis"
        result.add_row(*texts)
    if least > out.width:
        result.width = least  # otherwise rich would cut off numbers and words
    print_line(out, title, "bold")
    out.print(result, crop=False)


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
