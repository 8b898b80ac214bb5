# SPDX-License-Identifier: Apache-2.0
"""How much memory a call takes at its peak, as Linux counts the pages of the process."""

from __future__ import annotations

import ctypes
import gc
import re
from pathlib import Path

from .measure import Case, Contestant

__all__ = ["peaks"]

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


def peaks(case: Case) -> dict[str, int | None]:
    """Return by how many KiB one call of each contestant makes the process grow at its peak.

    Whole pages, and what the C library had in hand before costs nothing: below some hundred KiB
    this says only that it is little. None where the system keeps no such mark. Contestants should
    have been called before, as what is loaded by a first call is not theirs.
    """
    result = {}
    for contestant in case.contestants:
        result[contestant.name] = _peak(contestant)
        case.settle()
    return result


def _peak(contestant: Contestant) -> int | None:
    argument = () if contestant.prepare is None else (contestant.prepare(),)
    _give_back()
    try:
        _CLEAR.write_text("5")  # the high-water mark falls to where it is now
        before = _kib("VmRSS")
    except OSError:
        return None
    kept = contestant.call(*argument)
    peak = _kib("VmHWM")
    del kept
    return max(0, peak - before)


def _give_back() -> None:
    """Hand free memory back, so that its next use counts."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's own
    if trim is not None:
        trim(0)


def _kib(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    if found is None:
        raise OSError(f"{_STATUS} has no {field}")
    return int(found[1])
