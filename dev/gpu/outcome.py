# SPDX-License-Identifier: Apache-2.0
"""What came of a part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"  # for want of something, which `reason` names
UNFINISHED = "unfinished"  # time was up: the next call goes on


@dataclass(frozen=True)
class Outcome:
    """What came of a part.

    `reason` is one line, empty if there is nothing to say; `details` is for the record.
    """

    status: str
    reason: str = ""
    details: dict[str, Any] = field(default_factory=dict)
