# SPDX-License-Identifier: Apache-2.0
"""The device types of memory, and whether there is a GPU."""

from __future__ import annotations

from enum import IntEnum

from .._core.arguments import has_gpu as has_gpu


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
