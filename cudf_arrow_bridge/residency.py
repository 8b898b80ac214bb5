# SPDX-License-Identifier: Apache-2.0
"""Where memory lives."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pylibcudf as plc

__all__ = ["ARROW_DEVICE_CPU", "ARROW_DEVICE_CUDA", "device_type", "has_driver", "is_host_memory"]

ARROW_DEVICE_CPU = 1
ARROW_DEVICE_CUDA = 2


@cache
def has_driver() -> bool:
    """Say whether a CUDA driver can be loaded here."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def device_type(ptr: int) -> int:
    """Return the ``ArrowDeviceType`` of the memory at an address."""
    return ARROW_DEVICE_CUDA if has_driver() else ARROW_DEVICE_CPU


def is_host_memory(*columns: plc.Column) -> bool:
    """Say whether columns live in host memory.

    Columns without any buffer live wherever new columns are made: on the GPU if there is one.
    """
    for pointer in _pointers(columns):
        return device_type(pointer) == ARROW_DEVICE_CPU
    return not has_driver()


def _pointers(columns: Iterable[plc.Column]) -> Iterator[int]:
    for column in columns:
        for span in (column.data(), column.null_mask()):
            if span is not None and span.ptr:
                yield span.ptr
        yield from _pointers(column.children())
