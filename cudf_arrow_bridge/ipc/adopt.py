# SPDX-License-Identifier: Apache-2.0
"""Adoption of the memory of messages without a copy."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .._core.arguments import order_after
from ..cuda.streams import Stream
from ..import_.importer import Importer
from ..import_.tensors import import_tensor


def adopt_device_memory(stream: Stream, obj: Any) -> tuple[int, int, Any]:
    """Return the address, the size in bytes, and the owner of memory without the buffer protocol.

    `stream` waits for the work that writes the memory.
    """
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_cuda_array(stream, obj, interface)
    if hasattr(obj, "__dlpack__"):
        return _of_tensor(stream, obj)
    raise TypeError(
        "expected a buffer with the buffer protocol, __cuda_array_interface__ or "
        f"__dlpack__, got an object of type {type(obj).__name__}"
    )


def _of_cuda_array(stream: Stream, obj: Any, interface: dict[str, Any]) -> tuple[int, int, Any]:
    itemsize = np.dtype(interface["typestr"]).itemsize
    shape = tuple(interface["shape"])
    size = prod(shape) * itemsize
    strides = interface.get("strides")
    if size and strides is not None and tuple(strides) != _contiguous(shape, itemsize):
        raise ValueError(f"expected a contiguous buffer, got strides {strides}")
    made_on = interface.get("stream")
    if made_on is not None and made_on != stream.handle:
        order_after(stream.handle, made_on)
    return interface["data"][0] or 0, size, obj


def _of_tensor(stream: Stream, obj: Any) -> tuple[int, int, Any]:
    importer = Importer.of(stream, None, "pylibcudf", copy=False, validate="minimal", sanitize=True)
    columns, _, _ = import_tensor(obj, importer)
    if len(columns) != 1:
        raise ValueError(f"expected a tensor of one dimension, got {len(columns)} columns")
    data = columns[0].data()
    return (0, 0, None) if data is None else (data.ptr, data.size, data)


def _contiguous(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple(itemsize * prod(shape[i + 1 :]) for i in range(len(shape)))
