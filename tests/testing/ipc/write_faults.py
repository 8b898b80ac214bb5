# SPDX-License-Identifier: Apache-2.0
"""Overwrite a file many times while signals arrive and system calls fail.

Run ``python -P -m testing.ipc.write_faults LIBRARY TRIALS [SEED]`` with the library of
`faulty_calls.c` preloaded. Each trial runs in its own process. After each trial, the file has the
old content or the content of the trial, and the folder has no other file unless the process was
killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import cudf_arrow_bridge as cab

FORMS = [
    (cab.ipc.write_file, pa.ipc.open_file),
    (cab.ipc.write_stream, pa.ipc.open_stream),
]
FAULTS = ["none", "ENOSPC", "EIO", "SIGINT", "SIGKILL"]


def write_in_a_process(write, batches, path, prepare):
    """Start a process that writes, and exits with 0 on success or 1 on failure; return its ID."""
    # Signals must not interrupt Python's own work after a fork.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    if process := os.fork():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        return process
    code = 1
    try:
        prepare()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        write(iter(batches), path)
        code = 0
    except BaseException:
        pass
    finally:
        os._exit(code)


def batches_of(trial, choose):
    """Return a random number of batches of one value."""
    rows = choose.randrange(1, 100_000)
    return [
        pa.record_batch([np.full(rows, trial), np.full(rows, trial / 3)], ["a", "b"])
        for _ in range(choose.randrange(1, 8))
    ]


def run(library, trials, seed):
    """Run all trials; return how often each fault ended with the old or the new content."""
    choose = random.Random(seed)
    fail_call = ctypes.CDLL(library).fail_call
    outcomes = Counter()
    usual = 0.005
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "table.arrow"
        write, read = FORMS[0]
        old = pa.Table.from_batches(batches_of(-1, choose))
        write(old, path)
        for trial in range(trials):
            fault = FAULTS[trial % len(FAULTS)]
            old_read = read
            write, read = choose.choice(FORMS)
            batches = batches_of(trial, choose)
            number = getattr(errno, fault, 0)
            count = choose.randrange(1, 12) if number else 0
            started = time.monotonic()
            process = write_in_a_process(write, batches, path, partial(fail_call, count, number))
            if fault.startswith("SIG"):
                time.sleep(choose.uniform(0, usual))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, getattr(signal, fault))
            _, status = os.waitpid(process, 0)
            if fault == "none":
                usual = 0.9 * usual + 0.1 * (time.monotonic() - started)
            new = pa.Table.from_batches(batches)
            is_new = _is(path, read, new)
            what = f"trial {trial} of seed {seed}: {fault}"
            assert is_new or _is(path, old_read, old), (
                f"{what}: neither the old nor the new content"
            )
            is_killed = os.WIFSIGNALED(status)
            if is_killed:
                assert os.WTERMSIG(status) == signal.SIGKILL, f"{what}: {status}"
            elif os.WEXITSTATUS(status) == 0:
                assert is_new, f"{what}: written without an error, but not read back"
            others = set(path.parent.iterdir()) - {path}
            assert is_killed or not others, f"{what}: {others} left"
            for other in others:
                other.unlink()
            outcomes[fault, "new" if is_new else "old"] += 1
            if is_new:
                old = new
            else:
                read = old_read
    return outcomes


def _is(path, read, table):
    try:
        with pa.OSFile(str(path)) as file, read(file) as reader:
            return reader.read_all().equals(table)
    except pa.ArrowInvalid:
        return False


if __name__ == "__main__":
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns()
    for (fault, content), count in sorted(run(sys.argv[1], int(sys.argv[2]), seed).items()):
        print(f"{fault}: {content} content {count} times")
