# SPDX-License-Identifier: Apache-2.0
"""The peak memory of a call, from the resident pages of the process that Linux reports."""

from __future__ import annotations

import ctypes
import gc
import re
from pathlib import Path

from .measure import Case, Contestant

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
_LOWER_THE_MARK = "5"  # resets the peak resident size to the current size


def supported() -> bool:
    """Return whether the system can reset and report the peak memory."""
    try:
        _CLEAR.write_text(_LOWER_THE_MARK)
        return _kib("VmHWM") > 0
    except OSError:
        return False


def peaks(case: Case) -> dict[str, int | None]:
    """Return the peak growth of the process in KiB during one call of each contestant.

    Memory that glibc already holds does not count, and the resolution is whole pages: values below
    some hundred KiB only mean that the growth is small. None: the system does not report it, or the
    case converts. Call each contestant before, to exclude what the first call loads.
    """
    if case.converts or not supported():
        return dict.fromkeys(contestant.name for contestant in case.contestants)
    result: dict[str, int | None] = {}
    for contestant in case.contestants:
        result[contestant.name] = peak(contestant)
        case.settle()
    return result


def peak(contestant: Contestant) -> int:
    argument = () if contestant.prepare is None else (contestant.prepare(),)
    _give_back()
    _CLEAR.write_text(_LOWER_THE_MARK)
    before = _kib("VmRSS")
    kept = contestant.call(*argument)
    peak = _kib("VmHWM")
    del kept
    return max(0, peak - before)


def _give_back() -> None:
    """Return free memory to the system, so that its next use counts."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's own
    if trim is not None:
        trim(0)


def _kib(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    if found is None:
        raise OSError(f"{_STATUS} has no {field}")
    return int(found[1])
