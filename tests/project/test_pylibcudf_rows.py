# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/peers tests each defect found in pylibcudf's interop, or a reason is given here."""

from __future__ import annotations

import re
from pathlib import Path

from testing.peers.pylibcudf_interop import EXPORTS

PEERS = Path(__file__).parents[1] / "gpu" / "peers"
#: E: exports; P: what pylibcudf adds to exports; I: imports.
COUNTS = {"E": 10, "P": 4, "I": 11}
ROWS = {f"{letter}{i + 1}" for letter, count in COUNTS.items() for i in range(count)}
NOT_ASKED = {
    "I10": "waits of the host are counted by a profiler; benchmarks show what they cost",
}
NOT_RUN = {
    "E10": "reads out of bounds",
    "P2": "races with other threads for a reference count",
}


def sources():
    return {path.name: path.read_text() for path in sorted(PEERS.glob("test_*.py"))}


def test_every_row_is_tested_or_has_a_reason():
    named = set(re.findall(r'"([EPI]\d+)"', "".join(sources().values())))
    named |= {name.split()[0] for name in EXPORTS}
    assert named | set(NOT_ASKED) == ROWS
    assert not named & set(NOT_ASKED)


def test_rows_that_would_break_the_process_are_not_run():
    calls = "".join(sources().values()).split("    beside(\n")[1:]
    not_run = {re.search(r'row="(\w+)"', call)[1] for call in calls if 'theirs="not run: ' in call}
    assert not_run == set(NOT_RUN)


def test_each_gpu_test_calls_beside_once():
    for name, text in sources().items():
        tests = re.findall(r"^def test_\w+\(.*\bbeside\):", text, re.M)
        assert len(tests) == len(re.findall(r"^def test_", text, re.M)), name
        assert len(tests) == text.count("    beside(\n"), name
        for part in text.split("    beside(\n")[1:]:
            assert re.match(
                r"        row=.+\n        what=.+\n        right=.+\n        ours=.+\n", part
            ), part[:200]
