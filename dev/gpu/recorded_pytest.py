# SPDX-License-Identifier: Apache-2.0
"""Run pytest and record each test when it ends, so that the run can be interrupted at any time.

    python -P dev/gpu/recorded_pytest.py RECORDS LEFT_OUT SECONDS PATIENCE [argument of pytest ...]

RECORDS is a file to which the script appends one JSON object per line: when a test starts, when it
ends, and how the run ended. LEFT_OUT is a JSON list of tests to exclude. No test starts later than
SECONDS from now. If a test takes longer than PATIENCE seconds, the process prints the stacks of its
threads and exits.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

_ENOUGH = 4000  # the maximum number of characters of a failure message


class Recorder:
    """The pytest plugin that writes the records."""

    def __init__(
        self, records: Path, left_out: set[str], end: float, patience: float, stacks: int
    ) -> None:
        self._file = records.open("a", encoding="utf-8")
        self._left_out = left_out
        self._end = end
        self._patience = patience
        self._stacks = stacks
        self._reports: list[pytest.TestReport] = []
        self._ending = "all"

    def _write(self, **record: Any) -> None:
        # Flush, as the process can crash. Start a new line, as the last one can be incomplete.
        print("", json.dumps(record), sep="\n", file=self._file, flush=True)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid not in self._left_out]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record files that cannot be collected or are skipped as a whole."""
        if report.failed:
            message = str(report.longrepr)[-_ENOUGH:]
            self._write(over=report.nodeid, outcome="error", seconds=0, message=message)
        elif report.skipped:
            message = _why_skipped(report)
            self._write(over=report.nodeid, outcome="skipped", seconds=0, message=message)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._reports = []
        self._write(start=nodeid)
        faulthandler.dump_traceback_later(self._patience, exit=True, file=self._stacks)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        faulthandler.cancel_dump_traceback_later()
        outcome, message = _outcome(self._reports)
        self._write(
            over=nodeid,
            outcome=outcome,
            seconds=round(sum(report.duration for report in self._reports), 3),
            message=message,
            properties={name: str(value) for name, value in self._reports[-1].user_properties},
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        result = yield
        if any(report.failed for report in self._reports) and (lost := _lost_context()):
            self._stop(item.session, "context", f"{lost}: CUDA is lost to this process")
        elif time.time() >= self._end:
            self._stop(item.session, "time", "time is up")
        return result

    def _stop(self, session: pytest.Session, ending: str, why: str) -> None:
        self._ending = ending
        session.shouldstop = why

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._write(end=self._ending)


def _outcome(reports: list[pytest.TestReport]) -> tuple[str, str]:
    """Return the outcome of a test from the reports of its setup, call and teardown."""
    for report in reports:
        if report.failed:
            return ("failed" if report.when == "call" else "error"), report.longreprtext[-_ENOUGH:]
    for report in reports:
        if report.skipped:
            return "skipped", _why_skipped(report)
    return "passed", ""


def _why_skipped(report: pytest.TestReport | pytest.CollectReport) -> str:
    where = report.longrepr
    why = where[2] if isinstance(where, tuple) else str(where)
    return why.removeprefix("Skipped: ")


def _lost_context() -> str | None:
    """Return the name of the CUDA error that made CUDA unusable in this process, or None."""
    try:
        from cuda.bindings import runtime
    except ImportError:
        return None
    (error,) = runtime.cudaDeviceSynchronize()
    fine = ("cudaSuccess", "cudaErrorNoDevice", "cudaErrorInsufficientDriver")
    return None if error.name in fine else error.name


def main() -> int:
    records, left_out, seconds, patience, *arguments = sys.argv[1:]
    recorder = Recorder(
        Path(records),
        set(json.loads(Path(left_out).read_text())),
        time.time() + float(seconds),
        float(patience),
        os.dup(2),  # pytest captures the output to descriptor 2
    )
    options = ["-p", "no:cacheprovider", "--continue-on-collection-errors"]
    return pytest.main([*options, *arguments], plugins=[recorder])


if __name__ == "__main__":
    sys.exit(main())
