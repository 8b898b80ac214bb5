# SPDX-License-Identifier: Apache-2.0
"""Messages of every type are imported and exported while their bodies are unreadable."""

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
    """Run the program. Return its exit code, its last line of output and its errors."""
    done = subprocess.run(
        [sys.executable, "-m", "testing.ipc.unreadable", *arguments],
        env=os.environ | {"PYTHONPATH": str(TESTS), "PYTHONFAULTHANDLER": ""},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()[-1:], done.stderr


def test_import_and_export_of_messages_read_no_body():
    code, last, errors = run()
    assert code != -signal.SIGSEGV, f"{last}: a body was read\n{errors}"
    assert (code, last) == (0, ["done"]), f"{last}\n{errors}"


def test_read_of_an_unreadable_body_ends_the_process():
    """Show that the test above can fail."""
    code, last, _ = run("--read")
    assert (code, last) == (-signal.SIGSEGV, ["reading"])
