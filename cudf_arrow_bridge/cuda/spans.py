# SPDX-License-Identifier: Apache-2.0
"""Host memory as spans, the buffer objects of pylibcudf and cuDF."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.import_.columns import OwningSpan

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


class HostSpan(OwningSpan):
    """A contiguous NumPy array as a span, which keeps the array alive."""

    def __init__(self, array: NDArray[Any]) -> None:
        if not array.flags.c_contiguous:
            raise ValueError("the memory is not contiguous")
        super().__init__(array.ctypes.data, array.nbytes, array)


def view_host(span: Any, dtype: DTypeLike, count: int) -> NDArray[Any]:
    """Return the first `count` elements of a host span as a NumPy array without copying.

    The caller keeps the span alive while the array is in use.
    """
    element: np.dtype[Any] = np.dtype(dtype)
    if count == 0:
        return np.empty(0, element)
    if span.size < count * element.itemsize:
        raise ValueError(f"expected at most {span.size} bytes, got {count} elements of {element}")
    raw = (ctypes.c_char * (count * element.itemsize)).from_address(span.ptr)
    return np.frombuffer(memoryview(raw), element)
