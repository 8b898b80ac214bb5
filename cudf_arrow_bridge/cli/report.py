# SPDX-License-Identifier: Apache-2.0
"""Tables for people and JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cudf_arrow_bridge import display

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cudf_arrow_bridge.cli.trip import Trip

PIPE_WIDTH = 200
COLOURS = {
    "match": "green", "ok": "green", "zero-copy": "green", "converted": "yellow",
    "unsupported": "yellow", "no": "yellow", "mismatch": "bold red", "failed": "bold red",
}  # fmt: skip


def console() -> Console:
    """Make a console for stdout: no colours and a fixed width where it is no terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(width=width, highlight=False, emoji=False, soft_wrap=False)


def table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Make a table; nothing in it is taken for markup.

    Parameters
    ----------
    title : str
        What stands above it.
    headings : sequence of str
        Column headings; those that end with ``#`` are for numbers.
    rows : iterable of sequence of str
        The cells.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for heading in headings:
        number = heading.endswith("#")
        made.add_column(
            heading.rstrip("#"),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*(Text(cell, COLOURS.get(cell, "")) for cell in row))
    return made


def show_trip(to: Console, trip: Trip) -> None:
    """Print what became of one file."""
    headings = (
        "Column", "Arrow type", "cuDF type", "Rows#", "Nulls#", "Bytes#", "Device", "Crossing",
        "Result", "Note",
    )  # fmt: skip
    rows = [
        (
            c.name, c.arrow_type, c.cudf_type, f"{c.rows:,}", f"{c.nulls:,}",
            "-" if c.bytes is None else display.size(c.bytes),
            c.device or "-", c.crossing or "-", c.result, c.note,
        )
        for c in trip.columns
    ]  # fmt: skip
    to.print(table(f"{display.printable(trip.file)} ({trip.format})", headings, rows))
    for note in trip.notes:
        plain(to, f"Note: {note}")
    times = "  ".join(f"{name} {duration(taken)}" for name, taken in trip.seconds.items())
    plain(to, f"Time: {times}")
    if trip.consumer:
        plain(to, f"Imported on the way by {trip.consumer}.")
    for result in ("unsupported", "mismatch", "failed"):
        for column in trip.columns:
            if column.result == result:
                plain(to, f"{result}: {column.name} ({column.arrow_type}): {column.note}")
    matched = sum(column.result == "match" for column in trip.columns)
    plain(to, f"{matched} of {display.count(len(trip.columns), 'column')} crossed and matched.")


def plain(to: Console, line: str) -> None:
    """Print a line as it is."""
    to.print(line, markup=False, soft_wrap=True)


def complain(message: str) -> None:
    """Print one line on stderr."""
    print(f"cudf-arrow-bridge: {display.printable(message)}", file=sys.stderr)


def show_json(document: Any) -> None:
    """Print a document for programs."""
    print(json.dumps(document, indent=2))


def duration(seconds: float) -> str:
    """Write a time for people."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.0f} µs"
