# SPDX-License-Identifier: Apache-2.0
"""``roundtrip``: send files across the bridge and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudf_arrow_bridge.cli import exits, report
from cudf_arrow_bridge.cli.bridge import BridgeError, load_to_compute
from cudf_arrow_bridge.cli.readers import ReadError, open_file

if TYPE_CHECKING:
    from rich.console import Console

LONG_WORK = 32_000_000


def run(
    files: Sequence[str],
    *,
    rows: int | None = None,
    max_rows: int | None = None,
    as_json: bool = False,
) -> int:
    """Send each file across and back and report on it.

    Parameters
    ----------
    files : sequence of str
        Paths.
    rows : int, optional
        Take only this many rows of each.
    max_rows : int, optional
        Cross in batches of at most this many rows.
    as_json : bool, optional
        Print JSON instead of tables.

    Returns
    -------
    int
        The exit code.
    """
    try:
        bridge = load_to_compute()
    except BridgeError as error:
        report.complain(str(error))
        return exits.FAILED
    from cudf_arrow_bridge.cli.trip import round_trip

    codes: list[int] = []
    documents: list[dict[str, Any]] = []
    out = report.console()
    with progress(out, files, hidden=as_json) as step:
        for number, name in enumerate(files):
            try:
                trip = round_trip(bridge, open_file(name), rows, partial(step, number), max_rows)
            except ReadError as error:
                report.complain(str(error))
                codes.append(exits.UNREADABLE)
                documents.append({"file": name, "error": str(error)})
                continue
            codes.append(code_of(trip.results()))
            documents.append(asdict(trip) | {"error": None})
            if not as_json:
                report.show_trip(out, trip)
    code = exits.worst(codes)
    if as_json:
        report.show_json({"exit_code": code, "files": documents})
    return code


def code_of(results: set[str]) -> int:
    """Turn the results of a file's columns into an exit code."""
    if results & {"mismatch", "failed"}:
        return exits.FAILED
    return exits.UNSUPPORTED if "unsupported" in results else exits.OK


@contextmanager
def progress(
    out: Console, files: Sequence[str], *, hidden: bool
) -> Iterator[Callable[[int, str], None]]:
    """Show a bar during long work on a terminal; yields a function to call at each step."""
    if hidden or not sys.stdout.isatty() or not is_long(files):
        yield lambda number, name: None
        return
    from rich.markup import escape
    from rich.progress import Progress

    from cudf_arrow_bridge.cli.trip import STEPS

    with Progress(console=out, transient=True) as bar:
        task = bar.add_task("", total=len(files))

        def step(number: int, name: str) -> None:
            done = number + STEPS.index(name) / len(STEPS)
            bar.update(task, completed=done, description=escape(f"{files[number]}: {name}"))

        yield step


def is_long(files: Sequence[str]) -> bool:
    """Whether the work may take long enough for a bar."""
    if len(files) > 1:
        return True
    path = Path(files[0])
    return path.is_file() and path.stat().st_size >= LONG_WORK
