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
    from rich.table import Table

PIPE_WIDTH = 200
TYPES = ("Arrow type", "cuDF type")
#: The columns whose cells are never wrapped.
NUMBERS = ("Rows", "Nulls", "Bytes")
WORDS = ("Probe", "Status", "Device", "Crossing", "Result")
COLOURS = {
    "match": "green", "ok": "green", "zero-copy": "green", "converted": "yellow",
    "depends": "yellow", "unsupported": "yellow", "optional": "yellow",
    "mismatch": "bold red", "failed": "bold red", "missing": "bold red",
}  # fmt: skip


def console() -> Console:
    """Create a console for stdout; no colours and a fixed width if it is not a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(width=width, highlight=False, emoji=False, markup=False)


def table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    truncate_types: bool = False,
) -> Table:
    """Create a table; its text is not interpreted as markup.

    If the table is too wide, the names of types are truncated or wrapped.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(
        title=title,
        title_style="bold",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in headings:
        result.add_column(
            heading,
            justify="right" if heading in NUMBERS else "left",
            no_wrap=heading in NUMBERS + WORDS,
            overflow="fold",
        )
    for row in rows:
        cells = [Text(cell, COLOURS.get(cell, "")) for cell in row]
        for heading, cell in zip(headings, cells, strict=True):
            if truncate_types and heading in TYPES:
                # Of the cell, since rich does not reduce the width of a column that is not wrapped.
                cell.no_wrap, cell.overflow = True, "ellipsis"
        result.add_row(*cells)
    return result


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
