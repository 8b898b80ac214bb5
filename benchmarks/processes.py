# SPDX-License-Identifier: Apache-2.0
"""The cost of exchanges between processes without the transport: ``-m benchmarks.processes``."""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Measure the installed package, not the sources next to this folder.
    sys.path.append(sys.path.pop(0))
    if find_spec("distributed") is None:
        sys.exit("benchmarks.processes: distributed is not installed (the extra dask)")

import numpy as np
import pyarrow as pa
from distributed.protocol import deserialize, serialize

import cudf_arrow_bridge as cab

from .measure import Case, Contestant, Effort, measure
from .reporting.report import context, short

_COLUMNS = (1, 100)
_ROWS = (1, 1_000_000)
_QUICK = Effort(rounds=2, sample_seconds=1e-4)
_FULL = Effort(rounds=200, sample_seconds=2e-3, seconds=8)
_PROTOCOL = 5
_PEER = "pyarrow: IPC stream"  # the way that times are compared with

Record = dict[str, Any]


@dataclass(frozen=True)
class Way:
    """One way to send data.

    Attributes
    ----------
    name
        The name in the table.
    send
        The function that serializes the data.
    receive
        The function that deserializes the result of `send`.
    size
        The function that returns the total number of bytes of the result of `send`.
    """

    name: str
    send: Callable[[], Any]
    receive: Callable[[Any], Any]
    size: Callable[[Any], int]

    def exchange(self) -> Any:
        """Serialize and deserialize the data."""
        return self.receive(self.send())


def _pickled(data: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    buffers: list[pickle.PickleBuffer] = []
    return pickle.dumps(data, protocol=_PROTOCOL, buffer_callback=buffers.append), buffers


def _unpickled(sent: tuple[bytes, list[pickle.PickleBuffer]]) -> Any:
    return pickle.loads(sent[0], buffers=sent[1])


def _size_of_pickled(sent: tuple[bytes, list[pickle.PickleBuffer]]) -> int:
    return len(sent[0]) + sum(buffer.raw().nbytes for buffer in sent[1])


def _written(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _size_of_serialized(sent: tuple[dict[str, Any], list[Any]]) -> int:
    frames = sum(memoryview(frame).nbytes for frame in sent[1])
    return len(pickle.dumps(sent[0])) + frames


def _serialized(data: Any) -> tuple[dict[str, Any], list[Any]]:
    return serialize(data, on_error="raise")


def ways_of(columns: int, rows: int) -> list[Way]:
    """List all ways to send int32 columns. The first is pickling with this package."""
    batch = pa.record_batch({f"column {i}": np.arange(rows, dtype="int32") for i in range(columns)})
    array = cab.to_arrow_device(batch)
    cudf_frame = cab.from_arrow_device(array)
    frame = batch.to_pandas()
    by_pickle = (_unpickled, _size_of_pickled)
    by_dask = (lambda sent: deserialize(*sent), _size_of_serialized)
    return [
        Way("pickle 5", lambda: _pickled(array), *by_pickle),
        Way(
            "pickle 5, in band",
            lambda: pickle.dumps(array, protocol=_PROTOCOL),
            pickle.loads,
            len,
        ),
        Way("distributed", lambda: _serialized(array), *by_dask),
        Way(
            "pickle 5, from cuDF frame to cuDF frame",
            lambda: _pickled(cab.to_arrow_device(cudf_frame)),
            lambda sent: cab.from_arrow_device(_unpickled(sent)),
            _size_of_pickled,
        ),
        Way(
            "pyarrow: IPC stream",
            lambda: _written(batch),
            lambda sent: pa.ipc.open_stream(sent).read_next_batch(),
            lambda sent: sent.size,
        ),
        Way("pyarrow: pickle 5", lambda: _pickled(batch), *by_pickle),
        Way("pandas: pickle 5", lambda: _pickled(frame), *by_pickle),
        Way("pandas: distributed", lambda: _serialized(frame), *by_dask),
        # It copies from a device, so it requires a GPU.
        *([Way("cuDF: pickle 5", lambda: _pickled(cudf_frame), *by_pickle)] * cab.has_gpu()),
    ]


def _measured(columns: int, rows: int, effort: Effort) -> list[Record]:
    ways = ways_of(columns, rows)
    contestants = tuple(Contestant(way.name, way.exchange) for way in ways)
    case = Case("processes", f"{columns} x {rows}", contestants, converts=True)
    times = measure(case, effort)
    return [
        {
            "way": way.name, "columns": columns, "rows": rows,
            "us": times[way.name]["dropped"].median * 1e6,
            "bytes_beside": way.size(way.send()) - 4 * columns * rows,
        }
        for way in ways
    ]  # fmt: skip


def run(effort: Effort) -> list[Record]:
    """Run all benchmarks and return the data for the table.

    Parameters
    ----------
    effort
        How long to measure each shape.
    """
    return [
        record
        for rows in _ROWS
        for columns in _COLUMNS
        for record in _measured(columns, rows, effort)
    ]


def table(results: list[Record]) -> str:
    """Format results as Markdown."""
    shapes = list(dict.fromkeys((entry["columns"], entry["rows"]) for entry in results))
    head = ["exchange", *(f"{columns} x {rows:,}" for columns, rows in shapes)]
    head += [f"additional bytes, {columns} x 1" for columns in _COLUMNS]
    lines = [_line(head), _line(["---", *["--:"] * (len(head) - 1)])]
    found = {(entry["way"], entry["columns"], entry["rows"]): entry for entry in results}
    for way in dict.fromkeys(entry["way"] for entry in results):
        cells = [way]
        for shape in shapes:
            time = found[way, *shape]["us"]
            cells.append(f"{short(time, 1)} ({time / found[_PEER, *shape]['us']:.2f})")
        cells += [f"{found[way, columns, 1]['bytes_beside']:,}" for columns in _COLUMNS]
        lines.append(_line(cells))
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show that it works; no real numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args()
    results = run(_QUICK if options.quick else _FULL)
    print(table(results))
    if options.json is not None:
        record = {**context(), "quick": options.quick, "results": results}
        options.json.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
