# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

# What is measured is the installed package, not the sources that stand beside this folder.
sys.path.append(sys.path.pop(0))

from rich.console import Console
from rich.progress import track

from .cases import cases
from .measure import Effort, measure
from .report import context, record, table

_QUICK = Effort(rounds=3, sample_seconds=1e-4)
_FULL = Effort(rounds=200, sample_seconds=1e-3)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show that it works; no real numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose name contains it")
    options = parser.parse_args()

    console = Console()
    chosen = [case for case in cases() if options.only in f"{case.group}: {case.name}"]
    effort = _QUICK if options.quick else _FULL
    records = [
        record(case, measure(case, effort))
        for case in track(
            chosen, "Measuring", console=console, transient=True, disable=not console.is_terminal
        )
    ]
    records.sort(key=lambda entry: entry["group"])
    console.print(table(records))
    if options.json is not None:
        result = {**context(), "quick": options.quick, "results": records}
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
