# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of exchanges between processes, and their results in docs/processes.md."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from benchmarks import processes

ROOT = Path(__file__).parents[2]
RECORDED = json.loads((ROOT / "benchmarks/results/processes.json").read_text())


def test_page_shows_the_recorded_results():
    """``python -m benchmarks.processes --json benchmarks/results/processes.json`` prints it."""
    assert not RECORDED["quick"]
    page = (ROOT / "docs/processes.md").read_text()
    assert f"\n\n{processes.table(RECORDED['results'])}\n" in page


WAYS = {way.name: way for way in processes.ways_of(2, 3)}


def test_recorded_results_include_every_way():
    assert {entry["way"] for entry in RECORDED["results"]} == WAYS.keys()


@pytest.mark.parametrize("name", WAYS)
def test_each_way_sends_the_data(name):
    sent = WAYS[name].send()
    assert WAYS[name].size(sent) > 2 * 3 * 4
    received = WAYS[name].receive(sent)
    if not isinstance(received, pa.RecordBatch):
        received = pa.record_batch(cab.to_arrow_device(received))
    assert received.to_pydict() == {"column 0": [0, 1, 2], "column 1": [0, 1, 2]}
