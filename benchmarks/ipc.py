# SPDX-License-Identifier: Apache-2.0
"""The cost of Arrow IPC against pyarrow's writer and reader: ``python -m benchmarks.ipc``."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Measure the installed package, not the sources next to this folder.
    sys.path.append(sys.path.pop(0))

import numpy as np
import pyarrow as pa

import cudf_arrow_bridge as cab

from .exchanges import OURS, drain
from .gpu import bandwidth
from .measure import Case, Contestant, Effort, measure
from .memory import peaks
from .reporting.report import context, short

_PYARROW = "pyarrow"
_COLUMNS = (1, 100, 1000)
_ROWS = tuple(10**power for power in range(3, 9))
#: The data, the written copy and the read copy must fit in 1.5 GB.
_MOST_BYTES = bandwidth.SIZE
_MANY = 100  # batches of one row, for the cost of metadata
_QUICK = Effort(rounds=2, sample_seconds=1e-4)
_FULL = Effort(rounds=100, sample_seconds=1e-3, seconds=2)

Record = dict[str, Any]
_Call = Callable[[], object]
_SINKS: dict[str, Callable[[], Any]] = {
    "io.BytesIO": io.BytesIO,
    "pa.BufferOutputStream": pa.BufferOutputStream,
}


def _batch(columns: int, rows: int) -> pa.RecordBatch:
    """Return a batch of int32 columns, each in separate memory with resident pages."""
    return pa.record_batch({f"column {i}": np.arange(rows, dtype="int32") for i in range(columns)})


def _case(
    way: str, ours: Callable[[], object], theirs: Callable[[], object], jobs: int = 1
) -> Case:
    contestants = (Contestant(OURS, ours), Contestant(_PYARROW, theirs))
    return Case("ipc", way, contestants, jobs=jobs, converts=True)


def _write(batch: pa.RecordBatch, sink: Any) -> None:
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _write_file(batch: pa.RecordBatch, path: Path) -> None:
    _write(batch, str(path))
    with path.open("rb") as file:
        os.fsync(file.fileno())  # as write_stream does


def _writes(batch: pa.RecordBatch, folders: dict[str, Path]) -> Iterator[Case]:
    array = cab.to_arrow_device(batch)
    for name, make in (
        ("io.BytesIO", io.BytesIO),
        ("pa.BufferOutputStream", pa.BufferOutputStream),
    ):
        yield _case(
            f"write to {name}",
            lambda make=make: cab.ipc.write_stream(array, make()),
            lambda make=make: _write(batch, make()),
        )
    for name, folder in folders.items():
        ours, theirs = folder / "ours.arrows", folder / "theirs.arrows"
        yield _case(
            f"write to a file {name}",
            lambda ours=ours: cab.ipc.write_stream(array, ours),
            lambda theirs=theirs: _write_file(batch, theirs),
        )


def _reads(batch: pa.RecordBatch, folders: dict[str, Path]) -> Iterator[Case]:
    sink = pa.BufferOutputStream()
    _write(batch, sink)
    data = sink.getvalue()
    yield _case(
        "read from memory",
        lambda: drain(cab.ipc.open_stream(data)),
        lambda: drain(pa.ipc.open_stream(data)),
    )
    for name, folder in folders.items():
        path = folder / "read.arrows"
        path.write_bytes(data)
        yield _case(
            f"read from a file {name}",
            lambda path=path: drain(cab.ipc.open_stream(path)),
            lambda path=path: drain(pa.ipc.open_stream(pa.OSFile(str(path)))),
        )
        yield _case(
            f"map a file {name}",
            lambda path=path: drain(cab.ipc.open_stream(path, memory_map=True)),
            lambda path=path: drain(pa.ipc.open_stream(pa.memory_map(str(path)))),
        )


def _metadata(columns: int) -> Iterator[Case]:
    """Yield the cases of messages with one row, whose cost is that of the metadata."""
    batch = _batch(columns, 1)
    arrays = [cab.to_arrow_device(batch)] * _MANY
    messages = [pa.ipc.read_message(batch.schema.serialize())]
    messages += [pa.ipc.read_message(batch.serialize()) for _ in range(_MANY)]

    def serialize() -> None:
        batch.schema.serialize()
        for _ in range(_MANY):
            batch.serialize()

    def read() -> None:
        schema = pa.ipc.read_schema(messages[0])
        for message in messages[1:]:
            pa.ipc.read_record_batch(message, schema)

    yield _case("messages", lambda: drain(cab.ipc.messages(arrays)), serialize, _MANY)
    yield _case("from_messages", lambda: drain(cab.ipc.from_messages(messages)), read, _MANY)


def _record(case: Case, columns: int, rows: int, effort: Effort) -> Record:
    measured = measure(case, effort)
    found = {name: parts["dropped"].median * 1e6 for name, parts in measured.items()}
    return {
        "way": case.name, "columns": columns, "rows": rows,
        "ours_us": found[OURS], "pyarrow_us": found[_PYARROW],
    }  # fmt: skip


def _memory(case: Case, columns: int, rows: int) -> Record:
    for contestant in case.contestants:
        contestant.call()
    found = peaks(replace(case, converts=False))
    return {
        "way": case.name, "columns": columns, "rows": rows,
        "ours_kib": found[OURS], "pyarrow_kib": found[_PYARROW],
    }  # fmt: skip


def _shapes(most_bytes: int) -> list[tuple[int, int]]:
    return [(c, r) for c in _COLUMNS for r in _ROWS if 4 * c * r <= most_bytes]


def run(effort: Effort, most_bytes: int) -> dict[str, Any]:
    """Run all benchmarks and return the data for the tables.

    Parameters
    ----------
    effort
        How long to measure each case.
    most_bytes
        The maximum size of a batch.
    """
    times, memory = [], []
    shapes = _shapes(most_bytes)
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as tmpfs,
        tempfile.TemporaryDirectory() as disk,
    ):
        folders = {"in tmpfs": Path(tmpfs), "on disk": Path(disk)}
        for columns, rows in shapes:
            batch = _batch(columns, rows)
            for cases in (_writes, _reads):
                times += [_record(case, columns, rows, effort) for case in cases(batch, folders)]
        columns, rows = max((s for s in shapes if s[0] == 1), key=lambda shape: shape[1])
        batch = _batch(columns, rows)
        for cases in (_writes, _reads):
            memory += [_memory(case, columns, rows) for case in cases(batch, folders)]
    for columns in _COLUMNS:
        times += [_record(case, columns, 1, effort) for case in _metadata(columns)]
    return {"times": times, "memory": memory, "gpu": bandwidth.bandwidths(most_bytes)}


def table(results: dict[str, Any]) -> str:
    """Format results as Markdown."""
    head = ["what", "columns", *(f"{rows:,} rows" for rows in _ROWS)]
    lines = [_line(head), _line(["---", "--:", *["--:"] * len(_ROWS)])]
    sized = [entry for entry in results["times"] if entry["rows"] > 1]
    for way in dict.fromkeys(entry["way"] for entry in sized):
        for columns in _COLUMNS:
            found = {e["rows"]: e for e in sized if (e["way"], e["columns"]) == (way, columns)}
            cells = [_cell(found.get(rows)) for rows in _ROWS]
            lines.append(_line([way, str(columns), *cells]))
    lines += ["", _line(["a batch's metadata", *(f"{c:,} columns" for c in _COLUMNS)])]
    lines.append(_line(["---", *["--:"] * len(_COLUMNS)]))
    small = [entry for entry in results["times"] if entry["rows"] == 1]
    for way in dict.fromkeys(entry["way"] for entry in small):
        lines.append(_line([way, *(_cell(e) for e in small if e["way"] == way)]))
    lines += ["", _line(["peak memory, MiB", "ours", _PYARROW]), _line(["---", "--:", "--:"])]
    for entry in results["memory"]:
        sizes = [entry[key] for key in ("ours_kib", "pyarrow_kib")]
        cells = ["-" if kib is None else short(kib / 1024, 1) for kib in sizes]
        lines.append(_line([entry["way"], *cells]))
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(entry: Record | None) -> str:
    """Format our microseconds, followed by the ratio to pyarrow's in parentheses."""
    if entry is None:
        return ""
    return f"{short(entry['ours_us'], 1)} ({entry['ours_us'] / entry['pyarrow_us']:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ipc", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show that it works; no real numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args()
    results = run(_QUICK, 400_000) if options.quick else run(_FULL, _MOST_BYTES)
    print(table(results))
    for line in bandwidth.lines(results["gpu"]):
        print(line)
    if options.json is not None:
        record = {**context(), "quick": options.quick, "results": results}
        options.json.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
