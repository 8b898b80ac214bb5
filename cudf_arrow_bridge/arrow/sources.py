# SPDX-License-Identifier: Apache-2.0
"""Arrays to import: the supported protocols, in order of preference, and objects of RAPIDS."""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pylibcudf as plc

from .._core.import_ import array_importer
from .._core.import_.array_importer import SourceArray as SourceArray

if TYPE_CHECKING:
    from .._core.export.array_exporter import InputExporter

#: The stream protocols in order of preference: device memory first.
STREAM_PROTOCOLS = ("__arrow_c_device_stream__", "__arrow_c_stream__")

#: The array protocols in order of preference.
ARRAY_PROTOCOLS = ("__arrow_c_device_array__", "__arrow_c_array__")


#: Returns the exporter of the columns of an object of cuDF or pylibcudf; see `set_exporter_of`.
_exporter_of: Callable[[Any], InputExporter]


def set_exporter_of(function: Callable[[Any], InputExporter]) -> None:
    """Set the function that returns the exporter of an object for which `is_of_rapids` is True."""
    global _exporter_of
    _exporter_of = function


def is_of_rapids(obj: Any) -> bool:
    """Return whether this is a column or table of pylibcudf, or a frame, series or index of cuDF.

    This package shares the memory of these objects without their own protocols. pylibcudf's export
    has wrong rows for slices, and its release requires the GIL. cuDF's export copies to host
    memory. cuDF is not imported.
    """
    if isinstance(obj, (plc.Column, plc.Table)):
        return True
    cudf = sys.modules.get("cudf")
    try:
        return cudf is not None and isinstance(obj, (cudf.DataFrame, cudf.Series, cudf.Index))
    except AttributeError:
        return False  # Another thread is importing cuDF, so no cuDF objects exist yet.


def is_instance(obj: Any, module: str, *classes: str) -> bool:
    """Return whether an object is of one of the classes of a module, which is not imported."""
    loaded = sys.modules.get(module)
    # The module lacks classes while another thread imports it.
    return loaded is not None and isinstance(
        obj, tuple(getattr(loaded, name, ()) for name in classes)
    )


def is_array(obj: Any) -> bool:
    """Return whether an object is an array: it is of RAPIDS or implements an array protocol."""
    device, host = ARRAY_PROTOCOLS
    return is_of_rapids(obj) or hasattr(obj, device) or hasattr(obj, host)


def are_same_objects(labels: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Return whether labels are identical objects, as those of one producer are."""
    return labels is others or (len(labels) == len(others) and all(map(is_, labels, others)))


def find_array(obj: Any) -> SourceArray | None:
    """Return the array of an object, or None if it is none; see `is_array`."""
    if isinstance(obj, SourceArray):
        return obj
    if is_of_rapids(obj):
        return SourceArray.of_columns(_exporter_of(obj))
    return array_importer.find_array(obj, isinstance(obj, pa.RecordBatch))


def open_array(obj: Any) -> SourceArray:
    """Return the array of an object, which must be one; see `is_array`."""
    if (source := find_array(obj)) is not None:
        return source
    streams = [name for name in STREAM_PROTOCOLS if hasattr(obj, name)]
    hint = f"; it is a stream, with {', '.join(streams)}" if streams else ""
    raise TypeError(
        f"an object of type {type(obj).__name__} has no {' or '.join(ARRAY_PROTOCOLS)}{hint}"
    )
