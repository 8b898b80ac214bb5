# SPDX-License-Identifier: Apache-2.0
"""Exit codes."""

from __future__ import annotations

from collections.abc import Iterable

OK = 0
FAILED = 1
UNREADABLE = 2
UNSUPPORTED = 3

MEANING = """exit codes:
  0  every column of every file crossed and matched
  1  something did not match or failed
  2  a file could not be read, or the command line was wrong
  3  all that crossed matched, but some columns are not supported here
If several apply, 1 comes before 2, and 2 before 3."""


def worst(codes: Iterable[int]) -> int:
    """Pick the code that matters most."""
    present = set(codes)
    return next((code for code in (FAILED, UNREADABLE, UNSUPPORTED) if code in present), OK)
