# SPDX-License-Identifier: Apache-2.0
"""Results as tables and as JSON."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ..exchanges import OURS
from ..measure import Case, Measured, Spread
from ..peers import CONTROL

_DISTRIBUTIONS = (
    "cudf-cu12", "cudf-cu13", "libcudf-cu12", "libcudf-cu13", "nanoarrow", "numpy", "pyarrow",
    "pylibcudf-cu12", "pylibcudf-cu13",
)  # fmt: skip
_MICRO = 1e6
_CAPTION = (
    "Median (interquartile range), with the release of what was made, before the next one. In the"
    " last columns ours as a multiple of theirs; in brackets that of calls whose results are all"
    " kept."
)


def context() -> dict[str, Any]:
    """Return the machine, the date and the versions of the measurement."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "cpu": _cpu(),
            "cores": os.cpu_count(),
        },
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _commit() -> str | None:
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=Path(__file__).parent, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")


def _versions() -> dict[str, str]:
    versions = {}
    for name in _DISTRIBUTIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def record(case: Case, measured: Measured, peaks: dict[str, int | None]) -> dict[str, Any]:
    """Return the results of a case: microseconds per job and KiB of memory per call."""
    first, *others = measured
    return {
        "group": case.group,
        "case": case.name,
        "at": dict([case.at]) if case.at is not None else {},
        "contestants": {
            name: {
                **{part: _microseconds(spread) for part, spread in parts.items()},
                "peak_kib": peaks[name],
            }
            for name, parts in measured.items()
        },
        "ratios": {
            other: {
                part: round(measured[first][part].median / measured[other][part].median, 3)
                for part in measured[first]
            }
            for other in others
        },
    }


def _microseconds(spread: Spread) -> dict[str, Any]:
    lower, median, upper = (
        round(value * _MICRO, 3) for value in (spread.lower, spread.median, spread.upper)
    )
    return {"median_us": median, "quartiles_us": [lower, upper]}


def tables(records: list[dict[str, Any]]) -> Iterator[Table]:
    """Format records for the terminal, as one table for each set of peers."""
    tables: dict[tuple[str, ...], Table] = {}
    last: dict[str, Any] = {}
    for entry in records:
        peers = tuple(entry["ratios"])
        table = tables.setdefault(peers, _times_table(peers))
        if table.row_count > 0 and last["group"] != entry["group"]:
            table.add_section()
        table.add_row(
            entry["group"],
            entry["case"],
            *(_time(entry["contestants"][name]) for name in (OURS, *peers)),
            *(ratio(entry["ratios"][peer]) for peer in peers if peer != CONTROL),
        )
        last = entry
    for table in list(tables.values())[-1:]:
        table.caption = _CAPTION
    yield from tables.values()


def _times_table(peers: tuple[str, ...]) -> Table:
    result = _table(f"Microseconds, one at a time, beside {', '.join(peers)}", (OURS, *peers))
    for peer in peers:
        if peer != CONTROL:  # its ratios would make the table too wide
            result.add_column(f"/ {peer}", justify="right")
    return result


def memory_table(records: list[dict[str, Any]]) -> Table | None:
    """Return a table of the peak memory of streams, or None if there are no streams."""
    streams = [entry for entry in records if entry["group"].startswith("stream")]
    if not streams:
        return None
    contestants = tuple(dict.fromkeys(name for entry in streams for name in entry["contestants"]))
    result = _table("Peak memory of one call: KiB that the process grows by", contestants)
    for entry in streams:
        peaks = (entry["contestants"].get(name, {}).get("peak_kib") for name in contestants)
        cells = ("-" if peak is None else str(peak) for peak in peaks)
        result.add_row(entry["group"], entry["case"], *cells)
    return result


def import_line(cost: dict[str, Any]) -> str:
    added = (f"{name} {spread['median_ms']:.1f} ms" for name, spread in cost.items())
    return f"Import times, each after the ones before: {', '.join(added)}."


def _table(title: str, contestants: tuple[str, ...]) -> Table:
    result = Table(title=title, box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    result.add_column("what", no_wrap=True)
    result.add_column("case")
    for name in contestants:
        result.add_column("ours" if name == OURS else name, justify="right")
    return result


def _time(spreads: dict[str, Any]) -> str:
    lower, upper = spreads["dropped"]["quartiles_us"]
    return f"{short(spreads['dropped']['median_us'], 1)} ({short(upper - lower, 1)})"


def ratio(parts: dict[str, float] | None) -> str:
    """Format the ratio "dropped" of a record, followed by "kept" in parentheses; "-" for None."""
    if parts is None:
        return "-"
    kept = f" ({short(parts['kept'], 2)})" if "kept" in parts else ""
    return f"{short(parts['dropped'], 2)}{kept}"


def short(value: float, digits: int) -> str:
    """Format a number with three significant digits and at most `digits` decimal places."""
    return f"{value:,.{min(digits, 2 if value < 10 else 1) if value < 100 else 0}f}"
