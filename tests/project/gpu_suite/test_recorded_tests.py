# SPDX-License-Identifier: Apache-2.0
"""dev/gpu/suite.py: each test is recorded once, even if its process crashes or hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dev.gpu import report
from dev.gpu.outcome import FAILED, PASSED, SKIPPED, UNFINISHED
from dev.gpu.run import Run
from dev.gpu.suite import Selection, over, run_tests

pytestmark = pytest.mark.exhaustive
HEAD = """
import os, pathlib, signal, time
import pytest

pytestmark = pytest.mark.gpu

@pytest.fixture(autouse=True)
def ran(request):
    with (pathlib.Path(__file__).parent / "ran").open("a") as file:
        print(request.node.name, os.getpid(), file=file)
"""
QUIET = """
def test_passes(record_property):
    record_property("row", "E1")
    record_property("pylibcudf", "wrong | \\x00 rows")

def test_fails():
    assert [1] == [2], "not <the> same"

def test_skips():
    pytest.skip("no such thing")

@pytest.fixture
def broken():
    raise OSError("cannot be set up")

def test_cannot_begin(broken):
    pass
"""
UNRULY = """
@pytest.fixture
def bad_end():
    yield
    raise OSError("cannot be torn down")

def test_ends_badly(bad_end):
    pass

def test_crashes():
    os.kill(os.getpid(), signal.SIGKILL)

def test_hangs():
    time.sleep(600)

def test_leaves():
    os._exit(0)

