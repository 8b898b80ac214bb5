# SPDX-License-Identifier: Apache-2.0
"""Pickling of device arrays, with out-of-band buffers in protocol 5."""

from __future__ import annotations

from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any, SupportsIndex

from .arrow.device_array import DeviceArray

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["register_pickling", "restore"]

#: The first pickle protocol with out-of-band buffers.
WITH_BUFFERS = 5


def register_pickling() -> None:
    """Set the function that pickles arrays.

    The array module cannot import it, since it is in a higher layer.
    """
    DeviceArray._reduce = staticmethod(_reduce)


def restore(header: tuple[Any, ...], labels: tuple[Any, ...], *buffers: Any) -> DeviceArray:
    """Return the array of a pickle; see `unpack`."""
    from .processes.packing import unpack

    return unpack(header, list(buffers), labels)


def _reduce(array: DeviceArray, protocol: SupportsIndex) -> tuple[Callable[..., Any], Any]:
    # Import only when needed, because it is slow.
    from .processes.packing import pack

    header, buffers = pack(array)
    as_pickled = PickleBuffer if int(protocol) >= WITH_BUFFERS else bytes
    return restore, (header, array._labels, *map(as_pickled, buffers))
