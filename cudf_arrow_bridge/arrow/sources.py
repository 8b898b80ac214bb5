# SPDX-License-Identifier: Apache-2.0
"""Arrays to import: the protocols that are tried, in order, and the capsules they give."""

from __future__ import annotations

import sys
from functools import lru_cache
from operator import is_
from typing import Any

import pyarrow as pa
import pylibcudf as plc

from .._core import import_
from .._core.import_ import SourceArray
from .device_array import DeviceArray

__all__ = [
    "ARRAY_PROTOCOLS",
    "STREAM_PROTOCOLS",
    "SourceArray",
    "are_same",
    "find_array",
    "has_array_protocol",
    "open_array",
]

#: The protocols of streams in the order of preference: device memory first.
STREAM_PROTOCOLS = ("__arrow_c_device_stream__", "__arrow_c_stream__")

#: The protocols of arrays in the order of preference.
ARRAY_PROTOCOLS = ("__arrow_c_device_array__", "__arrow_c_array__")


def has_array_protocol(obj: Any) -> bool:
    """Say whether an object has one of the protocols of arrays."""
    return any(hasattr(obj, name) for name in ARRAY_PROTOCOLS)


def first_row_of(obj: Any) -> int:
    """Return the number of rows before an object in the object of which it is a batch."""
    if isinstance(obj, DeviceArray):
        return obj._first_row or 0
    return (obj.first_row or 0) if isinstance(obj, SourceArray) else 0


def are_same(labels: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Say whether labels, which are any objects, are the same ones: those of one producer are."""
    return labels is others or (len(labels) == len(others) and all(map(is_, labels, others)))


def find_array(obj: Any) -> SourceArray | None:
    """Ask an object for its array; None if it has none of the protocols of arrays."""
    return import_.find_array(obj, _are_tables)


def open_array(obj: Any) -> SourceArray:
    """Ask an object for its array.

    Parameters
    ----------
    obj
        Anything with ``__arrow_c_device_array__`` or ``__arrow_c_array__``.

    Raises
    ------
    TypeError
        If the object has neither.
    """
    if (source := find_array(obj)) is not None:
        return source
    streams = [name for name in STREAM_PROTOCOLS if hasattr(obj, name)]
    hint = f"; it is a stream, with {', '.join(streams)}" if streams else ""
    raise TypeError(
        f"an object of type {type(obj).__name__} found, one with "
        f"{' or '.join(ARRAY_PROTOCOLS)} expected{hint}"
    )


@lru_cache
def _are_tables(cls: type) -> bool:
    """Say whether objects of a class are known to be tables."""
    # None also while another thread is just importing cuDF.
    frame = getattr(sys.modules.get("cudf"), "DataFrame", None)
    known = (plc.Table, pa.RecordBatch) + (() if frame is None else (frame,))
    return issubclass(cls, known)
