# SPDX-License-Identifier: Apache-2.0
"""Processes that call functions for a test: new ones, which talk in lines of JSON, and forks."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

ROOT = Path(__file__).parents[2]
PYTHONPATH = os.pathsep.join(
    [str(ROOT / "tests"), str(ROOT / "examples"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
#: Seconds to wait for an answer.
PATIENCE = 60


class Process:
    """A process that runs a module of the tests, which calls `obey`."""

    def __init__(self, module: str, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-W", "error", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # `select` does not see lines in Python's buffer
            env=os.environ | {"PYTHONPATH": PYTHONPATH} | environment,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        with self._process:
            pass

    def ask(self, name: str, /, **arguments: Any) -> None:
        self._process.stdin.write(json.dumps([name, arguments]).encode() + b"\n")

    def answer(self) -> Any:
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        assert ready, f"no answer within {PATIENCE} seconds"
        line = self._process.stdout.readline()
        assert line, f"ended with {self._process.wait(PATIENCE)}"
        return json.loads(line)


def obey(**functions: Callable[..., Iterable[Any]]) -> None:
    """Call the functions that standard input names, and print the values that they yield."""
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            for answer in functions[name](**arguments):
                print(json.dumps(answer), flush=True)
        except Exception as error:
            print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)


#: Python warns of forks of a process with threads.
forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def in_fork(read: Callable[[], str]) -> str:
    """Return the text that a function returns in a fork of the process, or that of its error."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        signal.alarm(PATIENCE)
        try:
            text = read()
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        text = file.read().decode()
    os.waitpid(child, 0)
    return text


def sums_of(arrays: Iterable[Any]) -> str:
    """Return the sums of the column ``a`` of each array."""
    return " ".join(str(pa.record_batch(array)["a"].to_numpy().sum()) for array in arrays)
