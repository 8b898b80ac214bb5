# SPDX-License-Identifier: Apache-2.0
"""One run of dev/test-gpu.sh: its results folder, its time limit, and its commands."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: The time that an interrupted command has to exit before it is killed.
_GRACE_SECONDS = 15


@dataclass(frozen=True)
class Run:
    """The results folder, the environment under test, and the time limit.

    Attributes
    ----------
    results
        The results folder.
    python
        The interpreter of the environment under test.
    has_gpu
        Whether the host has a GPU.
    end
        The value of `time.monotonic()` at which this run must end. None: no limit.
    sanitizer
        The path of compute-sanitizer, or None.
    """

    results: Path
    python: Path
    has_gpu: bool
    end: float | None
    sanitizer: str | None = None

    def file(self, name: str) -> Path:
        """Return the path of a file of a part, and create its folder."""
        folder = self.results / "parts"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def seconds_left(self) -> float:
        return float("inf") if self.end is None else self.end - time.monotonic()

    def environment(self) -> dict[str, str]:
        """Return the environment of commands: no Python sources of the clone, a GPU if any."""
        env = os.environ | {"PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"}
        env["PATH"] = f"{self.python.parent}{os.pathsep}{env.get('PATH', '')}"
        if self.has_gpu:
            env["CUDF_ARROW_BRIDGE_REQUIRE_GPU"] = "1"
        else:
            env["RAPIDS_NO_INITIALIZE"] = "1"
        return env

    def execute(
        self, command: Sequence[str | Path], log: Path, limit: float, **env: str
    ) -> int | None:
        """Run a command in the clone and append its output to a log.

        Parameters
        ----------
        command
            The program and its arguments.
        log
            The file for its output.
        limit
            The time limit in seconds. The remaining time of this run applies if it is less.
        env
            Variables in addition to `environment`. An empty value removes the variable.

        Returns
        -------
        int or None
            The exit code, negative for a signal; None if the time limit was reached.
        """
        taken_out = {name for name, value in env.items() if not value}
        variables = {k: v for k, v in (self.environment() | env).items() if k not in taken_out}
        with log.open("a") as output:
            print("$", *command, file=output, flush=True)
            process = subprocess.Popen(
                command, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                return process.wait(max(0.0, min(limit, self.seconds_left())))
            except subprocess.TimeoutExpired:
                _end(process)
                print("ended: it took too long", file=output)
                return None
            except BaseException:
                _end(process)
                raise


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a command and its child processes as Ctrl-C does, then kill them if necessary."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
            if number == signal.SIGKILL:
                return


def last_lines(log: Path, count: int) -> list[str]:
    return log.read_text(errors="replace").splitlines()[-count:] if log.exists() else []


def write_json(path: Path, value: Any) -> None:
    """Write a file atomically, so that it is never incomplete."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(value, indent=2) + "\n")
    beside.replace(path)
