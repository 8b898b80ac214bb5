# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

# Measure the installed package, not the sources next to this folder.
sys.path.append(sys.path.pop(0))

from rich.console import Console
from rich.progress import track

from cudf_arrow_bridge import has_gpu

from . import bookkeeping, cases, device, python_bookkeeping
from .measure import Effort, measure
from .memory import peaks
from .reporting import plot, report, speed_page
from .startup import import_cost

_QUICK = Effort(rounds=3, sample_seconds=1e-4)
_FULL = Effort(rounds=200, sample_seconds=1e-3, seconds=2)
_INTERPRETERS = 11
_NO_GPU = "Left out: the GPU cases, ours beside pylibcudf's interop and cuDF, for want of a GPU."
_ON_GPU = "Left out: the cases in host memory; they run where CUDA_VISIBLE_DEVICES hides the GPU."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show that it works; no real numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="also draw them there, as a PNG or SVG"
    )
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="cases whose 'what: case' contains it"
    )
    parser.add_argument(
        "--from", type=Path, metavar="FILE", dest="source",
        help="measure nothing: show and draw the results that --json wrote there",
    )  # fmt: skip
    parser.add_argument(
        "--markdown",
        action="store_true",
        help="print the table of docs/speed.md instead of the others",
    )
    options = parser.parse_args()
    if options.source is not None and (options.quick or options.only or options.json):
        parser.error("--from measures nothing: of the others it takes --plot and --markdown")
    if options.plot is not None:
        try:
            plot.figure_class()  # check before minutes of measuring
        except ModuleNotFoundError as error:
            parser.error(str(error))

    console = Console()
    if options.source is None:
        effort = _QUICK if options.quick else _FULL
        result = _measure(effort, options.only, console)
    else:
        result = json.loads(options.source.read_text())
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    if options.markdown:
        print(speed_page.table(result["results"]))
    else:
        _show(result, console)
    if options.plot is not None:
        try:
            plot.save(result, options.plot)
        except ValueError as error:
            sys.exit(f"{options.plot} was not drawn: {error}")


def _measure(effort: Effort, only: str, console: Console) -> dict[str, Any]:
    gc.freeze()  # collections between the cases skip the objects of imported modules
    rows = 10_000 if effort is _QUICK else 10_000_000
    offered = device.cases() if has_gpu() else cases.cases(conversion_rows=rows)
    # Create one case at a time. The data of all cases would fragment the heap, where ways that
    # allocate structs one by one take several times as long.
    chosen = (case for case in offered if only in f"{case.group}: {case.name}")
    records = [
        report.record(case, measure(case, effort), peaks(case))
        for case in track(
            chosen, "Measuring", console=console, transient=True, disable=not console.is_terminal
        )
    ]
    records.sort(key=lambda entry: entry["group"])
    counted: dict[str, list[dict[str, Any]]] = {"core": [], "python": []}
    left_out = [_ON_GPU if has_gpu() else _NO_GPU]
    if only in "core" and not has_gpu():
        with console.status("Measuring the C++ core, and counting"):
            missing = _bookkeeping(effort, counted)
        left_out += missing
    imported = None
    if not only:
        with console.status("Measuring the import"):
            imported = import_cost(3 if effort is _QUICK else _INTERPRETERS)
    return {
        **report.context(),
        "quick": effort is _QUICK,
        "left_out": left_out,
        "results": records,
        "import": imported,
        **counted,
    }


def _bookkeeping(effort: Effort, counted: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Measure the C++ core and the counts of Python. Return the reason if this was not possible."""
    why = "Left out: the C++ core beside its floor, and what Python's tables and frames take"
    try:
        program = bookkeeping.Program()
        instructions = effort is _FULL and bookkeeping.counts_instructions()
        counted["core"] = program.records(effort.rounds, instructions=instructions)
        counted["python"] = python_bookkeeping.records(program, instructions=instructions)
    except FileNotFoundError as error:
        return [f"{why}, for want of {error.filename}"]
    except subprocess.CalledProcessError as error:
        return [f"{why}: {error.stderr}"]
    return []


def _show(result: dict[str, Any], console: Console) -> None:
    for table in report.tables(result["results"]):
        console.print(table)
    streams = report.memory_table(result["results"])
    if streams is not None:
        console.print(streams)
    if result["core"]:
        console.print(bookkeeping.table(result["core"]))
    if result["python"]:
        console.print(python_bookkeeping.table(result["python"]))
    if result["import"] is not None:
        console.print(report.import_line(result["import"]), soft_wrap=True)
    for line in result["left_out"]:
        console.print(line, soft_wrap=True)


if __name__ == "__main__":
    main()