def test_comes_last():
    pass
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder for tests that are not tests of this project."""
    made = tmp_path / "scratch"
    made.mkdir()
    (made / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
    return made


def write(folder, body, name="test_it.py"):
    (folder / name).write_text(HEAD + body)


def run_of(folder, seconds=None):
    end = None if seconds is None else time.monotonic() + seconds
    return Run(folder.parent / "results", Path(sys.executable), has_gpu=False, end=end)


def selection(folder, **options):
    return Selection("scratch", (str(folder),), **options)


def outcomes(run):
    found = over(run.file("scratch.jsonl"))
    return {test.rpartition("::")[2]: record["outcome"] for test, record in found.items()}


def ran(folder):
    """Return the name and the process of each test that started, once for each start."""
    return [line.split() for line in (folder / "ran").read_text().splitlines()]


def test_each_test_is_recorded_once_despite_crashes(folder):
    write(folder, QUIET + UNRULY)
    (folder / "test_unreadable.py").write_text("import no_such_module\n")
    run = run_of(folder)
    outcome = run_tests(run, selection(folder, patience=3))
    assert outcomes(run) == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_skips": "skipped",
        "test_cannot_begin": "error",
        "test_ends_badly": "error",
        "test_crashes": "crashed",
        "test_hangs": "crashed",
        "test_leaves": "crashed",
        "test_comes_last": "passed",
        "test_unreadable.py": "error",
    }
    assert outcome.status == FAILED
    assert outcome.details["counts"] == Counter(outcomes(run).values())
    assert outcome.details["skips"] == {"no such thing": 1}
    assert set(Counter(name for name, _ in ran(folder)).values()) == {1}
    messages = {test: r["message"] for test, r in over(run.file("scratch.jsonl")).items()}
    assert "not <the> same" in messages["test_it.py::test_fails"]
    assert "exit code -9" in messages["test_it.py::test_crashes"]
    assert "in test_hangs" in messages["test_it.py::test_hangs"]  # the stack

    # A second call runs no tests.
    assert run_tests(run, selection(folder)) == outcome
    assert len(ran(folder)) == 9


def test_next_call_continues_with_the_tests_that_had_no_time_left(folder):
    names = [f"test_{i}" for i in range(8)]
    test = "def {0}(): time.sleep(0.7); assert '{0}' != 'test_0'\n"
    body = "".join(test.format(name) for name in names)
    write(folder, body)
    statuses = []
    while not statuses or statuses[-1] == UNFINISHED:
        statuses.append(run_tests(run_of(folder, seconds=4), selection(folder)).status)
        assert len(statuses) < 60
    assert statuses[-1] == FAILED  # but not before all tests ran
    assert len(statuses) > 1
    # A test that was running at the end of the time may have started again.
    assert list(dict.fromkeys(name for name, _ in ran(folder))) == names
    log = run_of(folder).file("scratch.log").read_text()
    assert "time is up" in log  # printed by pytest, which was not killed
    assert sum(line.startswith("$ ") for line in log.splitlines()) == len(statuses)


def test_end_of_the_time_is_not_recorded_as_a_failure_of_the_running_test(folder, monkeypatch):
    """This holds even if the process must be killed."""
    monkeypatch.setattr("dev.gpu.run._GRACE_SECONDS", 1)
    wait = folder / "wait"
    wait.touch()
    write(
        folder,
        "def test_long():\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"    while os.path.exists({str(wait)!r}): time.sleep(0.1)\n",
    )
    cut_short = run_of(folder, seconds=4)
    assert run_tests(cut_short, selection(folder)).status == UNFINISHED
    assert outcomes(cut_short) == {}
    [(_, process)] = ran(folder)
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)
    wait.unlink()
    assert run_tests(run_of(folder), selection(folder)).status == PASSED
    assert outcomes(cut_short) == {"test_long": "passed"}


def test_crash_is_recorded_with_the_stack_of_its_process(folder):
    write(
        folder,
        "def deep(n): return deep(n - 1) if n else os.abort()\n"
        "def test_crashes_first(): deep(50)\n"
        "def test_crashes_second(): deep(0)\n"
        "def test_ends(): os._exit(3)\n",
    )
    run = run_of(folder)
    run_tests(run, selection(folder))
    messages = {test: r["message"] for test, r in over(run.file("scratch.jsonl")).items()}
    for test in ("test_crashes_first", "test_crashes_second"):
        stack, _, end = messages[f"test_it.py::{test}"].rpartition("\n")
        assert stack.startswith("Fatal Python error: Aborted")
        assert [name for name in messages if f"in {name.rpartition('::')[2]}\n" in stack] == [
            f"test_it.py::{test}"
        ]
        assert end == "the process ended within it, with exit code -6"
    assert messages["test_it.py::test_ends"] == "the process ended within it, with exit code 3"


def test_incomplete_line_of_a_record_is_ignored(folder):
    write(folder, "def test_crashes(): os.abort()\n")
    run = run_of(folder)
    run.file("scratch.jsonl").write_text('{"over": "test_it.py::test_cra')
    run_tests(run, selection(folder))
    assert outcomes(run) == {"test_crashes": "crashed"}


def test_new_process_continues_after_the_cuda_context_is_lost(folder, tmp_path, monkeypatch):
    """A fake of cuda.bindings reports a lost context if a test has set LOST."""
    fake = tmp_path / "fake/cuda/bindings"
    fake.mkdir(parents=True)
    for package in (fake, fake.parent):
        (package / "__init__.py").touch()
    (fake / "runtime.py").write_text(
        "import os\nclass Error: pass\n"
        "def cudaDeviceSynchronize():\n    error = Error()\n"
        "    lost = 'LOST' in os.environ\n"
        "    error.name = 'cudaErrorIllegalAddress' if lost else 'cudaSuccess'\n"
        "    return (error,)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    write(
        folder,
        "def test_fails(): assert False\n"
        "def test_loses(): os.environ['LOST'] = '1'; assert False\n"
        "def test_works(): assert 'LOST' not in os.environ\n",
    )
    run = run_of(folder)
    assert run_tests(run, selection(folder)).status == FAILED
    assert outcomes(run) == {
        "test_fails": "failed", "test_loses": "failed", "test_works": "passed",
    }  # fmt: skip
    first, second, third = (process for _, process in ran(folder))
    assert first == second != third


def test_empty_cuda_visible_devices_is_inherited(folder, monkeypatch):
    """An empty CUDA_VISIBLE_DEVICES hides all devices. If it is unset, no device is hidden."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run, log = run_of(folder), folder / "log"
    run.execute(["env"], log, 60, PYTHONSAFEPATH="")
    found = log.read_text().splitlines()
    assert "CUDA_VISIBLE_DEVICES=" in found
    assert not [line for line in found if line.startswith("PYTHONSAFEPATH")]


