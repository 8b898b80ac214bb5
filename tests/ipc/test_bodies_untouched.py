# SPDX-License-Identifier: Apache-2.0
"""No look at bodies: messages of every type go in and out while nobody may read their pages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cudf_arrow_bridge as cab

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

TESTS = Path(__file__).parents[1]


def run(*arguments):
    """Run the program; returns how it ended, and the last that it said."""
    done = subprocess.run(
        [sys.executable, "-m", "testing.ipc.unreadable", *arguments],
        env=os.environ | {"PYTHONPATH": str(TESTS), "PYTHONFAULTHANDLER": ""},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()[-1:], done.stderr


def test_bodies_are_not_touched():
    code, last, errors = run()
    assert code != -signal.SIGSEGV, f"{last}: a body was read\n{errors}"
    assert (code, last) == (0, ["done"]), f"{last}\n{errors}"


def test_who_does_read_them_dies():
    """Else the test above could not fail."""
    code, last, _ = run("--read")
    assert (code, last) == (-signal.SIGSEGV, ["reading"])
