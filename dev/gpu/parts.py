# SPDX-License-Identifier: Apache-2.0
"""The parts, in the order in which they are run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .outcome import FAILED, PASSED, SKIPPED, UNFINISHED, Outcome
from .run import Run, last_lines
from .suite import Selection, run_tests

__all__ = ["PARTS", "Part"]

_GPU_TESTS = "tests/gpu"
_ROWS = f"{_GPU_TESTS}/peers"
_PROCESSES = (f"{_GPU_TESTS}/processes", f"{_GPU_TESTS}/test_dask_cuda.py")
_COMPUTING = (f"{_GPU_TESTS}/test_computing.py", f"{_GPU_TESTS}/test_conversions.py")
_STREAMS = (f"{_GPU_TESTS}/streams", f"{_GPU_TESTS}/test_default_streams.py")
#: Under a sanitizer all is slow: nothing that counts on time, or does things by the thousand.
_UNHURRIED = ("-m", "gpu and not slow_kernel", "-k", "not thousands")
_FLIGHTS = "examples/data/nyc_flights.parquet"


@dataclass(frozen=True)
class Part:
    """A part.

    Attributes
    ----------
    name, what
        What it is called, and what it does.
    do
        Does it, given the call and the path of compute-sanitizer, if there is one.
    needs_seconds
        How long it takes at least: with less time left it is not begun.
    """

    name: str
    what: str
    do: Callable[[Run, str | None], Outcome]
    needs_seconds: float = 20


def _without(*paths: str) -> list[str]:
    return [f"--ignore={path}" for path in paths]


def _smoke(run: Run, sanitizer: str | None) -> Outcome:
    log = run.file("smoke.log")
    bridge: list[str | Path] = [run.python, "-P", "-m", "cudf_arrow_bridge"]
    commands: list[list[str | Path]] = [
        [run.python, "-P", "dev/gpu/smoke.py"],
        [*bridge, "doctor"],
        [*bridge, "roundtrip", _FLIGHTS],
    ]
    for command in commands:
        if (code := run.execute(command, log, 300)) != 0:
            return _not_through(run, code, "smoke.log")
    if not run.has_gpu:
        return Outcome(SKIPPED, "no GPU: imports and the way of a file in host memory work")
    return Outcome(PASSED)


def _tests(name: str, *arguments: str, patience: float = 120) -> Callable[..., Outcome]:
    selection = Selection(name, arguments, patience)
    return lambda run, sanitizer: run_tests(run, selection)


def _sanitized(name: str, *arguments: str) -> Callable[..., Outcome]:
    selection = Selection(name, (*_UNHURRIED, *arguments), patience=400, tool=name)

    def do(run: Run, sanitizer: str | None) -> Outcome:
        if sanitizer is None:
            return Outcome(SKIPPED, "compute-sanitizer is missing: it comes with the CUDA toolkit")
        if not run.has_gpu:
            return Outcome(SKIPPED, "no GPU, without which compute-sanitizer cannot start")
        return run_tests(run, selection, sanitizer)

    return do


def _measured(name: str, module: str, *options: str) -> Callable[..., Outcome]:
    def do(run: Run, sanitizer: str | None) -> Outcome:
        log, path = f"{name}.log", run.results.resolve() / f"{name}.json"
        effort = () if run.has_gpu else ("--quick",)
        command: list[str | Path] = [run.python, "-m", module, "--json", path, *options, *effort]
        # The benchmarks lie in the clone, and take the installed package by themselves.
        code = run.execute(command, run.file(log), 900, PYTHONSAFEPATH="")
        if code != 0:
            return _not_through(run, code, log)
        if not run.has_gpu:
            path.unlink()
            return Outcome(SKIPPED, "no GPU: what does without one was run, and not kept")
        return Outcome(PASSED, details={"measured": json.loads(path.read_text())})

    return do


def _not_through(run: Run, code: int | None, log: str) -> Outcome:
    if code is None and run.seconds_left() <= 0:
        return Outcome(UNFINISHED, "time was up")
    said = (last_lines(run.file(log), 1) or [""])[0]
    return Outcome(FAILED, f"{'took too long' if code is None else f'exit code {code}'}: {said}")


PARTS = (
    Part("smoke", "whether the libraries work at all, doctor, a file there and back", _smoke),
    Part(
        "computing", "libcudf's algorithms on what was imported", _tests("computing", *_COMPUTING)
    ),
    Part("streams", "who waits for whom, behind slow kernels", _tests("streams", *_STREAMS)),
    Part(
        "tests",
        "all other tests of one process",
        _tests("tests", _GPU_TESTS, *_without(*_COMPUTING, *_STREAMS, _ROWS, *_PROCESSES)),
    ),
    Part("rows", "ours beside pylibcudf's own interop, row by row", _tests("rows", _ROWS)),
    Part(
        "speed",
        "ours beside pylibcudf and cuDF",
        _measured("speed", "benchmarks", "--only", "gpu "),
        needs_seconds=240,
    ),
    Part(
        "speed-ipc",
        "bodies of Arrow IPC beside plain copies of pinned memory",
        _measured("speed-ipc", "benchmarks.gpu.bandwidth"),
        needs_seconds=60,
    ),
    Part(
        "speed-processes",
        "pickling beside cuDF's",
        _measured("speed-processes", "benchmarks.processes"),
        needs_seconds=90,
    ),
    Part(
        "processes",
        "the tests of Dask and Ray, with workers",
        _tests("processes", *_PROCESSES, patience=300),
    ),
    Part(
        "memcheck",
        "the tests of one process under compute-sanitizer's memcheck",
        _sanitized("memcheck", _GPU_TESTS, *_without(_ROWS, *_PROCESSES)),
        needs_seconds=60,
    ),
    Part(
        "initcheck",
        "those that compute, under initcheck",
        _sanitized("initcheck", *_COMPUTING),
        needs_seconds=60,
    ),
    Part(
        "racecheck",
        "those that compute, under racecheck",
        _sanitized("racecheck", *_COMPUTING),
        needs_seconds=60,
    ),
)
