# SPDX-License-Identifier: Apache-2.0
"""Tables for people and JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cudf_arrow_bridge.arrow import display

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cudf_arrow_bridge.cli.trip import Trip

PIPE_WIDTH = 200
BESIDE_TYPES = 76
NARROWEST_TYPE = 6
COLOURS = {
    "match": "green", "ok": "green", "zero-copy": "green", "converted": "yellow",
    "depends": "yellow", "unsupported": "yellow", "optional": "yellow",
    "mismatch": "bold red", "failed": "bold red", "missing": "bold red",
}  # fmt: skip


def console() -> Console:
    """Make a console for stdout: no colours and a fixed width where it is no terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(width=width, highlight=False, emoji=False, soft_wrap=False)


class Heading(NamedTuple):
    """A column of a table: ``text`` folds, ``type`` is cut on a narrow terminal."""

    label: str
    content: Literal["text", "type", "word", "number"] = "text"


TRIP = (
    Heading("Column"),
    Heading("Arrow type", "type"),
    Heading("cuDF type", "type"),
    Heading("Rows", "number"),
    Heading("Nulls", "number"),
    Heading("Bytes", "number"),
    Heading("Device", "word"),
    Heading("Crossing", "word"),
    Heading("Result", "word"),
)


def table(
    title: str,
    headings: Sequence[Heading],
    rows: Iterable[Sequence[str]],
    type_width: int | None = None,
) -> Table:
    """Make a table; nothing in it is interpreted as markup.

    Parameters
    ----------
    title : str
        The title above it.
    headings : sequence of Heading
        The columns.
    rows : iterable of sequence of str
        The cells.
    type_width : int, optional
        The width at which the names of types are cut off.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(
        title=Text(title, "bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for label, content in headings:
        cut = content == "type" and type_width is not None
        result.add_column(
            Text(label),
            justify="right" if content == "number" else "left",
            no_wrap=cut or content in ("number", "word"),
            overflow="ellipsis" if cut else "fold",
            max_width=type_width if cut else None,
            min_width=len(label) if content in ("number", "word") else None,
        )
    for row in rows:
        result.add_row(*(Text(cell, COLOURS.get(cell, "")) for cell in row))
    return result


def show_trip(to: Console, trip: Trip) -> None:
    """Print the result of one file."""
    rows = [
        (
            c.name,
            c.arrow_type,
            c.cudf_type,
            f"{c.rows:,}",
            f"{c.nulls:,}",
            "-" if c.bytes is None else display.size(c.bytes),
            c.device or "-",
            c.crossing or "-",
            c.result,
        )
        for c in trip.columns
    ]
    title = f"{display.printable(trip.file)} ({trip.format})"
    type_width = max(NARROWEST_TYPE, (to.width - BESIDE_TYPES) // 2) if to.is_terminal else None
    to.print(table(title, TRIP, rows, type_width))
    for note in trip.notes:
        plain(to, f"Note: {note}")
    for column in trip.columns:
        outcome = column.crossing if column.result == "match" else column.result
        if column.note:
            plain(to, f"{outcome}: {column.name} ({column.arrow_type}): {column.note}")
    times = ", ".join(f"{name} {duration(taken)}" for name, taken in trip.seconds.items())
    plain(to, f"Time: {times}.")
    if trip.consumer:
        plain(to, f"Imported on the way by {trip.consumer}.")
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
