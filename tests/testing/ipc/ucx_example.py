# SPDX-License-Identifier: Apache-2.0
"""The example of the Dissociated IPC Protocol, run as a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples"


def run_example(folder: Path, **environment: str) -> tuple[str, str]:
    """Return the output of the program, and the protocols that UCX logs to files of a folder."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "dissociated_ipc.py")],
        env={name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
        | environment
        | {"UCX_LOG_FILE": f"{folder}/ucx.%p", "UCX_PROTO_INFO": "y"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, "".join(file.read_text() for file in folder.glob("ucx.*"))
