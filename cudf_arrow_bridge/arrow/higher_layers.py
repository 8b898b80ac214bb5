# SPDX-License-Identifier: Apache-2.0
"""Functions of higher layers that arrays use. `registration.py` sets them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class HigherLayers:
    """The functions, which this layer cannot import."""

    #: Exports any object; see `to_arrow_device`.
    export: Callable[[Any], Any]
    #: Exports the data of a `DeviceArray` with the schema in a capsule.
    export_again: Callable[[Any, object], Any]
    #: Exports the tensor in a DLPack capsule, on a stream, as a table or column, with a schema.
    from_tensor: Callable[[object, Any, Any, Any], Any]
    #: Returns the state of a `DeviceArray` for `pickle`, for a version of its protocol.
    reduce: Callable[[Any, int], tuple[Any, ...]]


higher_layers = HigherLayers()
