# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of Arrow IPC, and their recorded results in docs/ipc.md."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import ipc
from benchmarks.measure import Effort

ROOT = Path(__file__).parents[2]


def test_page_shows_the_recorded_results():
    """``python -m benchmarks.ipc --json benchmarks/results/ipc.json`` prints it."""
    results = json.loads((ROOT / "benchmarks/results/ipc.json").read_text())
    assert not results["quick"]
    assert f"\n\n{ipc.table(results['results'])}\n" in (ROOT / "docs/ipc.md").read_text()


@pytest.mark.exhaustive
def test_run_measures_all_recorded_cases():
    recorded = json.loads((ROOT / "benchmarks/results/ipc.json").read_text())["results"]
    found = ipc.run(Effort(rounds=2, sample_seconds=1e-4), 400_000)
    assert found.keys() == recorded.keys()
    for part in ("times", "memory"):
        ways = {entry["way"] for entry in found[part]}
        assert ways == {entry["way"] for entry in recorded[part]}
    assert all(entry[key] > 0 for entry in found["times"] for key in ("ours_us", "pyarrow_us"))
    shapes = {(entry["columns"], entry["rows"]) for entry in recorded["times"]}
    assert {(1, 10**8), (100, 10**6), (1000, 10**5), (1000, 1)} <= shapes
