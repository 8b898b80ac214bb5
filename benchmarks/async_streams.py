# SPDX-License-Identifier: Apache-2.0
"""The cost of asynchronous streams: ``python -m benchmarks.async_streams``."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Measure the installed package, not the sources next to this folder.
    sys.path.append(sys.path.pop(0))

import pyarrow as pa

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.stream.fences import FenceSet

from .bookkeeping import Program
from .fences import wake_latency
from .reporting.report import context

_COLUMNS = 10
_PREFETCH = (1, 4, 64)
_FENCES = 10_000
_TICK = 0.001


def _batches(count: int) -> pa.Table:
    batch = pa.record_batch({f"c{i}": pa.array(range(1000)) for i in range(_COLUMNS)})
    return pa.Table.from_batches([batch] * count)


def _synchronous(table: pa.Table) -> None:
    for _ in cab.from_arrow_device_stream(table, concat=False, to="pylibcudf"):
        pass


async def _asynchronous(table: pa.Table, prefetch: int) -> None:
    async for _ in cab.from_arrow_device_async(table, to="pylibcudf", prefetch=prefetch):
        pass


async def _iterated(table: pa.Table, prefetch: int) -> None:
    async def batches() -> Any:
        for batch in table.to_batches():
            yield batch

    async for _ in cab.from_arrow_device_async(batches(), to="pylibcudf", prefetch=prefetch):
        pass


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _per_batch(rounds: int, count: int) -> dict[str, float]:
    """Return the microseconds per batch of each way, measured in turns."""
    table = _batches(count)
    ways: dict[str, Callable[[], object]] = {"synchronous": lambda: _synchronous(table)}
    for ahead in _PREFETCH:
        ways[f"asyncio, prefetch={ahead}"] = lambda ahead=ahead: asyncio.run(
            _asynchronous(table, ahead)
        )
    ways["asyncio, an async generator"] = lambda: asyncio.run(_iterated(table, 4))
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            taken[name].append(_seconds(run) / count * 1e6)
    return {name: statistics.median(times) for name, times in taken.items()}


async def _lateness(rounds: int) -> float:
    """Return the 99th percentile of a timer's delay in milliseconds while a batch is pending."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            due = time.perf_counter() + _TICK
            await asyncio.sleep(_TICK)
            late.append(time.perf_counter() - due)

    def slow() -> Any:
        for _ in range(rounds):
            time.sleep(0.1)
            yield pa.record_batch({"a": [1]})

    ticking = asyncio.create_task(tick())
    async for _ in cab.from_arrow_device_async(slow(), to="pylibcudf"):
        pass
    ticking.cancel()
    return statistics.quantiles(late, n=100)[98] * 1e3


def _resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def _growth(count: int) -> float:
    """Return the growth of this process in KiB during the import of many batches."""
    batch = _batches(1).to_batches()[0]
    begin = 0
    number = 0
    async for _ in cab.from_arrow_device_async((batch for _ in range(count)), to="pylibcudf"):
        number += 1
        if number == count // 10:
            begin = _resident()
    return (_resident() - begin) / 1024


def _plain_fences(count: int) -> float:
    """Return the microseconds per fence to add, end and poll many fences without asyncio."""
    fences = FenceSet()

    def run() -> None:
        for fence in [fences.add() for _ in range(count)]:
            fences.complete(fence)
        assert len(fences.poll()) == count

    return _seconds(run) / count * 1e6


def measure(rounds: int, count: int, fences: int) -> dict[str, float]:
    """Return all results by a description that includes the unit."""
    woken = wake_latency(fences, fences // 10)
    native = Program().streams(_COLUMNS, count, rounds)
    in_cpp = f"µs for each batch of {_COLUMNS} int64 columns, C++, "
    batch = f"µs for each batch of {_COLUMNS} int64 columns, to pylibcudf, "
    return {
        **{in_cpp + way: taken for way, taken in native.items()},
        **{batch + way: taken for way, taken in _per_batch(rounds, count).items()},
        "ms of delay of a task's timer while a slow batch is pending, 99th percentile": asyncio.run(
            _lateness(rounds)
        ),
        "KiB of growth of the process while the last nine tenths of "
        f"{50 * count:,} batches are imported": asyncio.run(_growth(50 * count)),
        f"µs from the end of a fence until its task runs, while up to {fences:,} fences are "
        "pending": woken["one_us"],
        f"µs for each fence until all tasks run, if nine tenths of {fences:,} fences end at "
        "once": woken["each_at_once_us"],
        f"µs for each fence to add, end and poll {fences:,} fences, without asyncio": (
            _plain_fences(fences)
        ),
    }


def table(results: dict[str, float]) -> str:
    """Format results as Markdown."""
    rows = [f"| {what} | {value:.3g} |" for what, value in results.items()]
    return "\n".join(["| measurement | result |", "| --- | --: |", *rows])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.async_streams", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show that it works; no real numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args()
    results = measure(1, 50, 200) if options.quick else measure(15, 2000, _FENCES)
    print(table(results))
    if options.json is not None:
        record = {**context(), "quick": options.quick, "results": results}
        options.json.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
