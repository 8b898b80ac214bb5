# SPDX-License-Identifier: Apache-2.0
"""The parts, in the order in which they run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .outcome import FAILED, PASSED, SKIPPED, UNFINISHED, Outcome
from .run import Run, last_lines
from .suite import Selection, run_tests

_GPU = "tests/gpu"
_COMPUTING = (f"{_GPU}/test_computing.py", f"{_GPU}/test_conversions.py")
_STREAMS = (f"{_GPU}/streams", f"{_GPU}/test_default_streams.py")
_ROWS = f"{_GPU}/peers"
_PROCESSES = (f"{_GPU}/processes", f"{_GPU}/test_dask_cuda.py")
#: Excludes tests that depend on timing or repeat thousands of times: compute-sanitizer is slow.
_QUICK_TESTS = ("-m", "gpu and not slow_kernel", "-k", "not thousands")
_SECONDS_WITH_PROCESSES, _SECONDS_WITH_A_TOOL = 300, 400
_SMOKE_SECONDS, _SPEED_SECONDS = 300, 900
_FLIGHTS = "examples/data/nyc_flights.parquet"

_Command = list[str | Path]


@dataclass(frozen=True)
class Part:
    """A part.

    Attributes
    ----------
    name, what
        The name and the description.
    do
        The function that runs the part.
    needs
        The required distribution. The part is skipped without it.
    needs_seconds
        The minimum duration. The part is not started if less time is left.
    """

    name: str
    what: str
    do: Callable[[Run], Outcome]
    needs: str
    needs_seconds: float


def _tests(name: str, what: str, *arguments: str, patience: float = 120) -> Part:
    selection = Selection(name, arguments, patience)
    return Part(name, what, partial(run_tests, selection=selection), "pytest", 20)


def _sanitized(tool: str, what: str, *arguments: str) -> Part:
    selection = Selection(tool, (*_QUICK_TESTS, *arguments), _SECONDS_WITH_A_TOOL, tool)

    def do(run: Run) -> Outcome:
        if run.sanitizer is None:
            return Outcome(SKIPPED, "compute-sanitizer is missing: it comes with the CUDA toolkit")
        if not run.has_gpu:
            return Outcome(SKIPPED, "no GPU, without which compute-sanitizer cannot start")
        return run_tests(run, selection)

    return Part(tool, what, do, "pytest", 60)


def _measured(name: str, what: str, seconds: float, needs: str, *command: str) -> Part:
    def do(run: Run) -> Outcome:
        log, path = f"{name}.log", run.results / f"{name}.json"
        effort = () if run.has_gpu else ("--quick",)
        whole: _Command = [run.python, "-m", *command, "--json", path, *effort]
        # The benchmarks are in the clone and import the installed package.
        code = run.execute(whole, run.file(log), _SPEED_SECONDS, PYTHONSAFEPATH="")
        if code != 0:
            return _not_through(run, code, log)
        if not run.has_gpu:
            path.unlink()
            return Outcome(SKIPPED, "no GPU: what does without one was run, and not kept")
        return Outcome(PASSED, details={"measured": json.loads(path.read_text())})

    return Part(name, what, do, needs, seconds)


def _smoke(run: Run) -> Outcome:
    bridge: _Command = [run.python, "-P", "-m", "cudf_arrow_bridge"]
    commands: list[_Command] = [
        [run.python, "-P", "dev/gpu/smoke.py"],
        [*bridge, "doctor"],
        [*bridge, "roundtrip", _FLIGHTS],
    ]
    for command in commands:
        code = run.execute(command, run.file("smoke.log"), _SMOKE_SECONDS)
        if code != 0:
            return _not_through(run, code, "smoke.log")
    if not run.has_gpu:
        return Outcome(SKIPPED, "no GPU: imports and the way of a file in host memory work")
    return Outcome(PASSED)


def _not_through(run: Run, code: int | None, log: str) -> Outcome:
    if code is None and run.seconds_left() <= 0:
        return Outcome(UNFINISHED, "time was up")
    said = (last_lines(run.file(log), 1) or [""])[0]
    return Outcome(FAILED, f"{'took too long' if code is None else f'exit code {code}'}: {said}")


def _without(*paths: str) -> list[str]:
    return [f"--ignore={path}" for path in paths]


PARTS = (
    Part("smoke", "libraries by themselves, doctor, a file there and back", _smoke, "pyarrow", 20),
    _tests("computing", "libcudf's algorithms on what was imported", *_COMPUTING),
    _tests("streams", "who waits for whom, behind slow kernels", *_STREAMS),
    _tests(
        "tests", "all other tests of one process",
        _GPU, *_without(*_COMPUTING, *_STREAMS, _ROWS, *_PROCESSES),
    ),
    _tests("rows", "ours beside pylibcudf's own interop, row by row", _ROWS),
    _measured(
        "speed", "ours beside pylibcudf and cuDF", 240, "rich", "benchmarks", "--only", "gpu "
    ),
    _measured(
        "speed-ipc", "bodies of Arrow IPC beside plain copies of pinned memory", 60, "rich",
        "benchmarks.gpu.bandwidth",
    ),
    _measured(
        "speed-processes", "pickling beside cuDF's", 90, "distributed", "benchmarks.processes"
    ),
    _measured(
        "speed-queries", "frames of cudf-polars beside its own conversions", 60, "polars",
        "benchmarks.queries",
    ),
    _tests(
        "processes", "Dask and Ray, with workers", *_PROCESSES, patience=_SECONDS_WITH_PROCESSES
    ),
    _tests(
        "examples", "the examples of README and of the pages", "tests/project/test_pages.py",
        patience=_SECONDS_WITH_PROCESSES,
    ),
    _sanitized(
        "memcheck", "the tests of one process under compute-sanitizer's memcheck",
        _GPU, *_without(_ROWS, *_PROCESSES),
    ),
    _sanitized("initcheck", "those that compute, under initcheck", *_COMPUTING),
    _sanitized("racecheck", "those that compute, under racecheck", *_COMPUTING),
)  # fmt: skip
