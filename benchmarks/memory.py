# SPDX-License-Identifier: Apache-2.0
"""How much memory a call takes at its peak, as Linux counts the pages of the process."""

from __future__ import annotations

import ctypes
import gc
import re
from pathlib import Path

from .measure import Case, Contestant

__all__ = ["peaks", "supported"]

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
_LOWER_THE_MARK = "5"  # the highest that the process has been becomes where it is now


def supported() -> bool:
    """Whether the system says how much a call took."""
    try:
        _CLEAR.write_text(_LOWER_THE_MARK)
        return _kib("VmHWM") > 0
    except OSError:
        return False


def peaks(case: Case) -> dict[str, int | None]:
    """Return by how many KiB one call of each contestant makes the process grow at its peak.

    Whole pages, and what the C library had in hand before costs nothing: below some hundred KiB
    this says only that it is little. None where the system does not say, or the case converts.
    Contestants should have been called before, as what is loaded by a first call is not theirs.
    """
    if case.converts or not supported():
        return dict.fromkeys(contestant.name for contestant in case.contestants)
    result: dict[str, int | None] = {}
    for contestant in case.contestants:
        result[contestant.name] = _peak(contestant)
        case.settle()
    return result


def _peak(contestant: Contestant) -> int:
    argument = () if contestant.prepare is None else (contestant.prepare(),)
    _give_back()
    _CLEAR.write_text(_LOWER_THE_MARK)
    before = _kib("VmRSS")
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
