# SPDX-License-Identifier: Apache-2.0
"""Where memory lives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from .._core.memory import device_type, has_gpu

if TYPE_CHECKING:
    import pylibcudf as plc

__all__ = ["DeviceType", "Place", "device_type", "has_gpu", "is_host_memory", "place_of"]


class DeviceType(IntEnum):
    """Arrow's device types that cuDF's memory can be of; the values are Arrow's, and DLPack's."""

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    CUDA_MANAGED = 13


@dataclass(frozen=True, slots=True)
class Place:
    """Where conversions run.

    Attributes
    ----------
    host
        Whether the memory is the host's: then they run on the CPU.
    stream
        Otherwise the stream that they are enqueued on, as pylibcudf takes it.
    """

    host: bool
    stream: Any = None


def place_of(*columns: plc.Column, stream: Any = None) -> Place:
    """Return where conversions of columns run."""
    return Place(is_host_memory(*columns), stream)


def is_host_memory(*columns: plc.Column) -> bool:
    """Say whether columns live in host memory.

    Columns without any buffer live wherever new columns are made: on the GPU if there is one.
    """
    for pointer in _pointers(columns):
        return device_type(pointer) == DeviceType.CPU
    return not has_gpu()


def _pointers(columns: Iterable[plc.Column]) -> Iterator[int]:
    for column in columns:
        for span in (column.data(), column.null_mask()):
            if span is not None and span.ptr:
                yield span.ptr
        yield from _pointers(column.children())
