# SPDX-License-Identifier: Apache-2.0
"""The jobs with this package, and wrappers that expose only the Arrow protocol of a producer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import cudf_arrow_bridge

from .measure import Contestant

OURS = "cudf_arrow_bridge"


class ArrayProtocolOnly:
    """An exported array with only the protocol, so that no library uses a shortcut."""

    def __init__(self, producer: Any) -> None:
        self._capsules = producer.__arrow_c_device_array__()

    def __arrow_c_device_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


class StreamProtocolOnly:
    """An exported stream with only the protocol, so that no library uses a shortcut."""

    def __init__(self, producer: Any) -> None:
        self._capsule = producer.__arrow_c_stream__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule


def drain(batches: Iterable[Any]) -> None:
    """Read and drop all batches."""
    deque(batches, maxlen=0)


def to_pylibcudf(array: Any) -> Any:
    return cudf_arrow_bridge.from_arrow_device(array, to="pylibcudf")


def export_of(obj: Any) -> Contestant:
    return Contestant(
        OURS, lambda: cudf_arrow_bridge.to_arrow_device(obj).__arrow_c_device_array__()
    )


def import_of(obj: Any, take: Callable[[Any], Any]) -> Contestant:
    return Contestant(OURS, take, lambda: ArrayProtocolOnly(obj))


def round_trip_of(obj: Any) -> Contestant:
    return Contestant(
        OURS, lambda: to_pylibcudf(ArrayProtocolOnly(cudf_arrow_bridge.to_arrow_device(obj)))
    )
