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

from rich.table import Table

from .measure import Case, Spread

__all__ = ["context", "record", "table"]

_DISTRIBUTIONS = (
    "cudf-cu12", "cudf-cu13", "libcudf-cu12", "libcudf-cu13", "numpy", "pyarrow", "pylibcudf-cu12",
    "pylibcudf-cu13",
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


def record(case: Case, measured: dict[str, dict[str, Spread]]) -> dict[str, Any]:
    """Return one case's results, times in microseconds per call."""
    first, *others = measured
    return {
        "group": case.group,
        "case": case.name,
        "contestants": {
            name: {
                part: {
                    "median_us": round(spread.median * _MICRO, 3),
                    "quartiles_us": [
                        round(spread.lower * _MICRO, 3),
                        round(spread.upper * _MICRO, 3),
                    ],
                }
                for part, spread in parts.items()
            }
            for name, parts in measured.items()
        },
        "ratios": {
            f"{first} / {other}": {
                part: round(measured[first][part].median / measured[other][part].median, 3)
                for part in measured[first]
            }
            for other in others
        },
    }


def table(records: list[dict[str, Any]]) -> Table:
    """Lay records out for the terminal."""
    result = Table(
        title="Microseconds per call: median (interquartile range)",
        caption="Ratio: the first to the second; in brackets with the release of what was made.",
    )
    result.add_column("what")
    result.add_column("case")
    for heading in ("first", "second", "ratio"):
        result.add_column(heading, justify="right")
    for before, entry in zip([None, *records], records, strict=False):
        if before is not None and before["group"] != entry["group"]:
            result.add_section()
        (ratio,) = entry["ratios"].values()
        result.add_row(
            entry["group"],
            entry["case"],
            *(_time(name, parts["call"]) for name, parts in entry["contestants"].items()),
            f"{ratio['call']:.2f} ({ratio['with_release']:.2f})",
        )
    return result


def _time(name: str, spread: dict[str, Any]) -> str:
    lower, upper = spread["quartiles_us"]
    return f"{name} {spread['median_us']:.1f} ({upper - lower:.1f})"
