# SPDX-License-Identifier: Apache-2.0
"""The C++ core against its floor: a separate program built against the installed package."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.table import Table

COLUMNS = (1, 10, 100, 1000)

#: The measured jobs, and the floor (minimum cost) that each is compared with.
FLOORS = {
    "export": "export floor",
    "export by schema": "export floor",
    "import": "import floor",
    "borrow": "import floor",
}

_COUNTED = 40  # tables per job under callgrind
_DUMP = re.compile(r"^desc: Trigger: Client Request: (.+)\n(?:.*\n)*?totals: (\d+)$", re.MULTILINE)


def counts_instructions() -> bool:
    """Return whether valgrind and its header are installed, so that it can count instructions."""
    found = shutil.which("valgrind")
    return found is not None and (Path(found).parents[1] / "include/valgrind/callgrind.h").exists()


def instructions(*command: str, **env: str) -> dict[str, int]:
    """Count the instructions of the sections that a command selects under callgrind.

    Parameters
    ----------
    *command
        The command. It starts the instrumentation and requests the dumps.
    **env
        Environment variables in addition to those of this process.

    Returns
    -------
    dict
        The instructions of each dump, by the name that the command sets.
    """
    with tempfile.TemporaryDirectory() as folder:
        callgrind = ("valgrind", "--tool=callgrind", "--instr-atstart=no")
        run(*callgrind, f"--callgrind-out-file={folder}/out", *command, **env)
        dumps = [path.read_text() for path in Path(folder).iterdir()]
    found = (_DUMP.search(dump) for dump in dumps)
    return {one[1]: int(one[2]) for one in found if one is not None}


def run(*command: str, **env: str) -> str:
    done = subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, text=True, check=True
    )
    return done.stdout


class Program:
    """The programs of `benchmarks/native`, which the constructor builds in `build/benchmarks`.

    Attributes
    ----------
    counters
        The library with the counters of `python_bookkeeping`.

    Raises
    ------
    FileNotFoundError
        If cmake is not installed.
    subprocess.CalledProcessError
        If the build fails.
    """

    def __init__(self) -> None:
        spec = importlib.util.find_spec("cudf_arrow_bridge")
        assert spec is not None
        (package,) = spec.submodule_search_locations or ()
        # Each environment has its own folder.
        build_dir = Path(__file__).parents[1] / "build/benchmarks" / package.lstrip("/")
        build_dir.mkdir(parents=True, exist_ok=True)
        configure = [
            *("cmake", "-S", str(Path(__file__).parent / "native"), "-B", str(build_dir)),
            *(f"-DCMAKE_PREFIX_PATH={package}", f"-DPython_EXECUTABLE={sys.executable}"),
        ]
        with open(build_dir / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for command in (configure, ["cmake", "--build", str(build_dir)]):
                run(*command)
        self._path = build_dir / "bookkeeping"
        self._streams = build_dir / "async_streams"
        self.counters = build_dir / "libcounters.so"

    def measure(self, num_columns: int, rounds: int) -> dict[str, dict[str, Any]]:
        """Measure the nanoseconds and calls of ``operator new`` per table of all jobs, in turns."""
        printed = run(str(self._path), "measure", str(num_columns), str(rounds))
        measured: dict[str, dict[str, Any]] = json.loads(printed)
        return measured

    def streams(self, num_columns: int, num_batches: int, rounds: int) -> dict[str, float]:
        """Measure the microseconds per small batch of each way to stream them, in turns."""
        arguments = map(str, (num_columns, num_batches, rounds))
        taken = json.loads(run(str(self._streams), *arguments))
        return {way: measured["ns_per_batch"] / 1000 for way, measured in taken.items()}

    def instructions(self, num_columns: int) -> dict[str, float]:
        """Count the instructions per table of all jobs in one run, since startup is slow."""
        counted = instructions(str(self._path), "count", str(num_columns), str(_COUNTED))
        return {job: total / _COUNTED for job, total in counted.items()}

    def records(self, rounds: int, *, instructions: bool) -> list[dict[str, Any]]:
        """Measure each job for each number of columns, also as a multiple of its floor."""
        result = []
        for num_columns in COLUMNS:
            measured = self.measure(num_columns, rounds)
            if instructions:
                for job, counted in self.instructions(num_columns).items():
                    measured[job]["instructions"] = round(counted, 1)
            result += [_record(job, num_columns, measured) for job in FLOORS]
        return result


def _record(job: str, num_columns: int, measured: dict[str, dict[str, Any]]) -> dict[str, Any]:
    ours, floor = measured[job], measured[FLOORS[job]]
    return {
        "job": job,
        "columns": num_columns,
        "ours": ours,
        "floor": floor,
        "times_the_floor": {
            unit: round(ours[unit] / floor[unit], 2)
            for unit in ("median_ns", "instructions")
            if unit in ours
        },
    }


def table(records: list[dict[str, Any]]) -> Table:
    """Format records as a table for the terminal."""
    result = Table(
        title="The C++ core beside its floors, which are bare loops: int64 columns, per column",
        caption=(
            "Making and releasing one table; an import also makes what it takes, as its floor does."
            " By schema: one that was made before, as Python's exports have it."
            " Borrow: an import that makes no columns of libcudf's, as Python's do."
            " Allocations: calls of operator new per table."
        ),
    )
    result.add_column("job")
    for heading in ("columns", "ns", "floor", "multiple", "instructions", "floor", "multiple"):
        result.add_column(heading, justify="right")
    result.add_column("allocations", justify="right")
    for entry in sorted(records, key=lambda entry: (entry["job"], entry["columns"])):
        cells = [entry["job"], str(entry["columns"])]
        for unit in ("median_ns", "instructions"):
            for who in ("ours", "floor"):
                known = unit in entry[who]
                cells.append(f"{entry[who][unit] / entry['columns']:.1f}" if known else "-")
            cells.append(str(entry["times_the_floor"].get(unit, "-")))
        result.add_row(*cells, str(entry["ours"]["allocations"]))
    return result
