# SPDX-License-Identifier: Apache-2.0
"""docs/speed.md says what was measured, as benchmarks/results/host.json has it."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.reporting import speed_page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/speed.md").read_text()
RESULTS = json.loads((ROOT / "benchmarks/results/host.json").read_text())["results"]


def test_the_table_is_what_was_measured():
    """``python -m benchmarks --from benchmarks/results/host.json --markdown`` prints it."""
    assert f"\n\n{speed_page.table(RESULTS)}\n\n" in PAGE


def test_the_sentence_on_conversions_is_what_was_measured():
    # Beside the better of the others.
    ratios = [
        max(ratio["dropped"] for ratio in entry["ratios"].values())
        for entry in RESULTS
        if entry["group"] == "conversion"
    ]
    near = sum(ratio <= 1.1 for ratio in ratios)
    sentence = (
        f"Of {len(ratios)} of them, {near} take 1.1 times what the better of the two takes, or"
        f" less, and the others {max(ratios):.2f} times at most."
    )
    assert sentence in " ".join(PAGE.split())
