# SPDX-License-Identifier: Apache-2.0
"""Calls of CUDA of each way, counted in the simulated runtime.

Run ``python -m benchmarks.reporting.cuda_calls FOLDER``. FOLDER is a build with
``CUDF_ARROW_BRIDGE_BUILD_TESTS=ON``. The counts are written to `results` and to docs/speed.md.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).parents[2]
RECORD = _ROOT / "benchmarks/results/cuda-calls.json"
PAGE = _ROOT / "docs/speed.md"
_COLUMNS = ("1", "100")

#: The calls of each function, by way and number of columns.
_Counts = dict[str, dict[str, dict[str, int]]]

#: The calls that cannot be avoided, for 1 and 100 columns, and the reason.
_FLOORS: dict[tuple[str, str], tuple[int, int, str]] = {
    ("table, export", "cudaEventRecord"): (1, 1, "consumers wait for the event of the array"),
    ("table, export", "cuPointerGetAttributes"): (
        2, 200, "the kind of memory of each buffer is not known",
    ),
    ("table, import", "cudaStreamWaitEvent"): (1, 1, "work on the stream follows the producer's"),
    ("table, drop of the import", "cudaStreamQuery"): (
        1, 1, "the producer is released after the work that reads its memory",
    ),
    ("host table, upload", "sim::allocate"): (1, 1, "one block for all columns"),
    ("host table, upload", "cudaMemcpyAsync"): (1, 1, "one copy of the block"),
    ("host table, upload", "cudaEventRecord"): (1, 1, "pinned memory is reused after its copy"),
    ("IPC body, upload", "sim::allocate"): (1, 1, "the memory of the body"),
    ("IPC body, upload", "cudaMemcpyAsync"): (1, 1, "for each 2 MiB"),
    ("IPC body, upload", "cudaEventRecord"): (1, 1, "pinned memory is reused after its copy"),
    ("IPC body, download", "cudaMemcpyAsync"): (2, 200, "each buffer has its own memory"),
    ("IPC body, download", "cudaEventRecord"): (1, 1, "the host waits for this event"),
    ("IPC body, download", "cudaEventSynchronize"): (1, 1, "the host reads the bytes"),
}  # fmt: skip


def count(tree: Path) -> _Counts:
    """Run the test that counts, which records properties like ``table, import/100/cudaFree``."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run(
            [
                tree / "csrc/tests/sim/cudf_arrow_bridge_sim_tests",
                "--gtest_filter=CudaCalls.*",
                f"--gtest_output=json:{report.name}",
            ],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        (suite,) = json.load(report)["testsuites"]
    counts: _Counts = {}
    for key, number in suite["testsuite"][0].items():
        if key.count("/") == 2 and number.isdigit():
            way, columns, function = key.split("/")
            counts.setdefault(way, {}).setdefault(function, {})[columns] = int(number)
    for functions in counts.values():
        # The number of polls depends on the time. Each poll also sets the device and the mode.
        for columns, polls in functions.pop("cudaEventQuery", {}).items():
            functions["cudaSetDevice"][columns] -= polls
            functions["cudaThreadExchangeStreamCaptureMode"][columns] -= 2 * polls
    return {
        way: {name: made for name, made in functions.items() if any(made.values())}
        for way, functions in counts.items()
    }


def table(counts: _Counts) -> str:
    """Format the sums of the counts as Markdown for docs/speed.md."""
    rows = [
        "| way | 1 column | floor | 100 columns | floor | calls of the floor |",
        "| --- | --: | --: | --: | --: | --- |",
    ]
    for way, functions in counts.items():
        floors = {name: floor for (of, name), floor in _FLOORS.items() if of == way}
        cells = [
            number
            for position, columns in enumerate(_COLUMNS)
            for number in (
                sum(made.get(columns, 0) for made in functions.values()),
                sum(floor[position] for floor in floors.values()),
            )
        ]
        reasons = "; ".join(
            f"{'allocation' if name == 'sim::allocate' else f'`{name}`'}: {reason}"
            for name, (_, _, reason) in floors.items()
        )
        rows.append(f"| {way} | {' | '.join(map(str, cells))} | {reasons} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path, help="the folder of the build")
    parser.add_argument("--check", action="store_true", help="fail if the record is not current")
    options = parser.parse_args()
    counts = count(options.tree)
    if options.check:
        if counts != json.loads(RECORD.read_text()):
            sys.exit(f"{RECORD}: expected the counts of this build; run without --check")
        return
    RECORD.write_text(json.dumps(counts, indent=2) + "\n")
    PAGE.write_text(
        re.sub(r"\| way \| 1 column .*?(?=\n\n)", table(counts), PAGE.read_text(), flags=re.S)
    )
    print(table(counts))


if __name__ == "__main__":
    main()
