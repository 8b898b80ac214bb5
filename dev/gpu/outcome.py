# SPDX-License-Identifier: Apache-2.0
"""The outcome of a part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"  # `reason` says what is missing
UNFINISHED = "unfinished"  # the time limit was reached; the next call continues


@dataclass(frozen=True)
class Outcome:
    """The outcome of a part.

    `reason` is one line, or empty. `details` is written to the record.
    """

    status: str
    reason: str = ""
    details: dict[str, Any] = field(default_factory=dict)
