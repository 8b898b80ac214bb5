# SPDX-License-Identifier: Apache-2.0
"""One call of dev/test-gpu.sh: its folder of results, its time, and the commands that it starts."""

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
#: A command that is asked to end may take so long before it is killed.
_GRACE_SECONDS = 15


@dataclass(frozen=True)
class Run:
    """Where the results go, what is under test, and how long this call may take.

    Attributes
    ----------
    results
        The folder of results.
    python
        The interpreter of the environment under test.
    has_gpu
        Whether the host has a GPU.
    end
        When this call must be over, by `time.monotonic()`; None if it may take its time.
    sanitizer
        The path of compute-sanitizer; None without it.
    """

    results: Path
    python: Path
    has_gpu: bool
    end: float | None
    sanitizer: str | None = None

    def file(self, name: str) -> Path:
        """Name a file of a part, in a folder that exists."""
        folder = self.results / "parts"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def seconds_left(self) -> float:
        return float("inf") if self.end is None else self.end - time.monotonic()

    def environment(self) -> dict[str, str]:
        """What commands see: of Python no sources of the clone, and a GPU if the host has one."""
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
        """Run a command in the clone, and append to a log what it says.

        Parameters
        ----------
        command
            The program and its arguments.
        log
            The file that its output goes to.
        limit
            The seconds that it may take; what is left of this call's time, if that is less.
        env
            Variables beside those of `environment`; one that is empty here is taken out there.

        Returns
        -------
        int or None
            The exit code, negative for a signal; None if it took too long and was ended.
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
    """End a command with all that it started, as Ctrl-C does, or by force."""
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
    """Replace a file as a whole, so that one that is there is never half of one."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(value, indent=2) + "\n")
    beside.replace(path)
