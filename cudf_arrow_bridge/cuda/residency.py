# SPDX-License-Identifier: Apache-2.0
"""The kind of memory of columns, and the location of conversions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from .._core.arguments import device_type
from .._core.arguments import has_gpu as has_gpu

if TYPE_CHECKING:
    import pylibcudf as plc


class DeviceType(IntEnum):
    """The device types of memory that cuDF can use, with the values of Arrow and DLPack.

    It can be created from a name: ``DeviceType("cuda")``.
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
    """The location of conversions: the CPU for columns in host memory, otherwise the GPU.

    Attributes
    ----------
    host
        Whether conversions run on the CPU.
    stream
        The CUDA stream of conversions on the GPU, for pylibcudf.
    """

    host: bool
    stream: Any = None


def compute_location(*columns: plc.Column, stream: Any = None) -> ComputeLocation:
    """Return the location of conversions of these columns.

    If the columns have no buffers, return the location of new columns: the GPU if there is one.
    """
    for buffer in buffers_of(columns):
        return ComputeLocation(device_type(buffer.ptr) == DeviceType.CPU, stream)
    return ComputeLocation(not has_gpu(), stream)


def buffers_of(columns: Iterable[plc.Column]) -> Iterator[Any]:
    """Yield the buffers of columns at every level, except empty ones."""
    for column in columns:
        for buffer in (column.data(), column.null_mask()):
            if buffer is not None and buffer.size:
                yield buffer
        yield from buffers_of(column.children())
