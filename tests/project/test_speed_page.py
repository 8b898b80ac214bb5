# SPDX-License-Identifier: Apache-2.0
"""docs/speed.md shows the results that are recorded in benchmarks/results."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.reporting import speed_page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/speed.md").read_text()
RECORDED = ROOT / "benchmarks/results"
RESULTS = json.loads((RECORDED / "host.json").read_text())["results"]
ON_GPU = json.loads((RECORDED / "gpu-nvidia-h200.json").read_text())["speed"]["speed"]["results"]


@pytest.mark.parametrize("results", [RESULTS, ON_GPU], ids=["host", "gpu"])
def test_tables_of_the_page_show_the_recorded_results(results):
    """``python -m benchmarks --from benchmarks/results/host.json --markdown`` prints the first."""
    assert f"\n\n{speed_page.table(results)}\n\n" in PAGE


def test_sentence_on_conversions_shows_the_recorded_results():
    # The ratio to the faster peer.
    ratios = [
        max(ratio["dropped"] for ratio in entry["ratios"].values())
        for entry in RESULTS
        if entry["group"] == "conversion"
    ]
    near = sum(ratio <= 1.1 for ratio in ratios)
    sentence = (
        f"Of {len(ratios)} conversions, {near} take at most 1.1 times as long as the faster of the"
        f" two, and the others at most {max(ratios):.2f} times as long."
    )
    assert sentence in " ".join(PAGE.split())
