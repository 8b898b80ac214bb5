# SPDX-License-Identifier: Apache-2.0
"""Which kind of memory columns are in, and where to compute on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from .._core.memory import device_type, has_gpu

if TYPE_CHECKING:
    import pylibcudf as plc

__all__ = [
    "ComputeLocation",
    "DeviceType",
    "compute_location",
    "device_type",
    "has_gpu",
    "is_host_memory",
]


class DeviceType(IntEnum):
    """The device types of memory that cuDF can use, with the values of Arrow and DLPack.

    Made of their names, too: ``DeviceType("cuda")``.
    """

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    CUDA_MANAGED = 13

    @classmethod
    def _missing_(cls, value: object) -> DeviceType | None:
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class ComputeLocation:
    """Where conversions of columns run: on the CPU for columns in host memory, else on the GPU.

    Attributes
    ----------
    host
        Whether they run on the CPU.
    stream
        The CUDA stream of conversions on the GPU, as pylibcudf takes it.
    """

    host: bool
    stream: Any = None


def compute_location(*columns: plc.Column, stream: Any = None) -> ComputeLocation:
    """Return where conversions of these columns run."""
    return ComputeLocation(is_host_memory(*columns), stream)


def is_host_memory(*columns: plc.Column) -> bool:
    """Say whether columns live in host memory.

    Columns without any buffer count as living where new ones are made: on the GPU if there is one.
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
