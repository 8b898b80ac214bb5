# SPDX-License-Identifier: Apache-2.0
"""`bash dev/test-gpu.sh` on machines without a GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cudf_arrow_bridge as cab

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="about machines without a GPU")
ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "dev/test-gpu.sh"

TESTS = """
import os, time

def test_passes(record_property):
    record_property("row", "E1")

def test_fails():
    assert not "right"

def test_crashes():
    os.abort()

def test_hangs():
    time.sleep(1000)

def test_last():
    pass
"""


@pytest.fixture
def command(tmp_path):
    def run(*arguments, **environment):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", SCRIPT, "--results", tmp_path / "results", *arguments],
            env=os.environ | {"PATH": path} | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_parts_are_skipped_without_a_gpu(command):
    done = command("smoke", "memcheck")
    assert done.returncode == 0, done.stderr
    reason = "skipped: no CUDA driver or no CUDA device"
    assert done.stdout.splitlines() == [f"smoke: {reason}", f"memcheck: {reason}"]
    assert command(CUDF_ARROW_BRIDGE_REQUIRE_GPU="1").returncode == 1


def test_named_test_files_exist():
    names = re.findall(r'"\$gpu/(test_\w+\.py)"', SCRIPT.read_text())
    assert len(names) > 5
    assert all((ROOT / "tests/gpu" / name).exists() for name in names)


@pytest.mark.exhaustive
def test_tests_that_fail_crash_or_hang_are_named_and_the_others_run(command, tmp_path):
    pytest.importorskip("pytest_timeout")
    (tmp_path / "test_trial.py").write_text(TESTS)
    options = ("--host", tmp_path / "test_trial.py")
    failed = command(*options, "rows", TEST_SECONDS="8")
    assert failed.returncode == 1
    assert "rows: failed: exit code 1" in failed.stdout
    results = tmp_path / "results"
    log = (results / "rows.log").read_text()
    for name in ("test_crashes", "test_hangs"):
        assert re.search(rf"crashed while running '.*::{name}'", log)
        assert re.search(rf'File ".*", line \d+ in {name}', log)  # its stack
    found = json.loads((results / "gpu-none.json").read_text())
    assert found["parts"]["rows"] == {
        "status": "failed: exit code 1", "tests": 5, "failures": 1, "errors": 2, "skipped": 0,
    }  # fmt: skip
    row = {"test": "test_passes", "here": "right", "row": "E1"}
    assert row in found["pylibcudf"]

    # The failed part runs again, and the passed one does not.
    (tmp_path / "test_trial.py").write_text("def test_passes():\n    pass\n")
    for result in ("passed in", "passed before"):
        again = command(*options, "rows")
        assert again.returncode == 0, again.stdout
        assert f"rows: {result}" in again.stdout
    host = results / "host.json"
    host.write_text(host.read_text().replace('"commit": "', '"commit": "other '))
    mixed = command(*options, "rows")
    assert mixed.returncode == 1
    assert "results of another commit, device or set of packages" in mixed.stderr
