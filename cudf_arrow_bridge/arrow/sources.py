# SPDX-License-Identifier: Apache-2.0
"""Arrays to import: the supported protocols, in order of preference, and their capsules."""

from __future__ import annotations

import sys
from functools import lru_cache
from operator import is_
from typing import Any

import pyarrow as pa
import pylibcudf as plc

from .._core.import_ import array_importer
from .._core.import_.array_importer import SourceArray as SourceArray
from .device_array import DeviceArray

#: The stream protocols in order of preference: device memory first.
STREAM_PROTOCOLS = ("__arrow_c_device_stream__", "__arrow_c_stream__")

#: The array protocols in order of preference.
ARRAY_PROTOCOLS = ("__arrow_c_device_array__", "__arrow_c_array__")


def has_array_protocol(obj: Any) -> bool:
    """Return whether an object implements one of the array protocols."""
    return any(hasattr(obj, name) for name in ARRAY_PROTOCOLS)


def first_row_of(obj: Any) -> int:
    """Return the number of rows before a batch in its stream or frame."""
    if isinstance(obj, DeviceArray):
        return obj._first_row or 0
    return (obj.first_row or 0) if isinstance(obj, SourceArray) else 0


def are_same_objects(labels: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Return whether labels are identical objects, as those of one producer are."""
    return labels is others or (len(labels) == len(others) and all(map(is_, labels, others)))


def find_array(obj: Any) -> SourceArray | None:
    """Return the array of an object, or None if it implements none of the array protocols."""
    return array_importer.find_array(obj, _are_tables)


def open_array(obj: Any) -> SourceArray:
    """Return the array of an object, which must implement one of the array protocols."""
    if (source := find_array(obj)) is not None:
        return source
    streams = [name for name in STREAM_PROTOCOLS if hasattr(obj, name)]
    hint = f"; it is a stream, with {', '.join(streams)}" if streams else ""
    raise TypeError(
        f"expected an object with {' or '.join(ARRAY_PROTOCOLS)}, got one of type "
        f"{type(obj).__name__}{hint}"
    )


@lru_cache
def _are_tables(cls: type) -> bool:
    """Return whether instances of a class are known to be tables."""
    # This is None also while another thread imports cuDF.
    frame = getattr(sys.modules.get("cudf"), "DataFrame", None)
    known = (plc.Table, pa.RecordBatch) + (() if frame is None else (frame,))
    return issubclass(cls, known)
