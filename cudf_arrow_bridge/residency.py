# SPDX-License-Identifier: Apache-2.0
"""Where memory lives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ._memory import device_type, has_gpu

if TYPE_CHECKING:
    import pylibcudf as plc

__all__ = ["device_type", "has_gpu", "is_host_memory"]

_ARROW_DEVICE_CPU = 1


def is_host_memory(*columns: plc.Column) -> bool:
    """Say whether columns live in host memory.

    Columns without any buffer live wherever new columns are made: on the GPU if there is one.
    """
    for pointer in _pointers(columns):
        return device_type(pointer) == _ARROW_DEVICE_CPU
    return not has_gpu()


def _pointers(columns: Iterable[plc.Column]) -> Iterator[int]:
    for column in columns:
        for span in (column.data(), column.null_mask()):
            if span is not None and span.ptr:
                yield span.ptr
        yield from _pointers(column.children())
