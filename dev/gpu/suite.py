# SPDX-License-Identifier: Apache-2.0
"""Parts that run tests. Each test is recorded once, even if its process crashes."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .outcome import FAILED, PASSED, SKIPPED, UNFINISHED, Outcome
from .run import Run, write_json

_SCRIPT = Path(__file__).with_name("recorded_pytest.py")
#: Seconds: the limit for all tests; the additional time for Python and the libraries; the time
#: before the limit in which no test starts, so that running tests can end.
_LIMIT, _AROUND, _TO_END = 3600, 90, 5
#: Exit codes of a complete run: pytest's for passed, failed and no tests, and that of
#: compute-sanitizer for errors.
_COMPLETE = (0, 1, 5, 9)
_BAD = ("failed", "error", "crashed")
_SKIPS_TOLD = 3
#: What Python writes to the log when a process crashes or hangs.
_STACKS = re.compile(r"^(?:Fatal Python error: |Timeout \().*", re.MULTILINE | re.DOTALL)
_COUNTED = re.compile(r"^=+ [A-Z ]*SUMMARY: (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Selection:
    """A selection of the tests in `tests/gpu`.

    Attributes
    ----------
    name
        The name of the record files.
    arguments
        The arguments of pytest, with paths in the order in which they run.
    patience
        The time limit of a test in seconds. A slower test counts as hanging.
    tool
        The tool of compute-sanitizer to use; empty for none.
    """

    name: str
    arguments: tuple[str, ...]
    patience: float = 120
    tool: str = ""


def run_tests(run: Run, selection: Selection) -> Outcome:
    """Run the tests that are not yet recorded, in as many processes as necessary.

    If the process crashes or hangs in a test, the test is recorded as crashed. After that, or after
    an error that makes CUDA unusable in the process, a new process continues with the next test.
    """
    records, log = run.file(f"{selection.name}.jsonl"), run.file(f"{selection.name}.log")
    left_out = run.file(f"{selection.name}.over")
    while (left := min(run.seconds_left(), _LIMIT)) > 0:
        before = _read(records)
        done = over(records)
        write_json(left_out, list(done))
        begin = max(left - _TO_END, left / 2)
        command: list[str | Path] = [
            *_under(run, selection), run.python, "-P", _SCRIPT,
            records, left_out, str(begin), str(selection.patience),
            "-q", "-m", "gpu", *selection.arguments,
        ]  # fmt: skip
        log_size = log.stat().st_size if log.exists() else 0
        code = run.execute(command, log, left + selection.patience + _AROUND)
        if code is None and run.seconds_left() > 0:
            return _outcome(run, selection, "it hung outside of any test")
        if code is None:
            break
        lines = _read(records)[len(before) :]
        last = lines[-1] if lines else {}
        if last.get("end") == "all":
            broken = "" if code in _COMPLETE else f"exit code {code} after the last test"
            return _outcome(run, selection, broken)
        if last.get("end") == "time":
            break
        if "start" in last:
            message = f"the process ended within it, with exit code {code}"
            output = log.read_bytes()[log_size:].decode(errors="replace")
            if stacks := _STACKS.search(output):
                message = f"{stacks[0]}\n{message}"
            crash = {"over": last["start"], "outcome": "crashed", "seconds": 0, "message": message}
            with records.open("a", encoding="utf-8") as file:
                print("", json.dumps(crash), sep="\n", file=file)
        if len(over(records)) == len(done):
            return _outcome(run, selection, f"exit code {code} outside of any test")
    return _outcome(run, selection, ended=UNFINISHED)


def over(records: Path) -> dict[str, dict[str, Any]]:
    """Return the record of each test that has ended."""
    return {record["over"]: record for record in _read(records) if "over" in record}


def _read(records: Path) -> list[dict[str, Any]]:
    found = []
    for line in records.read_text(encoding="utf-8").splitlines() if records.exists() else ():
        # Ignore a line that a crash left incomplete.
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def _under(run: Run, selection: Selection) -> list[str]:
    if not selection.tool or run.sanitizer is None:
        return []
    return [
        run.sanitizer, "--tool", selection.tool, "--target-processes", "application-only",
        "--error-exitcode", "9", "--report-api-errors", "no",
        "--log-file", str(run.file(f"{selection.name}-%p.txt")),
    ]  # fmt: skip


def _outcome(run: Run, selection: Selection, broken: str = "", ended: str = "") -> Outcome:
    found = over(run.file(f"{selection.name}.jsonl")).values()
    counts = Counter(record["outcome"] for record in found)
    skips = Counter(record["message"] for record in found if record["outcome"] == "skipped")
    details: dict[str, Any] = {"counts": dict(counts), "skips": dict(skips.most_common())}
    told = ", ".join(f"{counts[name]} {name}" for name in sorted(counts)) or "no test"
    bad = sum(counts[name] for name in _BAD)
    if selection.tool:
        logs = run.file("").glob(f"{selection.name}-*.txt")
        errors = sum(int(number) for log in logs for number in _COUNTED.findall(log.read_text()))
        details["errors"] = errors
        told += f"; {selection.tool} reports {errors}"
        bad += errors
    if ended:
        return Outcome(ended, told, details)
    if bad or broken:
        return Outcome(FAILED, f"{told}{'; ' * bool(broken)}{broken}", details)
    if counts.keys() <= {"skipped"}:
        reasons = "; ".join(reason for reason, _ in skips.most_common(_SKIPS_TOLD))
        return Outcome(SKIPPED, f"{told}: {reasons}", details)
    return Outcome(PASSED, told, details)
