# SPDX-License-Identifier: Apache-2.0
"""Arrays to import: the supported protocols, in order of preference, and objects of RAPIDS."""

from __future__ import annotations

import sys
from typing import Any

import pylibcudf as plc

from .._core.import_.array_importer import SourceArray as SourceArray
from .._core.import_.array_importer import find_array as find_array

#: The stream protocols in order of preference: device memory first.
STREAM_PROTOCOLS = ("__arrow_c_device_stream__", "__arrow_c_stream__")

#: The array protocols in order of preference.
ARRAY_PROTOCOLS = ("__arrow_c_device_array__", "__arrow_c_array__")


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
    return isinstance(obj, tuple(getattr(loaded, name, ()) for name in classes))


def is_array(obj: Any) -> bool:
    """Return whether an object is an array: it is of RAPIDS or implements an array protocol."""
    return is_of_rapids(obj) or has_protocol(obj, ARRAY_PROTOCOLS)


def has_protocol(obj: Any, protocols: tuple[str, ...]) -> bool:
    """Return whether an object implements one of some protocols. None means that it does not."""
    return any(getattr(obj, name, None) is not None for name in protocols)


def open_array(obj: Any) -> SourceArray:
    """Return the array of an object, which must have one; see `find_array`."""
    source = find_array(obj)
    assert source is not None
    return source
