# SPDX-License-Identifier: Apache-2.0
"""Results as a table for people and as JSON for machines."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from .measure import Case, Measured, Spread
from .ways import OURS

__all__ = ["context", "import_line", "memory_table", "record", "table"]

_DISTRIBUTIONS = (
    "cudf-cu12", "cudf-cu13", "libcudf-cu12", "libcudf-cu13", "nanoarrow", "numpy", "pyarrow",
    "pylibcudf-cu12", "pylibcudf-cu13",
)  # fmt: skip
_MICRO = 1e6


def context() -> dict[str, Any]:
    """Say where, when and with what the numbers were made."""
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
    """Return one case's results: times in microseconds per call, memory in KiB."""
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


def table(records: list[dict[str, Any]]) -> Table:
    """Lay records out for the terminal."""
    peers = _peers(records)
    result = _table("Microseconds per call: median (interquartile range)", [OURS, *peers])
    result.caption = (
        "/ pyarrow and the like: ours as a multiple of theirs; in brackets with the release of what"
        " was made."
    )
    for peer in peers:
        result.add_column(f"/ {peer}", justify="right")
    for before, entry in zip([None, *records], records, strict=False):
        if before is not None and before["group"] != entry["group"]:
            result.add_section()
        result.add_row(
            entry["group"],
            entry["case"],
            *(_time(entry["contestants"].get(name)) for name in [OURS, *peers]),
            *(_ratio(entry["ratios"].get(peer)) for peer in peers),
        )
    return result


def memory_table(records: list[dict[str, Any]]) -> Table | None:
    """Lay out what streams take at their peak, which is what a stream is for; None without any."""
    streams = [entry for entry in records if entry["group"].startswith("stream")]
    if not streams:
        return None
    peers = _peers(streams)
    result = _table("Peak memory of one call: KiB that the process grows by", [OURS, *peers])
    for entry in streams:
        peaks = (entry["contestants"].get(name, {}).get("peak_kib") for name in [OURS, *peers])
        cells = ("-" if peak is None else str(peak) for peak in peaks)
        result.add_row(entry["group"], entry["case"], *cells)
    return result


def import_line(cost: dict[str, Any]) -> str:
    ours, pylibcudf = (cost[name]["median_ms"] for name in (OURS, "pylibcudf"))
    return f"import {OURS} adds {ours:.1f} ms to the {pylibcudf:.1f} ms of import pylibcudf."


def _peers(records: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(peer for entry in records for peer in entry["ratios"]))


def _table(title: str, contestants: list[str]) -> Table:
    result = Table(title=title, box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    result.add_column("what")
    result.add_column("case")
    for name in contestants:
        result.add_column("ours" if name == OURS else name, justify="right")
    return result


def _time(spreads: dict[str, Any] | None) -> str:
    if spreads is None:
        return "-"
    lower, upper = spreads["call"]["quartiles_us"]
    return f"{_short(spreads['call']['median_us'], 1)} ({_short(upper - lower, 1)})"


def _ratio(ratio: dict[str, float] | None) -> str:
    if ratio is None:
        return "-"
    return f"{_short(ratio['call'], 2)} ({_short(ratio['with_release'], 2)})"


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits if value < 100 else 0}f}"
