# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of asynchronous streams, and their recorded results in docs/async.md."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import async_streams
from benchmarks.fences import wake_latency

ROOT = Path(__file__).parents[2]


def test_wake_latency_measures_one_fence_and_many_fences():
    found = wake_latency(pending=50, samples=20)
    assert found["pending"] == 50
    lower, upper = found["quartiles_us"]
    assert 0 < lower <= found["one_us"] <= upper
    assert found["each_at_once_us"] > 0


def test_page_shows_the_recorded_results():
    """``python -m benchmarks.async_streams --json benchmarks/results/async.json`` prints it."""
    results = json.loads((ROOT / "benchmarks/results/async.json").read_text())
    assert not results["quick"]
    table = async_streams.table(results["results"])
    assert f"\n\n{table}\n" in (ROOT / "docs/async.md").read_text()


@pytest.mark.exhaustive
def test_measure_returns_all_recorded_cases():
    recorded = json.loads((ROOT / "benchmarks/results/async.json").read_text())["results"]
    found = async_streams.measure(rounds=1, count=20, fences=50)
    names = [
        name.replace("50 fences", "10,000 fences").replace("1,000 batches", "100,000 batches")
        for name in found
    ]
    assert names == list(recorded)
    assert all(value > 0 for name, value in found.items() if not name.startswith("KiB"))
