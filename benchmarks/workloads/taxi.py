# SPDX-License-Identifier: Apache-2.0
"""Taxi trips through several libraries: ``python -m benchmarks.workloads.taxi``.

A Parquet file is read, queried by duckdb, changed by polars, written to an Arrow IPC file and read
again. Between the libraries, the trips are frames of cuDF, or tables of pyarrow for comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Measure the installed package, not the sources next to this folder.
    sys.path.append(sys.path.pop(0))

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import cudf_arrow_bridge as cab

from .. import memory
from ..measure import Contestant
from ..reporting.report import context

_QUERY = "select * from trips where trip_distance > 0.1"
_TIP_SHARE = (pl.col("tip_amount") / pl.col("total_amount")).alias("tip_share")


def trips(rows: int) -> pa.Table:
    """Return random trips with the columns of the trip records of New York's yellow taxis."""
    random = np.random.default_rng(0)
    start = random.integers(1_700_000_000_000_000, 1_702_000_000_000_000, rows)
    fees = ("fare", "extra", "mta_tax", "tip", "tolls", "improvement", "total", "congestion")
    return pa.table(
        {
            "vendor": random.integers(1, 3, rows, "int32"),
            "pickup": pa.array(start, pa.timestamp("us")),
            "dropoff": pa.array(start + random.integers(10**8, 10**10, rows), pa.timestamp("us")),
            "passengers": pa.array(random.integers(1, 6, rows), mask=random.random(rows) < 0.05),
            "trip_distance": random.gamma(2, 2, rows),
            "rate_code": pa.array(random.integers(1, 7, rows), mask=random.random(rows) < 0.05),
            "store_and_forward": np.where(random.random(rows) < 0.01, "Y", "N"),
            "pickup_zone": random.integers(1, 266, rows, "int32"),
            "dropoff_zone": random.integers(1, 266, rows, "int32"),
            "payment": random.integers(0, 5, rows),
            **{f"{fee}_amount": random.gamma(3, 5, rows).round(2) for fee in fees},
            "airport_fee": pa.array(random.random(rows).round(2), mask=random.random(rows) < 0.05),
            "trip": random.permutation(rows),
        }
    )


class _Flow:
    """One run, with the seconds of each step and the bytes that exports copied."""

    def __init__(self, folder: Path, name: str = "trips") -> None:
        self.parquet, self.ipc = folder / f"{name}.parquet", folder / f"{name}.arrow"
        self.seconds: dict[str, float] = {}
        self.copied = 0
        self._begin = time.perf_counter()

    def end_of(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[step] = now - self._begin
        self._begin = now

    def exported(self, frame: Any) -> cab.DeviceArray:
        array = cab.to_arrow_device(frame)
        self.copied += sum(column.copied_bytes for column in array.report())
        return array

    def frames(self) -> Any:
        frame = cab.from_arrow_device(self.parquet)
        self.end_of("read Parquet")
        trips = self.exported(frame)  # duckdb finds it by its name
        frame = cab.from_arrow_device(duckdb.sql(_QUERY))
        del trips
        self.end_of("duckdb")
        frame = cab.from_arrow_device(pl.DataFrame(self.exported(frame)).with_columns(_TIP_SHARE))
        self.end_of("polars")
        cab.ipc.write_file(frame, self.ipc)
        self.end_of("write IPC")
        frame = cab.from_arrow_device(cab.to_arrow_device_stream(self.ipc, memory_map=True))
        self.end_of("read IPC")
        return frame

    def tables(self) -> Any:
        table = pq.read_table(self.parquet)
        self.end_of("read Parquet")
        trips = table  # duckdb finds it by its name
        table = duckdb.sql(_QUERY).to_arrow_table()
        del trips
        self.end_of("duckdb")
        table = pl.from_arrow(table).with_columns(_TIP_SHARE).to_arrow()
        self.end_of("polars")
        with pa.ipc.new_file(self.ipc, table.schema) as writer:
            writer.write_table(table)
        with self.ipc.open("rb") as file:
            os.fsync(file.fileno())  # as write_file does
        self.end_of("write IPC")
        table = pa.ipc.open_file(pa.memory_map(str(self.ipc))).read_all()
        self.end_of("read IPC")
        return table


def _measure(way: str, folder: Path) -> dict[str, Any]:
    """Run the flow several times in this process. The first run, in fresh memory, has the peak."""
    getattr(_Flow(folder, "few"), way)()  # loads the libraries
    flow = _Flow(folder)
    peak = memory.peak(Contestant(way, getattr(flow, way))) << 10
    size = flow.ipc.stat().st_size
    times = []
    for _ in range(7):
        flow = _Flow(folder)
        getattr(flow, way)()
        times.append({**flow.seconds, "all": sum(flow.seconds.values())})
    return {
        "seconds": min(times, key=lambda seconds: seconds["all"]),
        "peak memory, of the size of the IPC file": peak / size,
        "copied by exports, MB": flow.copied / 1e6,
        "size of the IPC file, MB": size / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.workloads.taxi", description=__doc__
    )
    parser.add_argument("--rows", type=int, default=5_000_000, help="the number of trips")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument("--way", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        way, folder = options.way
        print(json.dumps(_measure(way, Path(folder))))
        return

    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(trips(options.rows), Path(folder) / "trips.parquet")
        pq.write_table(trips(1000), Path(folder) / "few.parquet")
        for way in ("frames", "tables"):  # each in its own process, for its memory
            command = [sys.executable, "-m", "benchmarks.workloads.taxi", "--way", way, folder]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            results[way] = json.loads(printed)
            print(way, json.dumps(results[way], indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps({**context(), "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
