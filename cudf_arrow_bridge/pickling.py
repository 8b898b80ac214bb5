# SPDX-License-Identifier: Apache-2.0
"""Pickles of device arrays, by protocol 5 with buffers out of band."""

from __future__ import annotations

from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any, SupportsIndex

from .arrow.device_array import DeviceArray

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["restore", "teach_pickling"]

#: The first protocol of pickle with buffers.
WITH_BUFFERS = 5


def teach_pickling() -> None:
    """Tell arrays how they are pickled: what does it stands above them."""
    DeviceArray._reduce = staticmethod(_reduce)


def restore(header: bytes, labels: tuple[Any, ...], *buffers: Any) -> DeviceArray:
    """Make the array of a pickle; see `unpack`."""
    from .processes.packing import unpack

    return unpack(header, list(buffers), labels)


def _reduce(array: DeviceArray, protocol: SupportsIndex) -> tuple[Callable[..., Any], Any]:
    # It takes time to import, which those who do not pickle do not need.
    from .processes.packing import pack

    header, buffers = pack(array)
    as_pickled = PickleBuffer if int(protocol) >= WITH_BUFFERS else bytes
    return restore, (header, array._labels, *map(as_pickled, buffers))
