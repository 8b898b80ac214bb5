# SPDX-License-Identifier: Apache-2.0
"""Our ways across, and how a producer is handed to whoever takes it."""

from __future__ import annotations

from typing import Any

import cudf_arrow_bridge

from .measure import Contestant

__all__ = ["OURS", "Handed", "export_of", "to_pylibcudf"]

OURS = "cudf_arrow_bridge"


class Handed:
    """An exported array with nothing but the protocol, so that nobody takes a shortcut."""

    def __init__(self, producer: Any) -> None:
        self._capsules = producer.__arrow_c_device_array__()

    def __arrow_c_device_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


def to_pylibcudf(array: Any) -> Any:
    return cudf_arrow_bridge.from_arrow_device(array, to="pylibcudf")


def export_of(name: str, obj: Any) -> Contestant:
    return Contestant(
        name, lambda: cudf_arrow_bridge.to_arrow_device(obj).__arrow_c_device_array__()
    )
