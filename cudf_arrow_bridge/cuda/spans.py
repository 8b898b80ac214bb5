# SPDX-License-Identifier: Apache-2.0
"""Host memory as pylibcudf and cuDF take it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.columns import HeldSpan

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["HostSpan", "view_host"]


class HostSpan(HeldSpan):
    """A contiguous NumPy array as a span.

    Parameters
    ----------
    array
        The memory; it lives as long as the span.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        if not array.flags.c_contiguous:
            raise ValueError("a span needs contiguous memory")
        super().__init__(array.ctypes.data, array.nbytes, array)


def view_host(owner: Any, dtype: DTypeLike, count: int) -> NDArray[Any]:
    """View the first elements of a host span as a NumPy array.

    Parameters
    ----------
    owner
        The span. The caller keeps it alive while the array is in use.
    dtype
        The type of the elements.
    count
        How many there are.
    """
    kind: np.dtype[Any] = np.dtype(dtype)
    if count == 0:
        return np.empty(0, kind)
    if owner.size < count * kind.itemsize:
        raise ValueError(f"{count} elements of {kind} do not fit in {owner.size} bytes")
    raw = (ctypes.c_char * (count * kind.itemsize)).from_address(owner.ptr)
    return np.frombuffer(memoryview(raw), kind)
