# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# What is measured is the installed package, not the sources that stand beside this folder.
sys.path.append(sys.path.pop(0))

from rich.console import Console
from rich.progress import track

from cudf_arrow_bridge import has_gpu

from . import bookkeeping, cases, device
from .measure import Effort, measure
from .report import context, record, table

_QUICK = Effort(rounds=3, sample_seconds=1e-4)
_FULL = Effort(rounds=200, sample_seconds=1e-3)
_NO_GPU = "Left out: the GPU cases, ours beside pylibcudf's own interop, for want of a GPU."
_ON_GPU = "Left out: the cases in host memory; they run where CUDA_VISIBLE_DEVICES hides the GPU."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show that it works; no real numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose name contains it")
    options = parser.parse_args()

    console = Console()
    offered = device.cases() if has_gpu() else cases.cases()
    chosen = [case for case in offered if options.only in f"{case.group}: {case.name}"]
    effort = _QUICK if options.quick else _FULL
    records = [
        record(case, measure(case, effort))
        for case in track(
            chosen, "Measuring", console=console, transient=True, disable=not console.is_terminal
        )
    ]
    records.sort(key=lambda entry: entry["group"])
    console.print(table(records))
    console.print(_ON_GPU if has_gpu() else _NO_GPU, soft_wrap=True)
    seen = device.sliced_strings() if has_gpu() else None
    if seen is not None:
        console.print("Sliced strings:", seen, soft_wrap=True)
    core = [] if has_gpu() else _core(effort, console, options.only)
    if options.json is not None:
        result = {
            **context(),
            "quick": options.quick,
            "results": records,
            "core": core,
            "sliced_strings": seen,
        }
        options.json.write_text(json.dumps(result, indent=2) + "\n")


def _core(effort: Effort, console: Console, only: str) -> list[dict[str, Any]]:
    """Measure the C++ core, where it can be built."""
    if only not in "core":
        return []
    try:
        with tempfile.TemporaryDirectory() as folder:
            program = bookkeeping.Program(Path(folder))
            records = program.records(
                effort.rounds,
                instructions=effort is _FULL and program.counts_instructions(),
            )
    except FileNotFoundError as error:
        console.print("Left out: the C++ core beside its floor, for want of", error.filename)
        return []
    except subprocess.CalledProcessError as error:
        console.print("Left out: the C++ core beside its floor:", error.stderr, soft_wrap=True)
        return []
    console.print(bookkeeping.table(records))
    return records


if __name__ == "__main__":
    main()
