# SPDX-License-Identifier: Apache-2.0
"""dev/gpu/record.py: the records of parts, and their removal."""

from __future__ import annotations

import pytest

from dev.gpu.outcome import PASSED, Outcome
from dev.gpu.record import MixedError, Record


@pytest.fixture
def record(tmp_path):
    made = Record(tmp_path)
    made.keep("speed", Outcome(PASSED, "fast", {"packages": {"numpy": "2"}}), 1.25)
    return made


def test_part_is_read_as_it_was_recorded(record):
    part = record.part("speed")
    assert (part["status"], part["reason"], part["seconds"]) == (PASSED, "fast", 1.2)
    assert record.detail("speed", "packages", None) == {"numpy": "2"}
    assert record.detail("speed", "other", "nothing") == "nothing"
    assert record.detail("smoke", "packages", "nothing") == "nothing"


def test_expect_rejects_a_value_that_differs_from_the_record(record):
    record.expect("speed", "packages", {"numpy": "2"})
    record.expect("smoke", "packages", {"numpy": "3"})
    with pytest.raises(MixedError, match="the packages on record is not that of now"):
        record.expect("speed", "packages", {"numpy": "3"})


def test_forget_removes_only_files_of_the_part(record, tmp_path):
    kept = [
        "mine.txt",
        "speed.md",
        "parts/speed-ipc.json",
        "parts/speed-ipc.log",
        "parts/speeds.log",
    ]
    gone = ["speed.json", "parts/speed.json", "parts/speed.jsonl", "parts/speed-17.txt"]
    for name in kept + gone:
        (tmp_path / name).touch()
    record.forget(["speed", "never-kept"])
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == set(kept)
