# SPDX-License-Identifier: Apache-2.0
"""Host memory as spans, the buffers that pylibcudf and cuDF take."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.columns import OwningSpan

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["HostSpan", "view_host"]


class HostSpan(OwningSpan):
    """A contiguous NumPy array as a span.

    Parameters
    ----------
    array
        The memory, kept alive by the span.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        if not array.flags.c_contiguous:
            raise ValueError("a span needs contiguous memory")
        super().__init__(array.ctypes.data, array.nbytes, array)


def view_host(span: Any, dtype: DTypeLike, count: int) -> NDArray[Any]:
    """View the first elements of a host span as a NumPy array.

    Parameters
    ----------
    span
        The span. The caller keeps it alive while the array is in use.
    dtype
        The type of the elements.
    count
        How many there are.
    """
    element: np.dtype[Any] = np.dtype(dtype)
    if count == 0:
        return np.empty(0, element)
    if span.size < count * element.itemsize:
        raise ValueError(f"{count} elements of {element} do not fit in {span.size} bytes")
    raw = (ctypes.c_char * (count * element.itemsize)).from_address(span.ptr)
    return np.frombuffer(memoryview(raw), element)
