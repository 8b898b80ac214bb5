# SPDX-License-Identifier: Apache-2.0
"""The cost of frames of cudf-polars, in and out: ``python -m benchmarks.queries``."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Measure the installed package, not the sources next to this folder.
    sys.path.append(sys.path.pop(0))

import polars as pl
import pyarrow as pa
from cudf_polars.containers import Column, DataFrame, DataType
from cudf_polars.dsl.ir import IRExecutionContext
from cudf_polars.dsl.translate import Translator
from rmm.pylibrmm.stream import DEFAULT_STREAM

import cudf_arrow_bridge as cab

from .reporting.report import context

_COLUMNS = (1, 10, 100, 1000)


def _scan(table: pa.Table) -> Callable[[], object]:
    """Return the evaluation of a scan by the GPU engine."""
    query = cab.polars.scan(table)
    node = Translator(query._ldf.visit(), pl.GPUEngine(executor="in-memory")).translate_ir()
    return lambda: node.do_evaluate(node.schema, node.options, None, context=IRExecutionContext())


def _ways(count: int) -> dict[str, Callable[[], object]]:
    table = pa.table({f"c{i}": pa.array(range(1000)) for i in range(count)})
    columns = cab.from_arrow_device(table, to="pylibcudf").columns()
    frame = DataFrame(
        [Column(each, DataType(pl.Int64()), name=f"c{i}") for i, each in enumerate(columns)],
        DEFAULT_STREAM,
    )
    ways: dict[str, Callable[[], object]] = {
        "in: scan to a frame of cudf-polars": _scan(table),
        "in: pl.from_arrow": lambda: pl.from_arrow(table),
        "out: to_arrow_device": lambda: cab.to_arrow_device(frame).__arrow_c_device_array__(),
    }
    if cab.has_gpu():  # it copies to the host with CUDA
        ways["out: DataFrame.to_polars"] = frame.to_polars
    return ways


def _microseconds(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median time of a call of each way, measured in turns."""
    number = {name: max(1, timeit.Timer(call).autorange()[0] // 20) for name, call in ways.items()}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, call in ways.items():
            taken[name].append(timeit.timeit(call, number=number[name]) / number[name] * 1e6)
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show that it works; no real numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for count in _COLUMNS:
        results[f"{count} columns, us"] = _microseconds(_ways(count), 2 if options.quick else 25)
        print(count, "columns:", results[f"{count} columns, us"])
    if options.json is not None:
        text = json.dumps({**context(), "results": results}, indent=2)
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
