# SPDX-License-Identifier: Apache-2.0
"""The time that the import of the package, and the first use of it, add to other imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from .measure import Spread

_TIMED = """
import time
times = [time.perf_counter()]
import pyarrow
times.append(time.perf_counter())
import cudf_arrow_bridge
times.append(time.perf_counter())
import pylibcudf
times.append(time.perf_counter())
cudf_arrow_bridge.to_arrow_device
times.append(time.perf_counter())
print([after - before for before, after in zip(times, times[1:])])
"""


def import_cost(interpreters: int) -> dict[str, Any]:
    """Measure imports and the first use in milliseconds, in this order in a new interpreter."""
    _once()  # warm-up: the first import compiles bytecode and reads from disk
    measured = zip(*(_once() for _ in range(interpreters)), strict=True)
    names = ("pyarrow", "cudf_arrow_bridge", "pylibcudf", "first use")
    return {name: _milliseconds(seconds) for name, seconds in zip(names, measured, strict=True)}


def _once() -> list[float]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", _TIMED],
        # Exclude the initialization of the driver by cuDF, whose time depends on the machine.
        env={**os.environ, "RAPIDS_NO_INITIALIZE": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds: list[float] = json.loads(done.stdout)
    return seconds


def _milliseconds(seconds: tuple[float, ...]) -> dict[str, Any]:
    spread = Spread.of(list(seconds))
    lower, median, upper = (
        round(1e3 * value, 1) for value in (spread.lower, spread.median, spread.upper)
    )
    return {"median_ms": median, "quartiles_ms": [lower, upper]}
