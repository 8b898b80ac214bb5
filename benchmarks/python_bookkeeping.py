# SPDX-License-Identifier: Apache-2.0
"""The cost of exports and imports of tables and frames in Python, measured by counts."""

from __future__ import annotations

import ctypes
import gc
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from cudf_arrow_bridge import from_arrow_device

from . import peers
from .bookkeeping import Program, instructions, run
from .data import batch_of, ints
from .exchanges import export_of, import_of, to_pylibcudf
from .measure import Contestant
from .reporting.report import short

#: The counted jobs, and the job of a peer that each is compared with.
FLOORS = {
    "table export": "pyarrow's export",
    "table import": "pyarrow's import",
    "frame export": "to_pylibcudf",
    "frame import": "from_pylibcudf",
}
_UNITS = ("allocations", "calls", "instructions")

_FEW, _MANY = 10, 110  # columns; the difference separates the cost of a column from that of a call
_TIMES = 5  # the number of counts of each job
_NOTHING = "nothing"  # an empty job, which measures the overhead of counting
#: Makes the order of sets of strings reproducible, and keeps cuDF from initializing a GPU.
_SAME_EACH_TIME = {"PYTHONHASHSEED": "0", "RAPIDS_NO_INITIALIZE": "1"}

_Counts = dict[str, float]  # by name of the job and number of columns


def records(program: Program, *, instructions: bool) -> list[dict[str, Any]]:
    """Count the cost of each job and of its peer, including the release of the results.

    Returns
    -------
    list
        For each job and unit, the cost of 10 columns ("call") and of each further column
        ("column"), as a pair of ours and the peer's. Allocations are calls of ``malloc`` and
        related functions from C, C++ and Python, which also uses them. Calls are calls of Python
        functions, and calls from these to C functions.
    """
    counted = json.loads(
        run(
            *_child("_print_counts", program.counters),
            **{"LD_PRELOAD": str(program.counters), "PYTHONMALLOC": "malloc", **_SAME_EACH_TIME},
        )
    )
    if instructions:
        counted["instructions"] = _instructions(program.counters)
    return [
        {
            "job": job,
            "floor": floor,
            **{
                unit: {
                    price: [price_of(counts, job), price_of(counts, floor)]
                    for price, price_of in (("call", _of_a_call), ("column", _of_a_column))
                }
                for unit, counts in counted.items()
            },
        }
        for job, floor in FLOORS.items()
    ]


def _of_a_call(counts: _Counts, job: str) -> float:
    return round(counts[f"{job} {_FEW}"] - counts[f"{_NOTHING} {_FEW}"], 1)


def _of_a_column(counts: _Counts, job: str) -> float:
    return round((counts[f"{job} {_MANY}"] - counts[f"{job} {_FEW}"]) / (_MANY - _FEW), 2)


def _instructions(library: Path) -> _Counts:
    found = instructions(*_child("_dump_instructions", library), **_SAME_EACH_TIME)
    return {name: total / _TIMES for name, total in found.items()}


def _child(function: str, library: Path) -> tuple[str, ...]:
    code = (
        f"import sys; sys.path.append({str(Path(__file__).parents[1])!r});"
        f" from benchmarks.python_bookkeeping import {function}; {function}({str(library)!r})"
    )
    # -P: import the installed package instead of the sources.
    return sys.executable, "-P", "-c", code


def table(records: list[dict[str, Any]]) -> Table:
    """Format records as a table for the terminal."""
    units = [unit for unit in _UNITS if unit in records[0]]
    result = Table(
        title="Python's tables and frames: int64 columns",
        caption=(
            "Of 10 columns, and of each further one, with the release of what was made; in brackets"
            " as a multiple of what it is beside. Calls: of functions, by Python's."
        ),
    )
    for heading in ("job", "beside"):
        result.add_column(heading)
    for unit in units:
        result.add_column(f"{unit} of 10", justify="right")
        result.add_column("of 1 more", justify="right")
    for entry in records:
        prices = (entry[unit][price] for unit in units for price in ("call", "column"))
        result.add_row(entry["job"], entry["floor"], *(_price(*price) for price in prices))
    return result


def _price(ours: float, floor: float) -> str:
    multiple = f" ({short(ours / floor, 2)})" if floor > 0 else ""
    return f"{short(ours, 1)}{multiple}"


# The functions below run in a separate process.


def _print_counts(library: str) -> None:
    counters = _counters(library)

    def allocations_of(call: Callable[[], None]) -> int:
        before: int = counters.counters_allocations()
        call()
        after: int = counters.counters_allocations()
        return after - before

    # Use medians, as cuDF iterates over sets whose order depends on addresses.
    counted = {
        unit: {name: statistics.median(map(count_one, _calls(job))) for name, job in _jobs()}
        for unit, count_one in (("allocations", allocations_of), ("calls", _calls_of))
    }
    print(json.dumps(counted))


def _dump_instructions(library: str) -> None:
    counters = _counters(library)
    jobs = list(_jobs())
    counters.counters_start()
    for name, job in jobs:
        for call in _calls(job):
            counters.counters_toggle()
            call()
            counters.counters_toggle()
        counters.counters_dump(name.encode())


def _counters(library: str) -> ctypes.CDLL:
    counters = ctypes.CDLL(library)
    counters.counters_allocations.restype = ctypes.c_uint64
    return counters


def _calls_of(call: Callable[[], None]) -> int:
    seen = 0

    def profile(_frame: object, event: str, _argument: object) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def _jobs() -> Iterator[tuple[str, Contestant]]:
    """Yield all jobs by name and number of columns, after a warm-up that fills their caches."""
    gc.disable()
    for num_columns in (_FEW, _MANY):
        for name, job in _jobs_of(num_columns):
            for call in _calls(job):
                call()
            yield f"{name} {num_columns}", job


def _jobs_of(num_columns: int) -> Iterator[tuple[str, Contestant]]:
    batch = batch_of(ints, num_columns, 1000)
    table, frame = to_pylibcudf(batch), from_arrow_device(batch)
    yield _NOTHING, Contestant("", lambda: None)
    yield "table export", export_of(table)
    yield "table import", import_of(batch, to_pylibcudf)
    yield "frame export", export_of(frame)
    yield "frame import", import_of(batch, from_arrow_device)
    yield FLOORS["table export"], peers.exports(batch)[0]
    yield FLOORS["table import"], peers.imports(batch)[0]
    yield FLOORS["frame export"], peers.frame_export(frame)
    yield FLOORS["frame import"], peers.frame_import(table, batch.schema.names)


def _calls(job: Contestant) -> Iterator[Callable[[], None]]:
    """Yield calls with prepared arguments. Each call releases its arguments and results."""
    for _ in range(_TIMES):
        arguments = [] if job.prepare is None else [job.prepare()]

        def call(arguments: list[object] = arguments) -> None:
            job.call(*arguments)
            arguments.clear()

        yield call
