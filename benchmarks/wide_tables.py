# SPDX-License-Identifier: Apache-2.0
"""The cost per column of tables of up to 100,000 columns: ``python -m benchmarks.wide_tables``."""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path

if __name__ == "__main__":
    # Measure the installed package, not the sources next to this folder.
    sys.path.append(sys.path.pop(0))

import pyarrow as pa

import cudf_arrow_bridge as cab

from .reporting.report import context

_COLUMNS = (2_000, 4_000, 8_000, 16_000, 100_000)
_ROUNDS = 3
_Results = dict[str, list[float]]


def _doors(count: int, folder: Path) -> dict[str, Callable[[], object]]:
    """Return each export and import of a table with `count` columns, by name."""
    names = [f"c{i}" for i in range(count)]
    batch = pa.record_batch([pa.array([1, 2, 3])] * count, names=names)
    table = pa.Table.from_batches([batch, batch])
    pandas_frame = batch.to_pandas()
    pandas_batch = pa.RecordBatch.from_pandas(pandas_frame, preserve_index=True)
    coded = pa.array(["a", "b", "a"]).dictionary_encode()
    dictionaries = pa.record_batch([coded] * count, names=names)
    frame = cab.from_arrow_device(batch)
    columns = cab.from_arrow_device(batch, to="pylibcudf")
    array = cab.to_arrow_device(frame)
    pickled = pickle.dumps(array)
    path = folder / "wide.arrow"
    number = itertools.count()

    def with_new_schema(batch: pa.RecordBatch) -> pa.RecordBatch:
        # Imports cache the layout of a frame by schema.
        metadata = {**(batch.schema.metadata or {}), "number": str(next(number))}
        return batch.replace_schema_metadata(metadata)

    def ipc(data: object) -> None:
        cab.ipc.write_file(data, path)
        list(cab.ipc.open_file(path))

    return {
        "frame, import of a new schema": lambda: cab.from_arrow_device(with_new_schema(batch)),
        "frame, import of new pandas metadata": lambda: cab.from_arrow_device(
            with_new_schema(pandas_batch)
        ),
        "frame, import of a known schema": lambda: cab.from_arrow_device(batch),
        "frame, import, columns=": lambda: cab.from_arrow_device(batch, columns=names),
        "frame, export": lambda: cab.to_arrow_device(frame),
        "frame, stream of two batches, import": lambda: cab.from_arrow_device_stream(table),
        "frame, stream, export": lambda: pa.table(cab.to_arrow_device_stream(frame)),
        "pylibcudf, import": lambda: cab.from_arrow_device(batch, to="pylibcudf"),
        "pylibcudf, export": lambda: cab.to_arrow_device(columns),
        "pandas, export": lambda: cab.to_arrow_device(pandas_frame),
        "IPC file, written and read": lambda: ipc(frame),
        "IPC file of dictionaries, written and read": lambda: ipc(dictionaries),
        "pickle, written": lambda: pickle.dumps(array),
        "pickle, read": lambda: pickle.loads(pickled),
        "report()": array.report,
        "array[name] of each column": lambda: list(map(copy(array).__getitem__, names)),
    }


def measure(counts: tuple[int, ...]) -> _Results:
    """Return the microseconds per column of the fastest round, for each number of columns."""
    results: _Results = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            for name, call in _doors(count, Path(folder)).items():
                best = min(_seconds(call) for _ in range(_ROUNDS))
                results.setdefault(name, []).append(best / count * 1e6)
    return results


def _seconds(call: Callable[[], object]) -> float:
    # The garbage collector traverses all objects of the process, even if the call creates only few.
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start
    finally:
        gc.enable()


def table(counts: tuple[int, ...], results: _Results) -> str:
    """Format results as Markdown."""
    rows = [
        f"| {name} | {' | '.join(f'{us:.3g}' for us in row)} |" for name, row in results.items()
    ]
    head = " | ".join(f"{count:,}" for count in counts)
    return "\n".join(
        [f"| µs for each column, of | {head} |", f"| --- {'| --: ' * len(counts)}|", *rows]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide_tables", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show that it works; no real numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args()
    counts = (100, 200) if options.quick else _COLUMNS
    results = measure(counts)
    print(table(counts, results))
    if options.json is not None:
        record = {**context(), "quick": options.quick, "columns": counts, "results": results}
        options.json.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
