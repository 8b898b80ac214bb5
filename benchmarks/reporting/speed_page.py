# SPDX-License-Identifier: Apache-2.0
"""The tables and plots of docs/speed.md.

Run ``python -m benchmarks.reporting.speed_page`` to draw the plots from the recorded results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import peers
from ..exchanges import OURS
from . import plot, report

RESULTS = Path(__file__).parents[1] / "results"

_PEERS = (peers.PYARROW, peers.NANOARROW, peers.PYLIBCUDF, peers.CUDF, peers.CONTROL)

#: The name of each group on the page, and its number of columns if it has one case only.
_GROUPS = {
    "export": ("export of a table", None),
    "import": ("import of a table", None),
    "round trip": ("round trip of a table", None),
    "column export": ("export of a column by itself", 1),
    "column import": ("import of a column by itself", 1),
    "frame export": ("export of a cuDF frame", None),
    "frame import": ("import to a cuDF frame", None),
    "frame upload": ("upload to a cuDF frame", None),
    "stream export": ("stream out, a batch", 10),
    "stream import": ("stream in, a batch", 10),
    "stream to frames": ("stream into cuDF frames, a batch", 10),
}
_COLUMNS = (1, 10, 100, 1000)

_TABLES = {"export": "export of a table", "import": "import of a table"}
_FRAMES = {"frame export": "export of a cuDF frame", "frame import": "import to a cuDF frame"}


def table(records: list[dict[str, Any]]) -> str:
    """Format the records of int64 columns, on the host or on a GPU, as Markdown."""
    head = " | ".join(f"{count:,}" for count in _COLUMNS)
    rows = [f"| int64 columns | {head} |", f"| --- {'| --: ' * len(_COLUMNS)}|"]
    for group, (label, fixed) in _GROUPS.items():
        cases = {
            count: entry
            for entry in records
            if entry["group"].removeprefix("gpu ") == group
            and (count := entry["at"].get("columns", fixed)) is not None
        }
        if cases:
            rows.extend(_rows(label, cases))
    return "\n".join(rows)


def _rows(label: str, cases: dict[int, dict[str, Any]]) -> Iterator[str]:
    times = {
        count: report.short(entry["contestants"][OURS]["dropped"]["median_us"], 1)
        for count, entry in cases.items()
    }
    yield _row(f"**{label}**, µs", times)
    for peer in _PEERS:
        ratios = {
            count: report.short(entry["ratios"][peer]["dropped"], 2)
            for count, entry in cases.items()
            if peer in entry["ratios"]
        }
        if ratios:
            yield _row(f"/ {peer}", ratios)


def _row(label: str, cells: dict[int, str]) -> str:
    return f"| {label} | {' | '.join(cells.get(count, '') for count in _COLUMNS)} |"


def on_the_host() -> tuple[str, dict[str, Any]]:
    """Return the heading of the plots of the host, and the recorded results."""
    results = json.loads((RESULTS / "host.json").read_text())
    return _heading(f"host memory, {results['machine']['cpu']}", results), results


def on_a_gpu() -> tuple[str, dict[str, Any]]:
    """Return the heading of the plots of a GPU, and the recorded results."""
    recorded = json.loads((RESULTS / "gpu-nvidia-h200.json").read_text())
    results = recorded["speed"]["speed"]
    return _heading(recorded["host"]["devices"][0]["name"], results), results


def _heading(machine: str, results: dict[str, Any]) -> str:
    return f"{machine}, {results['date'][:10]}, commit {results['commit']}"


def main() -> None:
    for name, prefix, (heading, results) in (
        ("gpu", "gpu ", on_a_gpu()),
        ("host", "", on_the_host()),
    ):
        for what, titles in (("tables", _TABLES), ("frames", _FRAMES)):
            groups = {f"{prefix}{group}": title for group, title in titles.items()}
            plot.save_page_plot(results["results"], groups, heading, RESULTS / f"{name}-{what}.svg")


if __name__ == "__main__":
    main()