def test_exit_outside_of_a_test_is_a_failure(folder):
    write(folder, "import atexit\natexit.register(os._exit, 7)\ndef test_passes(): pass\n")
    outcome = run_tests(run_of(folder), selection(folder))
    assert outcome.status == FAILED
    assert "exit code 7 after the last test" in outcome.reason
    (folder / "conftest.py").write_text("import os\nos._exit(8)\n")
    write(folder, "def test_another(): pass\n", name="test_more.py")
    outcome = run_tests(run_of(folder), selection(folder))
    assert outcome.status == FAILED
    assert "exit code 8 outside of any test" in outcome.reason


def test_outcome_of_skipped_tests_has_their_reasons(folder):
    write(folder, "def test_a(): pytest.skip('no torch')\ndef test_b(): pytest.skip('no torch')\n")
    outcome = run_tests(run_of(folder), selection(folder))
    assert outcome.status == SKIPPED
    assert outcome.reason == "2 skipped: no torch"
    write(folder, "pytest.importorskip('no_such_module')\ndef test_c(): pass\n", "test_more.py")
    outcome = run_tests(run_of(folder), selection(folder))
    assert outcome.status == SKIPPED
    assert outcome.reason.startswith("3 skipped: no torch; could not import 'no_such_module'")


SANITIZER = """#!/bin/sh
# Stands for compute-sanitizer: runs what it is given, and reports SUMMARY.
while [ "${1#--}" != "$1" ]; do
  if [ "$1" = --log-file ]; then log=$(echo "$2" | sed "s/%p/$$/"); fi
  shift 2
done
"$@"
code=$?
printf '========= COMPUTE-SANITIZER\\n========= %s\\n' "$SUMMARY" > "$log"
case $SUMMARY in *": 0 "*) exit $code ;; *) exit 9 ;; esac
"""


@pytest.mark.parametrize(
    ("tool", "summary", "errors"),
    [
        ("memcheck", "ERROR SUMMARY: 0 errors", 0),
        ("memcheck", "ERROR SUMMARY: 3 errors", 3),
        ("racecheck", "RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)", 2),
    ],
)
def test_error_of_a_sanitizer_is_a_failure(tool, summary, errors, folder, tmp_path, monkeypatch):
    program = tmp_path / "compute-sanitizer"
    program.write_text(SANITIZER)
    program.chmod(0o755)
    monkeypatch.setenv("SUMMARY", summary)
    write(folder, "def test_passes(): pass\n")
    run = replace(run_of(folder), sanitizer=str(program))
    outcome = run_tests(run, selection(folder, tool=tool))
    assert outcomes(run_of(folder)) == {"test_passes": "passed"}
    assert outcome.status == (FAILED if errors else PASSED)
    assert outcome.details["errors"] == errors


def test_junit_report_equals_that_of_pytest(folder):
    write(folder, QUIET)
    run = run_of(folder)
    run_tests(run, selection(folder))
    theirs = folder / "theirs.xml"
    command = [sys.executable, "-m", "pytest", "-q", folder, f"--junitxml={theirs}"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)

    def read(root):
        [suite] = root.iter("testsuite")
        counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
        cases = {
            case.get("name"): [child.tag for child in case if child.tag != "properties"]
            for case in suite
        }
        said = {one.get("name"): one.get("value") for one in suite.iter("property")}
        return counts, cases, said.keys(), said["row"]

    path = folder / "ours.xml"
    report.junit(run.results).write(path)
    assert read(ElementTree.parse(path)) == read(ElementTree.parse(theirs))


def test_comparison_is_made_of_the_recorded_properties(folder):
    write(folder, QUIET)
    run = run_of(folder)
    run_tests(run, selection(folder))
    rows = report.comparison(over(run.file("scratch.jsonl")).values())
    [told] = [row for row in rows if row["row"]]
    assert told == {
        "row": "E1", "what": "", "right": "", "here": "right", "pylibcudf": "wrong | \x00 rows",
        "test": "test_it.py::test_passes",
    }  # fmt: skip
    assert [row["here"] for row in rows] == ["error", "failed", "right", "skipped"]
    assert json.loads(json.dumps(rows)) == rows
