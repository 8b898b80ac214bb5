# SPDX-License-Identifier: Apache-2.0
"""Ends of interpreters: pieces of code that run in forks of a new process, and how these end.

The process imports the modules once. Each fork runs its code as the main module, and ends as an
interpreter does, with its finalization.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

from testing.processes import PYTHONPATH

#: Seconds after which a fork is killed.
PATIENCE = 100
PROCESS = f"""
import json, os, signal, sys

def end_of(child, reader):
    with open(reader) as file:
        output = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), output

prepare, codes, at_once = json.load(sys.stdin)
exec(prepare)
running, ends = {{}}, {{}}
for name, code in codes.items():
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm({PATIENCE})
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.close(reader)
        os.close(writer)
        break
    os.close(writer)
    running[name] = child, reader
    if not at_once:
        ends[name] = end_of(*running.pop(name))
if child:
    ends |= {{name: end_of(*each) for name, each in running.items()}}
    print(json.dumps(ends))
else:
    exec(code)
"""


def ends_of(
    prepare: str, codes: Mapping[str, str], *, at_once: bool = False, **environment: str
) -> dict[str, tuple[int, str]]:
    """Return the exit status and the output of each code, which runs in a fork after ``prepare``.

    ``prepare`` must not start threads: the forks would lack them. ``at_once`` runs the codes
    concurrently, for codes that wait.
    """
    # Python warns of a fork of a process with threads.
    warnings = ("-W", "error", "-W", "ignore:This process:DeprecationWarning")
    done = subprocess.run(
        [sys.executable, "-P", "-X", "faulthandler", *warnings, "-c", PROCESS],
        input=json.dumps([prepare, dict(codes), at_once]),
        env=os.environ | {"PYTHONPATH": PYTHONPATH} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return {name: tuple(end) for name, end in json.loads(done.stdout).items()}
